package aggregation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
)

// recorded counts the events of a stream.
func (h *host) recorded(stream string) (n int) {
	for _, err := range h.store.ReadStream(context.Background(), stream, events.ReadStream{}) {
		if err != nil {
			return n
		}
		n++
	}
	return n
}

func TestTenThousandRequestsForOneCARAreOne(t *testing.T) {
	inTime(t, func(h *host) {
		link := h.add(1, 1<<16)
		ask := aggregation.Order{Request: &aggregation.Request{Link: link, Content: content.Request{
			Size: uint64(h.car(link).found.Piece.Payload), Source: events.ContentSource{Key: "/a.car"}, Group: "a",
		}}}
		var all []shell.Question[aggregation.Answer]
		for range 10_000 {
			all = append(all, shell.Ask[aggregation.Answer](h.room, ask))
		}
		for _, q := range all {
			if answer, err := answered(q); err != nil || answer.Content.Status == content.Refused {
				t.Errorf("%+v, %v", answer.Content, err)
			}
		}
		h.pass(time.Minute)
		if n := h.recorded(events.ContentStream(me, link)); n != 2 || h.car(link).reads != 1 { // Requested, accepted.
			t.Errorf("%d events and %d reads", n, h.car(link).reads)
		}
		if s := h.cargo(); s.Pieces() != 1 {
			t.Errorf("%d pieces", s.Pieces())
		}
	})
}

// A disk that is full is waited for. Operators are told once of each thing that cannot be done, and the tries do not
// get more with time.
func TestAFullDiskIsWaitedFor(t *testing.T) {
	inTime(t, func(h *host) {
		for n := range 3 {
			_, _ = h.request(h.add(n, 1<<16))
		}
		h.pass(time.Minute)
		h.world.set(func(w *world) { w.full = true })
		late := h.add(4, 1<<16)
		_, _ = h.request(late)
		h.pass(time.Hour)
		if s, _ := h.request(late); s.Status != content.Requested {
			t.Fatalf("a CAR without a copy is %s", s.Status)
		}
		h.set.Keep = false // Only the proofs need room now.
		h.rt.Kill()
		synctest.Wait()
		h.start()
		h.pass(time.Hour)
		kept := func() (n int) {
			h.world.set(func(w *world) { n = w.kept })
			return n
		}
		first := kept()
		h.pass(time.Hour)
		second := kept()
		h.pass(time.Hour)
		if one, other := second-first, kept()-second; one > 90 || other > one+5 || one == 0 {
			t.Errorf("%d tries in an hour, and then %d", one, other)
		}
		if len(h.told) != 1 || !strings.Contains(h.told[0].Text, "cannot be made yet") {
			t.Errorf("told %v", h.told)
		}
		h.world.set(func(w *world) { w.full = false })
		h.pass(20 * time.Minute)
		if got := h.statuses(); got != "map[approved:4]" {
			t.Errorf("they are %s", got)
		}
	})
}

func TestAGroupHasAQuota(t *testing.T) {
	inTime(t, func(h *host) {
		h.set.Quota = 200_000
		h.rt.Kill()
		synctest.Wait()
		h.start()
		var taken int
		ask := func(n int) error {
			_, err := h.request(h.add(n, 1<<16))
			return err
		}
		for n := range 10 {
			err := ask(n)
			if err == nil {
				taken++
			} else if !errors.Is(err, aggregation.ErrQuota) {
				t.Fatal(err)
			}
		}
		if taken != 3 {
			t.Errorf("%d are taken", taken)
		}
		if err := ask(0); err != nil && !errors.Is(err, aggregation.ErrQuota) {
			t.Error(err)
		}
		h.pass(time.Minute) // What is queued counts, too.
		if err := ask(20); !errors.Is(err, aggregation.ErrQuota) {
			t.Errorf("one more: %v", err)
		}
		link := h.add(30, 1<<10)
		other := aggregation.Order{Request: &aggregation.Request{Link: link, Content: content.Request{
			Size: 1000, Source: events.ContentSource{Key: "/a.car"}, Group: "b",
		}}}
		if _, err := h.order(other); err != nil {
			t.Errorf("another group: %v", err)
		}
	})
}

// Requests at once are counted before they are recorded.
func TestAQuotaHoldsForRequestsAtOnce(t *testing.T) {
	inTime(t, func(h *host) {
		h.set.Quota = 200_000
		h.rt.Kill()
		synctest.Wait()
		h.start()
		var all []shell.Question[aggregation.Answer]
		for n := range 50 {
			link := h.add(n, 1<<16)
			all = append(all, shell.Ask[aggregation.Answer](h.room, aggregation.Order{Request: &aggregation.Request{
				Link: link, Content: content.Request{
					Size: uint64(h.car(link).found.Piece.Payload), Source: events.ContentSource{Key: "/a.car"}, Group: "a",
				},
			}}))
		}
		taken := 0
		for _, q := range all {
			if _, err := answered(q); err == nil {
				taken++
			}
		}
		if taken != 3 {
			t.Errorf("%d are taken", taken)
		}
	})
}

func TestFerriesBecomeApprovedAggregates(t *testing.T) {
	inTime(t, func(h *host) {
		h.set.Packer = "ferry"
		h.set.Batch, h.set.Window = 4, time.Minute
		h.rt.Kill()
		synctest.Wait()
		h.start()
		for n := range 12 {
			if _, err := h.request(h.add(n, 1<<17)); err != nil {
				t.Fatal(err)
			}
			h.pass(time.Minute)
		}
		h.pass(time.Hour)
		s := h.cargo()
		if err := s.Check(); err != nil || s.Counts[cargo.Approved] < 8 {
			t.Errorf("they are %s: %v", h.statuses(), err)
		}
	})
}

// A broker that forgets an offer is offered it again, and nothing is recorded twice.
func TestABrokerThatForgetsIsOfferedItAgain(t *testing.T) {
	inTime(t, func(h *host) {
		for n := range 4 {
			_, _ = h.request(h.add(n, 1<<16))
		}
		offers := func() (n int) {
			h.world.set(func(w *world) { n = w.offered })
			return n
		}
		for offers() == 0 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		h.world.set(func(w *world) { clear(w.offers) })
		h.pass(10 * time.Minute)
		if got := h.statuses(); got != "map[approved:4]" || offers() != 2 {
			t.Errorf("after %d offers they are %s", offers(), got)
		}
		f := h.cargo().Ferries()[0]
		if n := h.recorded(events.DealStream(me, f.Aggregate)); n != 3 { // Offered, signed, approved.
			t.Errorf("%d events of the deal", n)
		}
	})
}

// A report that comes while the broker is asked is what counts, however often the broker calls.
func TestAReportWhileTheBrokerIsAsked(t *testing.T) {
	inTime(t, func(h *host) {
		asked := 0
		gate := make(chan struct{})
		h.world.lie = func(a string) (events.DealReport, error) { // It is called with the lock.
			asked++
			h.world.mu.Unlock() // It gives no answer for long.
			<-gate
			h.world.mu.Lock()
			return events.DealReport{Aggregate: a, Status: events.DealPending}, nil
		}
		for n := range 4 {
			_, _ = h.request(h.add(n, 1<<16))
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		f := h.cargo().Ferries()[0]
		for range 3 {
			h.room.Tell(aggregation.Ask{Aggregate: f.Aggregate})
		}
		report := aggregation.Order{Report: &aggregation.Report{By: "anna", DealReport: events.DealReport{
			Aggregate: f.Aggregate, Status: events.DealRejected, Reason: "lost",
		}}}
		first := shell.Ask[aggregation.Answer](h.room, report)
		synctest.Wait()
		if _, err := h.order(report); !errors.Is(err, aggregation.ErrReport) {
			t.Errorf("a second report at once: %v", err)
		}
		close(gate)
		answer, err := answered(first)
		if err != nil || answer.Deal.Status != events.DealRejected || answer.Deal.By != "anna" {
			t.Fatalf("%+v, %v", answer.Deal, err)
		}
		synctest.Wait()
		if got := h.cargo().Aggregate(f.Aggregate); got.State != cargo.Rejected || asked != 1 {
			t.Errorf("asked %d times, it is %s", asked, got.State)
		}
	})
}

// However often a broker says that it has news, it is asked as often as the settings say, and once for each.
func TestNewsDoNotAddUp(t *testing.T) {
	inTime(t, func(h *host) {
		asked := 0
		h.world.lie = func(a string) (events.DealReport, error) {
			asked++
			return events.DealReport{Aggregate: a, Status: events.DealPending}, nil
		}
		for n := range 4 {
			_, _ = h.request(h.add(n, 1<<16))
		}
		h.pass(3 * time.Minute)
		f := h.cargo().Ferries()[0]
		for range 30 {
			h.room.Tell(aggregation.Ask{Aggregate: f.Aggregate})
			h.room.Tell(aggregation.Ask{Aggregate: "another"})
			time.Sleep(time.Second)
			synctest.Wait()
		}
		var before int
		h.world.set(func(*world) { before = asked })
		h.pass(time.Hour)
		if n := asked - before; n < 55 || n > 61 {
			t.Errorf("it is asked %d times in an hour", n)
		}
	})
}

func TestTheBrokerOfTheTestsIsABroker(t *testing.T) {
	porttest.Broker(t, func(*testing.T) porttest.BrokerWorld {
		w := &world{offers: map[string]events.DealReport{}, pieces: map[string][]string{}, left: quiet}
		n := 0
		becomes := func(status events.DealStatus) func(string) events.DealReport {
			return func(aggregate string) (r events.DealReport) {
				w.set(func(w *world) {
					r = w.offers[aggregate]
					r.Status = status
					w.offers[aggregate] = r
				})
				return r
			}
		}
		return porttest.BrokerWorld{
			Broker: broker{w}, NamesBad: true,
			Offer: func() (events.AggregateOffer, []string) {
				n++
				return events.AggregateOffer{Aggregate: fmt.Sprint("a", n), Size: 1 << 20, Pieces: 3}, []string{"p", "q", "r"}
			},
			Sign: becomes(events.DealSigned), Approve: becomes(events.DealApproved),
			Reject: func(aggregate string, bad []string) (r events.DealReport) {
				w.set(func(w *world) {
					r = w.offers[aggregate]
					r.Status, r.Bad = events.DealRejected, bad
					w.offers[aggregate] = r
				})
				return r
			},
			Away: func(away bool) { w.set(func(w *world) { w.away = away }) },
		}
	})
}
