package aggregation

import (
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/saved"
	"github.com/hostnode/hostnode/projections/machine"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// The rules.
const (
	contentStep  = "content-step"
	cargoQueued  = "cargo-queued"
	cargoList    = "cargo-list"
	cargoMade    = "cargo-made"
	cargoCommit  = "cargo-commitment"
	cargoOutcome = "cargo-outcome"
	cargoRelease = "cargo-release"
	cargoPlace   = "cargo-place"
	cargoContent = "cargo-content"
	cargoDeal    = "cargo-deal"
	cargoHeld    = "cargo-held"
	dealStep     = "deal-step"
)

func contentRules() []machine.Rule {
	return []machine.Rule{{Code: contentStep, Demands: "A CAR is requested once, and then accepted or refused; only " +
		"a person has it read once more. A source is added once, and not to what is refused."}}
}

func cargoRules() []machine.Rule {
	return []machine.Rule{
		{Code: cargoQueued, Demands: "A piece is queued once, under the next priority; what was refused is never " +
			"queued again."},
		{Code: cargoList, Demands: "A list has pieces that are queued, each once, the largest first, and they fit. " +
			"Its CID is that of the pieces, its parts follow each other, and no list travels twice."},
		{Code: cargoMade, Demands: "Only a full list becomes an aggregate, and only once."},
		{Code: cargoCommit, Demands: "An aggregate, with the file of all its proofs, is what its pieces make; " +
			"of those with more than 4,096 pieces one in sixteen is made again."},
		{Code: cargoOutcome, Demands: "An aggregate is approved or rejected once. Bad pieces are pieces of it; " +
			"without bad ones all are tried again, or isolated. Only a queued piece is refused alone."},
		{Code: cargoRelease, Demands: "A copy is released once, and only of a piece that is approved or refused; " +
			"proofs only of a rejected aggregate."},
		{Code: cargoPlace, Demands: "Each piece is in exactly one place: queued, in one live aggregate, approved, or " +
			"refused."},
		{Code: cargoContent, Demands: "A queued piece is the one that its content makes."},
		{Code: cargoDeal, Demands: "An aggregate is approved or rejected after the deal about it, as that says; the " +
			"bad pieces are those of the deal."},
		{Code: cargoHeld, Demands: "The ledger holds the bytes of each copy that is kept, and of the proofs of each " +
			"aggregate, until they are released."},
	}
}

func dealRules() []machine.Rule {
	return []machine.Rule{{Code: dealStep, Demands: "A deal is offered once; then it is PENDING, SIGNED, and " +
		"APPROVED or REJECTED, which are final. Parts of the list of bad pieces follow each other."}}
}

// again holds an event to what is decided from the command that it follows from.
func again[E proto.Message](e E, all []E, err error, rule string, find machine.Find) {
	switch {
	case err != nil:
		find(rule, "it could not be decided: %v", err)
	case len(all) == 0:
		find(rule, "nothing was to be decided, by what was recorded before it")
	case !proto.Equal(all[0], e):
		find(rule, "by what was recorded before it, it is %.1000s", proto.Message(all[0]))
	}
}

// judgedContent is what an audit remembers of a CAR.
type judgedContent struct{ State content.State }

func (j *judgedContent) judge(e messages.ContentEvent, find machine.Find) {
	all, err := content.Decide(j.State, content.Asked(j.State, e))
	again(e, all, err, contentStep, find)
	j.State = content.Evolve(j.State, e)
}

// judgedDeal is what an audit remembers of a deal.
type judgedDeal struct{ State deal.State }

func (j *judgedDeal) judge(e messages.DealEvent, find machine.Find) {
	all, err := deal.Decide(j.State, deal.Asked(e))
	again(e, all, err, dealStep, find)
	j.State = deal.Evolve(j.State, e)
}

// judgedCargo is what an audit remembers of the ledger; its zero value is that of none.
type judgedCargo struct{ Ledger saved.Cargo }

func (j *judgedCargo) judge(e messages.CargoEvent, find machine.Find) {
	if j.Ledger == (saved.Cargo{}) {
		j.Ledger = saved.NewCargo()
	}
	rule := cargoOutcome
	switch e.(type) {
	case *messages.PieceQueued:
		rule = cargoQueued
	case *messages.FerryLoaded, *messages.FerriesMerged:
		rule = cargoList
	case *messages.AggregateMade:
		rule = cargoMade
	case *messages.CopiesReleased:
		rule = cargoRelease
	}
	all, err := cargo.Decide(j.Ledger.State, cargo.Asked(e))
	again(e, all, err, rule, find)
	j.Ledger.State = cargo.Evolve(j.Ledger.State, e)
	if made, ok := e.(*messages.AggregateMade); ok {
		j.commitment(made, find)
	}
}

// Of aggregates with more pieces a sample is made again, because each takes up to half a second.
const (
	fewPieces = 4096
	oneIn     = 16
)

// commitment makes an aggregate again from its pieces, with all of its proofs.
func (j *judgedCargo) commitment(e *messages.AggregateMade, find machine.Find) {
	f := j.Ledger.Aggregate(e.GetAggregate())
	root, err := commd.ParseCID(e.GetAggregate())
	if f == nil || err != nil || len(f.Pieces) > fewPieces && root[0]%oneIn != 0 {
		return
	}
	a, err := segment.Build(f.Class, j.Ledger.Segments(f))
	if err != nil {
		find(cargoCommit, "it cannot be made of its pieces: %v", err)
		return
	}
	if a.Root() != root {
		find(cargoCommit, "its pieces make %s", commd.CID(a.Root()))
		return
	}
	proofs := commd.NewCalc()
	_, err = a.WriteTo(proofs)
	of, calcErr := proofs.Commitment()
	if err != nil || calcErr != nil || commd.CID(of.Root) != e.GetProofs() || of.Payload != e.GetProofsSize() {
		find(cargoCommit, "its proofs are %s, of %d bytes", commd.CID(of.Root), of.Payload)
	}
}

// join holds the ledger of pieces against the CARs, the deals and the ledger of bytes.
func join(own any, m proto.Message, o machine.Others) {
	j := own.(*judgedCargo)
	switch e := m.(type) {
	case nil:
		j.end(o)
	case *messages.PieceQueued:
		link, _ := events.ParseContentLink(e.GetContent()) // The codec has checked it.
		state, sure := o.State(events.ContentStream(o.Host, link))
		of, known := state.(*judgedContent)
		if want := (content.Piece{CID: e.GetPiece(), Size: e.GetSize()}); sure && (!known || of.State.Piece != want) {
			o.Find(cargoContent, "piece %d is %s of %d bytes, which content %s does not make", e.GetPriority(),
				want.CID, want.Size, e.GetContent())
		}
	case *messages.AggregateApproved:
		j.outcome(e.GetAggregate(), events.DealApproved, o)
	case *messages.AggregateRejected:
		if d, known := j.outcome(e.GetAggregate(), events.DealRejected, o); known {
			j.bad(e, d, o)
		}
	}
}

// outcome demands that the deal about an aggregate has a status.
func (j *judgedCargo) outcome(aggregate string, want events.DealStatus, o machine.Others) (deal.State, bool) {
	state, sure := o.State(events.DealStream(o.Host, aggregate))
	of, known := state.(*judgedDeal)
	if !known {
		of = &judgedDeal{}
	}
	if sure && of.State.Status != want {
		o.Find(cargoDeal, "aggregate %s is %s, and the deal about it is %q", aggregate, want, of.State.Status)
		return deal.State{}, false
	}
	return of.State, sure
}

// bad demands that the bad pieces of an aggregate are those of the deal.
func (j *judgedCargo) bad(e *messages.AggregateRejected, d deal.State, o machine.Others) {
	s, named := j.Ledger.State, map[string]bool{}
	for _, cid := range d.Bad {
		named[cid] = true
	}
	for _, priority := range e.GetBad() {
		if p, _ := s.Piece(priority); !named[commd.CID(p.Root)] {
			o.Find(cargoDeal, "piece %d is refused, and the deal names other ones", priority)
			return
		}
	}
	if e.GetPart() != e.GetParts() {
		return
	}
	for _, cid := range d.Bad {
		root, _ := commd.ParseCID(cid)
		priority, _ := s.Find(root)
		if p, known := s.Piece(priority); !known || p.Status != cargo.Refused {
			o.Find(cargoDeal, "the deal names piece %s, which is not refused", cid)
			return
		}
	}
}

// end looks at the whole ledger at the end of the record.
func (j *judgedCargo) end(o machine.Others) {
	s := j.Ledger.State
	if err := s.Check(); err != nil {
		o.Find(cargoPlace, "%v", err)
	}
	held := func(cid string, bytes uint64, what string) {
		if has, sure := o.Held(cid); sure && uint64(has) != bytes {
			o.Find(cargoHeld, "%s %s has %d bytes, and the ledger holds %d for it", what, cid, bytes, has)
		}
	}
	for priority := uint64(1); priority <= s.Pieces(); priority++ {
		// Of what may be released, the ledger hears first.
		if p, _ := s.Piece(priority); p.Kept && (p.Status == cargo.Queued || p.Status == cargo.Aggregated) {
			held(commd.CID(p.Root), p.Payload, "the copy of piece")
		}
	}
	for _, f := range s.Ferries() {
		if f.Proofs != "" && f.State != cargo.Rejected {
			held(f.Proofs, f.ProofsSize, "the file of proofs")
		}
	}
}
