package catalog_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// provider writes the events of sectors as the actors would: ledger and sectors decide, and
// each event names the step that it follows from.
type provider struct {
	t      *testing.T
	me     events.Address
	now    time.Time
	n      uint64 // the present sector
	ledger capacity.State
	of     map[uint64]sector.Info
	all    []said
}

func (p *provider) decide(cause string, c sector.Command) {
	p.t.Helper()
	s := p.of[p.n]
	list, err := sector.Decide(s, c)
	if err != nil || len(list) == 0 {
		p.t.Fatalf("sector %d in %s: %T: %d events, %v", p.n, s.State, c, len(list), err)
	}
	for i, e := range list {
		s = sector.Evolve(s, e)
		p.all = append(p.all, said{
			stream: events.SectorStream(p.me, p.n), message: e, cause: cause, follows: i > 0,
		})
	}
	p.of[p.n] = s
	p.now = p.now.Add(time.Second)
}

// happened gives an event the present time.
func (p *provider) happened(e sector.Event) sector.Event {
	m := e.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("at"), protoreflect.ValueOfMessage(events.TimeToMessage(p.now).ProtoReflect()))
	return e
}

func (p *provider) inputs() sector.Inputs { return sector.Inputs{At: p.now, Chance: p.n} }

// wants appends an operator's event, happens one that nobody asked for.
func (p *provider) wants(e sector.Event) {
	p.t.Helper()
	p.decide("operator", sector.Happened{Inputs: p.inputs(), Event: p.happened(e), By: "operator"})
}

func (p *provider) ran() string { return events.SectorCause(p.of[p.n].Step.Key) }

// did reports the results of consecutive steps.
func (p *provider) did(list ...sector.Event) {
	p.t.Helper()
	for _, e := range list {
		p.decide(p.ran(), sector.Happened{Inputs: p.inputs(), Event: p.happened(e), Key: p.of[p.n].Step.Key})
	}
}

func (p *provider) waits() {
	p.t.Helper()
	p.now = p.of[p.n].Until
	p.decide(events.SectorCause(sector.Next(p.of[p.n])[0].Key()), sector.Due{Inputs: p.inputs()})
}

func (p *provider) chain(f sector.Facts) {
	p.t.Helper()
	p.decide("block:400", sector.ReportChain{Inputs: p.inputs(), Facts: f})
}

// finds waits until the pause is over, and reports a finding.
func (p *provider) finds(f sector.Finding) {
	p.t.Helper()
	p.waits()
	p.decide(p.ran(), sector.ReportDiagnosis{Inputs: p.inputs(), Key: p.of[p.n].Step.Key, Finding: f, Reason: "as it is"})
}

func (p *provider) asks(c capacity.Command, cause string) {
	p.t.Helper()
	list, err := capacity.Decide(p.ledger, c)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range list {
		p.ledger = capacity.Evolve(p.ledger, e)
		p.all = append(p.all, said{stream: events.CapacityStream(p.me), message: e, cause: cause})
	}
}

func (p *provider) opens() {
	p.t.Helper()
	p.asks(capacity.Hold{At: p.now, Sector: p.n, Space: capacity.Space{
		Unsealed: 2048, Sealed: 2048, Tree: 4096, Scratch: 100,
	}, Deposit: events.NewAmount(5000)}, p.ran())
	p.did(&messages.SectorOpened{Unsealed: 2048, Sealed: 2048, Tree: 4096, Scratch: 100, Deposit: "5000"})
}

func (p *provider) releases(parts ...string) {
	p.t.Helper()
	for _, part := range parts {
		p.asks(capacity.ReleasePart{At: p.now, Sector: p.n, Part: capacity.Part(part)}, p.ran())
	}
	p.did(&messages.SectorReleased{Parts: parts})
}

func (p *provider) loses(lost uint64) {
	p.t.Helper()
	p.asks(capacity.SettleDeposit{At: p.now, Sector: p.n, Lost: events.NewAmount(lost)}, p.ran())
	p.did(&messages.SectorSettled{Returned: fmt.Sprint(5000 - lost), Lost: fmt.Sprint(lost)})
}

func (p *provider) hash() string { return events.Hash{0x5c, byte(p.n), byte(len(p.all))}.String() }

func (p *provider) message(kind string) sector.Event {
	switch kind {
	case "precommit":
		return &messages.SectorPreCommitted{Message: p.hash()}
	case "commit":
		return &messages.SectorCommitted{Message: p.hash()}
	case "fault":
		return &messages.SectorFaultReported{Message: p.hash()}
	case "recovery":
		return &messages.SectorRecoveryDeclared{Message: p.hash()}
	}
	return &messages.SectorTerminating{Message: p.hash()}
}

func (p *provider) ticket() sector.Event {
	return &messages.SectorTicket{Value: p.hash(), Epoch: uint64(len(p.all))}
}

func piece(n byte) *messages.SectorPiece {
	return &messages.SectorPiece{Cid: fmt.Sprintf("baga6ea4seaqa%d", n), Size: 512, Payload: 500}
}

func filler(size uint64) *messages.SectorPiece {
	return &messages.SectorPiece{Cid: fmt.Sprintf("baga6ea4seaqz%d", size), Size: size}
}

const why = "the disk is full"

// sealed seals a sector until it is on the chain; each step fails once on the way.
func (p *provider) sealed() {
	p.t.Helper()
	p.did(p.ticket(), &messages.SectorOldTicket{Reason: "the ticket is of block 1"}, p.ticket())
	p.did(&messages.SectorSealPreCommitFailed{Reason: why})
	p.waits()
	p.did(p.ticket(), &messages.SectorPreCommit1{Out: "0x0102"})
	p.did(&messages.SectorPreCommit2{CommD: p.hash(), CommR: events.Hash{0x5d, byte(p.n)}.String()})
	p.did(&messages.SectorChainPreCommitFailed{Reason: "out of gas"})
	p.finds(sector.NotThere)
	p.did(p.message("precommit"))
	p.chain(sector.Facts{})
	p.finds(sector.Landed)
	p.did(&messages.SectorSeedReady{Value: p.hash(), Epoch: 320}, &messages.SectorComputeProofFailed{Reason: why})
	p.waits()
	p.did(&messages.SectorProofReady{Proof: "0x0304"}, p.message("commit"),
		&messages.SectorCommitFailed{Reason: "the contract refuses it"})
	p.finds(sector.InvalidProof)
	p.did(&messages.SectorProofReady{Proof: "0x0305"}, &messages.SectorCommitFailed{Reason: "no answer"})
	p.finds(sector.Landed)
	p.chain(sector.Facts{Active: true})
	p.did(&messages.SectorFinalizeFailed{Reason: why})
	p.waits()
	p.did(&messages.SectorFinalized{})
	p.releases("scratch")
}

// sectors is the record of three sectors: one has every failure and is removed in the end, one
// is filled piece by piece and parked, and one is hosted.
func sectors(t *testing.T) []events.Recorded {
	t.Helper()
	p := &provider{
		t: t, me: events.Address{0x5f}, now: events.Unix(1_700_000_000), ledger: capacity.New(),
		of: map[uint64]sector.Info{},
	}
	p.asks(capacity.SetQuota{At: p.now, Bytes: 1 << 20}, "operator")
	for n := range uint64(3) {
		p.of[n+1] = sector.New(sector.Policy{})
	}
	start := func(n uint64) sector.Event {
		p.n = n
		return &messages.SectorStart{
			Sector: n, Provider: p.me.String(), Size: 2048, By: "operator",
			Pieces: []*messages.SectorPiece{piece(1), piece(2)},
		}
	}
	p.wants(start(1))
	p.opens()
	p.did(&messages.SectorPackingFailed{Reason: "the first piece is not what its commitment says"})
	p.wants(&messages.SectorRestart{By: "operator"})
	p.did(&messages.SectorPacked{Fillers: []*messages.SectorPiece{filler(1024)}})
	p.sealed()
	p.chain(sector.Facts{Active: true, Faulty: true})
	p.did(p.message("fault"), &messages.SectorFaultedFinal{}, &messages.SectorRestored{})
	p.did(p.message("recovery"), &messages.SectorRecovered{})
	p.wants(&messages.SectorTerminate{By: "operator", Reason: "the disk is old"})
	p.did(&messages.SectorTerminateFailed{Reason: "out of gas"})
	p.waits()
	p.did(p.message("termination"), &messages.SectorTerminated{}, &messages.SectorRemove{By: "hostnode", Reason: "it is over"},
		&messages.SectorRemoveFailed{Reason: why})
	p.waits()
	p.did(&messages.SectorRemoved{})
	p.releases("unsealed", "sealed", "tree")
	p.loses(1000)

	p.n = 2
	p.wants(&messages.SectorStartEmpty{Sector: 2, Provider: p.me.String(), Size: 2048, By: "operator"})
	p.decide(p.ran(), sector.Away{Inputs: p.inputs(), Key: p.of[2].Step.Key, Reason: "the ledger is not loaded"})
	p.waits()
	p.opens()
	p.wants(&messages.SectorAddPiece{Piece: piece(1), By: "operator"})
	p.did(&messages.SectorAddPieceFailed{Reason: why})
	p.waits()
	p.did(&messages.SectorPieceAdded{})
	p.wants(&messages.SectorPacked{})
	p.wants(&messages.SectorStartPacking{By: "operator"})
	p.did(&messages.SectorFatalError{Reason: "the sealer is broken"})
	p.wants(&messages.SectorForceState{State: "FailedUnrecoverable", By: "operator", Reason: "sealed on a bad disk"})

	p.wants(start(3))
	p.opens()
	p.did(&messages.SectorPacked{Fillers: []*messages.SectorPiece{filler(1024)}})
	p.sealed()
	return written(t, p.all)
}

// The audit finds nothing wrong with the record of sectors and their ledger, and it has every
// event of a sector.
func TestTheRecordOfSectorsIsInOrder(t *testing.T) {
	list := sectors(t)
	if !clean(t, list) {
		t.Fatal("the audit of the record finds something")
	}
	for _, e := range sector.Table() {
		if !slices.ContainsFunc(list, func(r events.Recorded) bool { return r.Type == e.Name }) {
			t.Errorf("there is no %s", e.Name)
		}
	}
}
