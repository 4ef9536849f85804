package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
)

// This file plays those who send CARs and the operator of the pipeline, and checks what must hold of it against the
// record, the disk and the broker.

// Aggregation says what is aggregated, and what goes wrong with it. The zero value: nothing.
type Aggregation struct {
	Cars int // how many CARs come in the first part of the run
	// The following are chances in a thousand at each step.
	BrokerAway  int // the broker does not answer for a while
	BrokerLies  int // for a while a third of its answers are impossible
	SourcesAway int // no CAR can be read for a while
	Orders      int // an operator reports a failed aggregate, or has a CAR read again
}

// The troubles of the pipeline.
const (
	brokerAway       = "broker away"
	brokerLies       = "broker lies"
	sourcesAway      = "sources away"
	aggregationOrder = "order to aggregation"
)

// aggregationTrouble returns what the troubles of the pipeline do to a call.
func (s *simulator) aggregationTrouble(c *call) verdict {
	ofBroker := strings.HasPrefix(c.key, "broker.")
	switch {
	case ofBroker && s.in(brokerAway), strings.HasPrefix(c.key, "source.") && s.in(sourcesAway):
		return fail
	case ofBroker && s.in(brokerLies) && !s.calm() && s.shippers.IntN(3) == 0:
		c.lie = s.shippers.Uint64()
		s.faults[Fault{faultLie, c.port()}]++
		return lied
	}
	return proceed
}

// workAggregation decides what happens to the pipeline in a step. Orders are given one at a time.
func (s *simulator) workAggregation(ctx context.Context, w *world, h *actors.Host) {
	if !s.calm() {
		s.mayBegin(s.shippers, brokerAway, s.Aggregation.BrokerAway)
		s.mayBegin(s.shippers, brokerLies, s.Aggregation.BrokerLies)
		s.mayBegin(s.shippers, sourcesAway, s.Aggregation.SourcesAway)
	}
	s.world.mu.Lock()
	busy := s.ordering
	s.world.mu.Unlock()
	if busy || h == nil || s.stopping {
		return
	}
	cars := s.world.freight.cars
	next := slices.IndexFunc(cars, func(u *upload) bool { return u.wanted > 0 })
	hurry := s.calm() || s.steps > busySteps
	switch {
	case next >= 0 && (hurry || s.shippers.IntN(10) == 0):
		u := cars[next]
		request := aggregation.Request{Link: u.link, Content: content.Request{
			Size: u.size, Group: string(rune('a' + next%2)),
			Source: events.ContentSource{BucketName: fmt.Sprint(u.wanted % 2), Key: u.link.String()},
		}}
		s.ship(ctx, w, h, aggregation.Order{Request: &request}, func() { u.wanted-- })
	case len(cars) < s.Aggregation.Cars && (hurry || s.shippers.IntN(30) == 0), s.standsStill():
		s.newUpload()
	case !s.calm() && s.shippers.IntN(1000) < s.Aggregation.Orders:
		if o, drawn := s.drawAggregationOrder(); drawn {
			s.trouble(aggregationOrder, "world", "%+v %+v", o.Report, o.Retry)
			s.ship(ctx, w, h, o, func() {})
		}
	}
}

// ship gives an order. A request that fails is given again.
func (s *simulator) ship(ctx context.Context, w *world, h *actors.Host, o aggregation.Order, done func()) {
	s.order(ctx, "aggregate", func() error {
		_, err := actors.OrderOwner[aggregation.Answer](ctx, h, w.aggregates, o)
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		if err == nil {
			done()
		}
		return err
	})
}

// standsStill reports whether pieces are too few for an aggregate, when no more come. Then another one comes.
func (s *simulator) standsStill() bool {
	var queued uint64
	for _, g := range s.audit.cargo.Groups {
		queued += g.Queued
	}
	return s.calm() && s.steps%64 == 0 && queued > 0 && queued < s.aggregationSettings().MinFill &&
		s.audit.cargo.Counts[cargo.Aggregated] == 0
}

// drawAggregationOrder is what an operator wants next. What he says of pieces is true.
func (s *simulator) drawAggregationOrder() (o aggregation.Order, drawn bool) {
	if s.shippers.IntN(2) == 0 {
		cars := s.world.freight.cars
		if len(cars) == 0 {
			return o, false
		}
		u := cars[s.shippers.IntN(len(cars))]
		if s.audit.contents[u.link].Status == content.Refused && u.code != codeOfLarge {
			u.code, u.mended = "", true // It is wrong no more.
		}
		return aggregation.Order{Retry: &aggregation.Retry{Link: u.link, By: "operator"}}, true
	}
	for _, f := range s.audit.cargo.Ferries() {
		report := aggregation.Report{By: "operator", DealReport: events.DealReport{
			Aggregate: f.Aggregate, Status: events.DealRejected, Reason: "it is damaged",
		}}
		for _, cid := range piecesOf(s.audit.cargo, f.Aggregate) {
			if _, bad := s.world.freight.bad[cid]; bad {
				report.Bad = append(report.Bad, cid)
			}
		}
		isolates := f.Isolated || f.Attempt+1 >= attemptsTogether || len(f.Pieces) == 1
		if f.State == cargo.Made && s.shippers.IntN(2) == 0 && (len(report.Bad) > 0 || !isolates) {
			return aggregation.Order{Report: &report}, true
		}
	}
	return o, false
}

// again folds an event, and compares it with what is decided from the command that it follows from.
func again[S, C any, E proto.Message](
	was S, e E, c C, decide func(S, C) ([]E, error), evolve func(S, E) S,
) (is S, wrong error) {
	decided, err := decide(was, c)
	if err != nil || len(decided) == 0 || !proto.Equal(decided[0], e) {
		wrong = fmt.Errorf("it is %v, and decided is %v: %w", e, decided, err)
	}
	return evolve(was, e), wrong
}

func (a *audit) onContent(stream string, e content.Event) error {
	_, link, err := events.ParseContentStream(stream)
	if err != nil {
		return err
	}
	was, u := a.contents[link], a.freight.car(link)
	is, err := again(was, e, content.Asked(was, e), content.Decide, content.Evolve)
	a.contents[link] = is
	other := u.code == "" && is.Piece.CID != u.piece.CID
	if is.Status != content.Requested && (is.Code != u.code || other) {
		return broken(GoodIsStored, "CAR %s is %+v, and it is %q, with piece %s", link, is, u.code, u.piece.CID)
	}
	return err
}

func (a *audit) onDeal(stream string, e deal.Event) error {
	_, aggregate, err := events.ParseDealStream(stream)
	if err != nil {
		return err
	}
	was := a.deals[aggregate]
	is, err := again(was, e, deal.Asked(e), deal.Decide, deal.Evolve)
	a.deals[aggregate] = is
	said := is.Final() && !was.Final() && is.By == ""
	if d := a.freight.offers[aggregate]; said && (d == nil || d.Status != is.Status) {
		return broken(DealsAreTrue, "the deal about %s is %s; the broker has %+v", aggregate, is.Status, d)
	}
	return err
}

// onCargo checks what an event does to the pieces.
func (a *audit) onCargo(e cargo.Event) error {
	if l, loads := e.(*messages.FerryLoaded); loads {
		if err := a.inOrder(l); err != nil {
			return err
		}
	}
	list, ok := e.(interface{ GetFerry() string })
	for _, f := range a.cargo.Ferries() {
		if ok && f.ID == list.GetFerry() && f.State == cargo.Rejected {
			return broken(NothingIsOfferedAgain, "%s travels again, which was rejected as %s", f.ID, f.Aggregate)
		}
	}
	var err error
	a.cargo, err = again(a.cargo, e, cargo.Asked(e), cargo.Decide, cargo.Evolve)
	for n := uint64(1); n <= a.cargo.Pieces(); n++ {
		p, _ := a.cargo.Piece(n)
		_, bad := a.freight.bad[commd.CID(p.Root)]
		if p.Status == cargo.Refused && !bad || p.Status == cargo.Approved && bad {
			return broken(GoodIsStored, "piece %d is %s, bad: %t", n, p.Status, bad)
		}
	}
	return errors.Join(as(PieceIsInOnePlace, a.cargo.Check()), err)
}

// pieceOf is the piece that a CAR was found to make; false: it is not in the ledger of pieces.
func (a *audit) pieceOf(c content.State) (cargo.Piece, bool) {
	root, _ := commd.ParseCID(c.Piece.CID)
	priority, _ := a.cargo.Find(root)
	return a.cargo.Piece(priority)
}

// inOrder: of the pieces of one group and size that wait, those travel first that came first.
func (a *audit) inOrder(e *messages.FerryLoaded) error {
	for n := uint64(1); n <= a.cargo.Pieces() && !e.GetIsolated(); n++ {
		p, _ := a.cargo.Piece(n)
		if p.Status != cargo.Queued || p.Suspected() || a.cargo.Ferry(p) != nil || slices.Contains(e.GetPieces(), n) {
			continue
		}
		for _, later := range e.GetPieces() {
			q, _ := a.cargo.Piece(later)
			if later > n && q.Size() == p.Size() && a.cargo.Group(q) == a.cargo.Group(p) {
				return broken(FirstInIsFirst, "piece %d travels in %s, and %d waits", later, e.GetFerry(), n)
			}
		}
	}
	return nil
}

// checkCopies: the ledger holds the bytes of each copy.
func (s *simulator) checkCopies() error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for cid, bytes := range s.world.freight.files {
		if held := s.audit.ledger.PieceBytes(cid); held != bytes && s.Members.Count == 0 {
			return fmt.Errorf("the copy of %s has %d bytes, the ledger holds %d", cid, bytes, held)
		}
	}
	return nil
}

// aggregationOver reports whether all CARs and pieces are settled; if not, waits says why.
func (s *simulator) aggregationOver() bool {
	f, waits := s.world.freight, ""
	for _, u := range f.cars {
		c := s.audit.contents[u.link]
		if _, known := s.audit.pieceOf(c); u.wanted > 0 || c.Status != content.Refused && !known {
			waits = fmt.Sprintf("CAR %s is %q, %d requests are to come", u.link, c.Status, u.wanted)
		}
	}
	counts := s.audit.cargo.Counts
	pieces, proofs := s.audit.cargo.Releasable()
	switch {
	case len(f.cars) < s.Aggregation.Cars:
		waits = fmt.Sprintf("%d CARs came", len(f.cars))
	case waits == "" && counts[cargo.Queued]+counts[cargo.Aggregated]+len(pieces)+len(proofs) > 0:
		waits = fmt.Sprintf("%v pieces wait, are in aggregates, approved, refused; of %v and %v are copies", counts, pieces, proofs)
	}
	s.hurried = s.hurried || waits != "" && s.steps > busySteps
	if waits != "" {
		s.waits = waits
	}
	return waits == ""
}

// aggregationAtTheEnd: what is good is approved, what is bad refused, and nothing is left on the disk but proofs.
func (s *simulator) aggregationAtTheEnd() (errs []error) {
	if s.Aggregation.Cars == 0 {
		return nil
	}
	f, want := s.world.freight, map[string]events.Bytes{}
	for _, u := range f.cars {
		p, known := s.audit.pieceOf(s.audit.contents[u.link])
		_, bad := f.bad[u.piece.CID]
		if known != (u.code == "") && !u.mended || known && bad != (p.Status == cargo.Refused) {
			errs = append(errs, broken(GoodIsStored, "CAR %s is %q, its piece is %s, bad: %t", u.link, u.code, p.Status, bad))
		}
	}
	for _, ferry := range s.audit.cargo.Ferries() {
		if ferry.State == cargo.Stored {
			want[ferry.Proofs] = events.Bytes(ferry.ProofsSize)
		}
	}
	held := s.audit.ledger.PieceFiles() // What is on the disk is in it.
	if s.Members.Count == 0 && len(held) != len(want) || !maps.Equal(f.files, want) {
		errs = append(errs, broken(ReleasedOnce, "approved aggregates have the proofs %v, on the disk is %v, in the ledger %v",
			want, f.files, held))
	}
	for aggregate, d := range f.offers {
		if on := s.audit.cargo.Aggregate(aggregate); !d.final() && (on == nil || on.State != cargo.Made) {
			errs = append(errs, broken(NothingIsOfferedAgain, "the broker has an offer of %s, which is %+v", aggregate, on))
		}
	}
	return errs
}
