package aggregation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/prover/commd"
)

func TestCARsBecomeApprovedAggregates(t *testing.T) {
	inTime(t, func(h *host) {
		for n := range 8 {
			if _, err := h.request(h.add(n, 1<<16)); err != nil {
				t.Fatal(err)
			}
			if n == 3 { // The first aggregate has four.
				h.pass(time.Minute)
			}
		}
		h.pass(10 * time.Minute)
		if got := h.statuses(); !strings.Contains(got, "approved:8") {
			t.Errorf("they are %s", got)
		}
		if n := len(h.world.files); n != 2 { // Two aggregates of four pieces have their proofs.
			t.Errorf("%d files are left: %v", n, h.world.files)
		}
		s, err := h.request(h.add(0, 1<<16))
		if err != nil || s.Status != content.Accepted {
			t.Errorf("the same request again: %+v, %v", s, err)
		}
		if len(h.told) > 0 {
			t.Errorf("told %v", h.told)
		}
	})
}

// Wherever the host ends, each good piece is stored in the end, each bad one is refused, and nothing is left on the disk
// but the proofs of what is approved.
func TestACrashAnywhereLosesNothing(t *testing.T) {
	const cars = 9
	for _, names := range []bool{true, false} {
		for at := 1; at < 120; at += 1 + at/30 {
			t.Run(fmt.Sprintf("names %v, point %d", names, at), func(t *testing.T) {
				inTime(t, func(h *host) {
					h.world.names = names
					h.world.crashAfter(at)
					for n := range cars {
						link := h.add(n, 1<<16)
						if n == 3 {
							h.world.bad[h.car(link).found.Piece.CID] = true
						}
						_, _ = h.request(link)
						h.goOn()
						_, _ = h.request(link)
						if n == 4 {
							h.pass(3 * time.Minute)
						}
					}
					h.pass(2 * time.Hour)
					s := h.cargo()
					for n := 20; s.Groups["a"].Queued+s.Groups["a"].Aggregated > 0; n++ { // What is left waits for more.
						_, _ = h.request(h.add(n, 1<<16))
						h.pass(30 * time.Minute)
						if s = h.cargo(); n > 40 {
							t.Fatalf("they are never stored: %s", h.statuses())
						}
					}
					if got := h.statuses(); !strings.Contains(got, "refused:1]") {
						t.Errorf("they are %s", got)
					}
					stored := 0
					for _, f := range s.Ferries() {
						if f.State == cargo.Stored {
							stored++
						}
					}
					if len(h.world.files) != stored {
						t.Errorf("%d aggregates, and on the disk %v", stored, h.world.files)
					}
				})
			})
		}
	}
}

func TestBadContentIsRefusedAndStaysSo(t *testing.T) {
	inTime(t, func(h *host) {
		link := h.add(1, 1<<16)
		h.world.change(link, func(c *car) {
			c.refused = &events.ContentRefusal{Code: "block-digest", Detail: "block 3"}
		})
		_, _ = h.request(link)
		h.pass(time.Minute)
		s, err := h.request(link)
		if err != nil || s.Status != content.Refused || s.Code != "block-digest" || h.car(link).reads != 1 {
			t.Errorf("%+v, %v after %d reads", s, err, h.car(link).reads)
		}
		h.world.change(link, func(c *car) { c.refused = nil })
		if _, err := h.order(aggregation.Order{Retry: &aggregation.Retry{Link: link, By: "anna"}}); err != nil {
			t.Fatal(err)
		}
		h.pass(time.Minute)
		if s, _ = h.request(link); s.Status != content.Accepted {
			t.Errorf("read again it is %+v", s)
		}
	})
}

func TestASourceThatIsAwayIsWaitedFor(t *testing.T) {
	inTime(t, func(h *host) {
		h.world.set(func(w *world) { w.away = true })
		link := h.add(1, 1<<16)
		_, _ = h.request(link)
		h.pass(2 * time.Hour)
		if s, _ := h.request(link); s.Status != content.Requested {
			t.Errorf("it is %+v", s)
		}
		if len(h.told) != 1 || h.told[0].About != "sources" {
			t.Errorf("told %v", h.told)
		}
		h.world.set(func(w *world) { w.away = false })
		h.pass(2 * time.Minute)
		if s, _ := h.request(link); s.Status != content.Accepted {
			t.Errorf("it is %+v", s)
		}
	})
}

func TestWhatABrokerCannotSayIsNotBelieved(t *testing.T) {
	other := "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"
	for what, lie := range map[string]func(string) (events.DealReport, error){
		"another aggregate": func(string) (events.DealReport, error) {
			return events.DealReport{Aggregate: other, Status: events.DealApproved}, nil
		},
		"unknown pieces": func(a string) (events.DealReport, error) {
			return events.DealReport{Aggregate: a, Status: events.DealRejected, Bad: []string{other}}, nil
		},
		"no status": func(a string) (events.DealReport, error) {
			return events.DealReport{Aggregate: a, Status: "LOST"}, nil
		},
		"it lies": func(string) (events.DealReport, error) { return events.DealReport{}, events.ErrBrokerLies },
	} {
		t.Run(what, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.world.set(func(w *world) { w.lie = lie })
				for n := range 4 {
					_, _ = h.request(h.add(n, 1<<16))
				}
				h.pass(time.Hour)
				if got := h.statuses(); !strings.Contains(got, "aggregated:4") {
					t.Errorf("they are %s", got)
				}
				if len(h.told) != 1 {
					t.Errorf("told %v", h.told)
				}
				h.world.set(func(w *world) { w.lie = nil })
				h.pass(10 * time.Minute)
				if got := h.statuses(); !strings.Contains(got, "approved:4") {
					t.Errorf("they are %s", got)
				}
			})
		})
	}
}

func TestAPersonReportsAFailedAggregate(t *testing.T) {
	inTime(t, func(h *host) {
		h.world.lie = func(a string) (events.DealReport, error) {
			return events.DealReport{Aggregate: a, Status: events.DealPending}, nil
		}
		for n := range 4 {
			_, _ = h.request(h.add(n, 1<<16))
		}
		h.pass(2 * time.Minute)
		s := h.cargo()
		first := s.Ferries()[0]
		p, _ := s.Piece(first.Pieces[0])
		report := aggregation.Report{By: "anna", DealReport: events.DealReport{
			Aggregate: first.Aggregate, Status: events.DealRejected, Bad: h.world.pieces[first.Aggregate][:1], Reason: "lost",
		}}
		for range 2 { // Repeated it is the same.
			if _, err := h.order(aggregation.Order{Report: &report}); err != nil {
				t.Fatal(err)
			}
			h.pass(time.Minute)
		}
		if p, _ := h.cargo().Piece(first.Pieces[0]); p.Status != cargo.Refused {
			t.Errorf("the bad piece is %s", p.Status)
		}
		if n, _ := h.cargo().Find(p.Root); h.cargo().Refusal[n] != "lost" {
			t.Errorf("because %q", h.cargo().Refusal[n])
		}
		report.Aggregate = "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"
		if _, err := h.order(aggregation.Order{Report: &report}); !errors.Is(err, cargo.ErrUnknown) {
			t.Errorf("of an unknown aggregate: %v", err)
		}
	})
}

func TestASilentBrokerIsToldOnce(t *testing.T) {
	t.Run("and it is over", func(t *testing.T) { aSilentBrokerIsToldOnce(t, false) })
	t.Run("and it is over after a restart", func(t *testing.T) { aSilentBrokerIsToldOnce(t, true) })
}

func aSilentBrokerIsToldOnce(t *testing.T, restarted bool) {
	inTime(t, func(h *host) {
		for n := range 4 {
			_, _ = h.request(h.add(n, 1<<16))
		}
		h.pass(time.Minute)
		h.world.set(func(w *world) { w.away = true })
		h.pass(3 * time.Hour)
		if len(h.told) != 1 || !strings.Contains(h.told[0].Text, "no answer since") {
			t.Errorf("told %v", h.told)
		}
		if restarted {
			h.world.crash()
			h.goOn()
		}
		h.world.set(func(w *world) { w.away = false })
		h.pass(10 * time.Minute)
		if got := h.statuses(); !strings.Contains(got, "approved:4") {
			t.Errorf("they are %s", got)
		}
		if about := h.cargo().Ferries()[0].Aggregate; !slices.Contains(h.over, about) {
			t.Errorf("over is %v, want %s in it", h.over, about)
		}
	})
}

// Whatever its calls are when a room panics: they end, and the next life does what is to be done, once.
func TestARoomThatPanicsEndsItsCalls(t *testing.T) {
	for _, at := range []string{"examine", "keep", "offer"} {
		t.Run(at, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.world.set(func(w *world) { w.hangs = at })
				for n := range 4 {
					_, _ = h.request(h.add(n, 1<<16))
				}
				h.pass(time.Minute)
				if h.world.hung == 0 {
					t.Fatal("no call hangs")
				}
				h.panics()
				h.world.set(func(w *world) { w.hangs = "" })
				if h.world.hung != 0 {
					t.Errorf("%d calls of the life before go on", h.world.hung)
				}
				h.begin()
				h.pass(10 * time.Minute)
				if got := h.statuses(); !strings.Contains(got, "approved:4") || h.world.offered != 1 || len(h.world.files) != 1 {
					t.Errorf("they are %s; %d offers, files %v", got, h.world.offered, h.world.files)
				}
			})
		})
	}
}

// Operators learn that what they were told of is over, also when the room was started again meanwhile.
func TestTroubleThatWasToldBeforeARestartIsOver(t *testing.T) {
	inTime(t, func(h *host) {
		h.set.Ages = [3]time.Duration{time.Hour, 0, 0}
		h.world.crash()
		h.goOn()
		for n := range 4 {
			link := h.add(n, 1<<16)
			_, _ = h.request(link)
			if n == 0 {
				h.pass(30 * time.Minute)
				h.world.set(func(w *world) { w.away = true })
			}
		}
		h.pass(2 * time.Hour)
		if len(h.told) != 2 {
			t.Fatalf("told %v", h.told)
		}
		h.world.crash()
		h.over = nil
		h.goOn()
		h.world.set(func(w *world) { w.away = false })
		h.pass(time.Hour)
		slices.Sort(h.over)
		h.over = slices.DeleteFunc(h.over, func(about string) bool {
			return strings.HasPrefix(about, "make/") || about == h.cargo().Ferries()[0].Aggregate
		})
		if want := []string{"queue", "release", "sources"}; !slices.Equal(h.over, want) {
			t.Errorf("over is %v, want %v", h.over, want)
		}
	})
}

// dealStaysAt offers an aggregate, the deal about which comes no further, and returns its CID.
func dealStaysAt(h *host, status events.DealStatus) string {
	h.world.lie = func(a string) (events.DealReport, error) {
		return events.DealReport{Aggregate: a, Status: status}, nil
	}
	for n := range 4 {
		_, _ = h.request(h.add(n, 1<<16))
	}
	h.pass(5 * time.Minute)
	return h.cargo().Ferries()[0].Aggregate
}

// The settings name another broker after one has signed: the aggregate is not offered there, and operators are told
// once. When they say that the deal failed, its pieces are offered to the new broker.
func TestADealWithABrokerThatIsConfiguredNoMoreIsTold(t *testing.T) {
	inTime(t, func(h *host) {
		first := dealStaysAt(h, events.DealSigned)
		for range 2 {
			h.world.crash()
			h.set.BrokerName, h.world.lie, h.told = "new", nil, nil
			h.world.offers = map[string]events.DealReport{} // The new one has none.
			h.goOn()
			h.room.Tell(aggregation.Ask{Aggregate: first})
			h.pass(2 * time.Hour)
			if h.world.offered != 1 || len(h.told) != 1 || !strings.Contains(h.told[0].Text, `with broker "fake"`) {
				t.Fatalf("%d offers; told %v", h.world.offered, h.told)
			}
		}
		report := aggregation.Report{By: "anna", DealReport: events.DealReport{
			Aggregate: first, Status: events.DealRejected, Reason: "withdrawn there",
		}}
		if _, err := h.order(aggregation.Order{Report: &report}); err != nil {
			t.Fatal(err)
		}
		h.pass(time.Hour)
		if got := h.statuses(); !strings.Contains(got, "approved:4") || h.world.offered != 2 {
			t.Errorf("they are %s, after %d offers", got, h.world.offered)
		}
	})
}

// The settings name another broker before one has signed: the aggregate is offered there, and the deal names it.
func TestADealThatNobodySignedGoesToTheBrokerThatIsConfigured(t *testing.T) {
	inTime(t, func(h *host) {
		first := dealStaysAt(h, events.DealPending)
		h.world.crash()
		h.set.BrokerName, h.world.lie = "new", nil
		h.world.offers = map[string]events.DealReport{} // The new one has none.
		h.goOn()
		h.pass(time.Hour)
		if d := h.deal(first); d.Broker != "new" || d.Status != events.DealApproved || h.world.offered != 2 || len(h.told) != 0 {
			t.Errorf("the deal is %+v, after %d offers; told %v", d, h.world.offered, h.told)
		}
	})
}

func TestTooManyCARsAreNotTaken(t *testing.T) {
	inTime(t, func(h *host) {
		h.world.set(func(w *world) { w.away = true })
		for n := range 1000 {
			if _, err := h.request(h.add(n, 1<<10)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.request(h.add(2000, 1<<10)); !errors.Is(err, aggregation.ErrBusy) {
			t.Errorf("one more: %v", err)
		}
		if _, err := h.request(h.add(3, 1<<10)); err != nil {
			t.Errorf("one that is under way: %v", err)
		}
	})
}

func TestACARThatIsReadOnceMoreHasItsSourcesAfterARestart(t *testing.T) {
	inTime(t, func(h *host) {
		link := h.add(1, 1<<16)
		h.world.change(link, func(c *car) { c.refused = &events.ContentRefusal{Code: "block-digest"} })
		_, _ = h.request(link)
		h.pass(time.Minute)
		h.world.set(func(w *world) { w.away = true })
		if _, err := h.order(aggregation.Order{Retry: &aggregation.Retry{Link: link, By: "anna"}}); err != nil {
			t.Fatal(err)
		}
		h.world.crash()
		h.goOn()
		h.world.change(link, func(c *car) { c.refused = nil })
		h.world.set(func(w *world) { w.away = false })
		h.pass(5 * time.Minute)
		if s, err := h.request(link); err != nil || s.Status != content.Accepted || s.Piece.CID == "" {
			t.Errorf("it is %+v, %v", s, err)
		}
	})
}

// Another CAR makes a piece that is approved, or its own CAR is read once more: nothing would ever release a copy.
func TestNoCopyIsLeftOfAPieceThatIsApproved(t *testing.T) {
	inTime(t, func(h *host) {
		for n := range 4 {
			_, _ = h.request(h.add(n, 1<<16))
		}
		h.pass(10 * time.Minute)
		first, other := h.add(0, 1<<16), h.add(9, 1<<16)
		found := h.car(first).found
		h.world.change(other, func(c *car) { c.found = found })
		if _, err := h.order(aggregation.Order{Retry: &aggregation.Retry{Link: first, By: "anna"}}); err != nil {
			t.Fatal(err)
		}
		_, _ = h.request(other)
		h.pass(5 * time.Minute)
		for _, link := range []events.ContentLink{first, other} {
			if s, err := h.request(link); err != nil || s.Status != content.Accepted || s.Kept {
				t.Errorf("it is %+v, %v", s, err)
			}
		}
		if n := len(h.world.files); n != 1 { // The proofs of their aggregate.
			t.Errorf("%d files are left: %v", n, h.world.files)
		}
	})
}

// A report of a person is recorded after the offer is withdrawn. However long that takes: the aggregate is not offered
// again, and who reports it meanwhile gets an answer.
func TestWhatIsWithdrawnIsNotOfferedAgain(t *testing.T) {
	inTime(t, func(h *host) {
		for n := range 4 {
			_, _ = h.request(h.add(n, 1<<16))
		}
		h.pass(time.Minute)
		f := h.cargo().Ferries()[0]
		h.world.set(func(w *world) { w.slow = events.CategoryDeal })
		report := aggregation.Report{By: "anna", DealReport: events.DealReport{
			Aggregate: f.Aggregate, Status: events.DealRejected, Bad: h.world.pieces[f.Aggregate][:1],
		}}
		answers := make(chan error, 2)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		for range 2 {
			go func() {
				_, err := shell.Ask[aggregation.Answer](h.room, aggregation.Order{Report: &report}).Wait(ctx)
				answers <- err
			}()
			h.pass(2 * time.Minute)
		}
		h.pass(10 * time.Minute)
		for range 2 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if _, there := h.world.offers[f.Aggregate]; there {
			t.Errorf("the broker has %s again, after %d offers", f.Aggregate, h.world.offered)
		}
		if got := h.cargo().Aggregate(f.Aggregate).State; got != cargo.Rejected {
			t.Errorf("it is %s", got)
		}
	})
}

// A CAR that is refused when it is read again, while its piece is in an aggregate, is not offered once more.
func TestWhatIsRefusedWhileItIsInAnAggregateIsNotOfferedAgain(t *testing.T) {
	inTime(t, func(h *host) {
		for n := range 4 {
			link := h.add(n, 1<<16)
			if n == 3 {
				h.world.set(func(w *world) { w.bad[w.cars[link].found.Piece.CID] = true })
			}
			_, _ = h.request(link)
		}
		h.pass(time.Minute)
		first := h.add(0, 1<<16)
		h.world.change(first, func(c *car) { c.refused = &events.ContentRefusal{Code: "block-digest"} })
		if _, err := h.order(aggregation.Order{Retry: &aggregation.Retry{Link: first, By: "anna"}}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // Also when the host starts again in between.
			h.pass(time.Minute)
			h.rt.Kill()
			h.start()
		}
		h.world.set(func(w *world) { w.names = true })
		h.pass(20 * time.Minute)
		s := h.cargo()
		root, _ := commd.ParseCID(h.car(first).found.Piece.CID)
		n, _ := s.Find(root)
		if p, _ := s.Piece(n); p.Status != cargo.Refused || !strings.Contains(s.Refusal[n], "block-digest") {
			t.Errorf("it is %s: %q", p.Status, s.Refusal[n])
		}
	})
}
