package actors

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// enough is a host that can just afford a slot: one of each less is refused.
func enough() affordable {
	return affordable{
		SameRequest: 1, MaxSame: 2, ProofLoad: 60, MaxProofLoad: 60, ProofDetail: "busy",
		Balance: events.Balance{
			Tokens: events.NewAmount(150), Wei: events.NewAmount(10*7 + 3*20),
			ProofWei: events.NewAmount(7), SaleWei: events.NewAmount(20),
		},
		Collateral: events.NewAmount(100), Unpaid: events.NewAmount(50),
		InWork: 2, Days: 3, Proofs: 10, MinWei: events.NewAmount(5),
	}
}

func TestASlotIsTakenOnlyWhenTheHostCanAffordIt(t *testing.T) {
	less := func(a *events.Amount) { *a = a.Sub(events.NewAmount(1)) }
	more := func(a *events.Amount) { *a = a.Add(events.NewAmount(1)) }
	tests := []struct {
		name   string
		change func(*affordable)
		want   string // criterion
		says   string
	}{
		{"just enough of everything", func(*affordable) {}, "", ""},
		{"too many slots of the request", func(n *affordable) { n.SameRequest++ }, slotqueue.CriterionRequestCap, "2 slots of the request"},
		{"too many proofs", func(n *affordable) { n.ProofLoad++ }, slotqueue.CriterionProofs, "the limit is 60 %"},
		{"a token short", func(n *affordable) { less(&n.Balance.Tokens) }, slotqueue.CriterionTokens, "149 tokens, the collateral is 100, and sales in work need 50 more"},
		{"others need a token more", func(n *affordable) { more(&n.Unpaid) }, slotqueue.CriterionTokens, "need 51 more"},
		{"a sum of tokens that no amount holds", func(n *affordable) { n.Unpaid = events.MaxAmount() }, slotqueue.CriterionTokens, "150 tokens"},
		{"a wei short", func(n *affordable) { less(&n.Balance.Wei) }, slotqueue.CriterionGas, "129 wei, 10 proofs in 3 days at 7 wei and 3 sales at 20 wei need 130"},
		{"gas became dearer", func(n *affordable) { more(&n.Balance.ProofWei) }, slotqueue.CriterionGas, "need 140"},
		{"one proof more", func(n *affordable) { n.Proofs++ }, slotqueue.CriterionGas, "11 proofs"},
		{"proofs without end", func(n *affordable) { n.Proofs, n.Balance.ProofWei = math.MaxUint64, events.MaxAmount() }, slotqueue.CriterionGas, "130 wei"},
		{"below the least", func(n *affordable) { n.MinWei = events.NewAmount(131) }, slotqueue.CriterionGas, "at least 131"},
		{"the price of gas is not known", func(n *affordable) {
			n.Balance.ProofWei, n.Balance.SaleWei, n.Balance.Wei = events.Amount{}, events.Amount{}, n.MinWei
		}, "", ""},
		{"the wallet need not last", func(n *affordable) { n.Days, n.Balance.Wei = 0, n.MinWei }, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := enough()
			test.change(&n)
			got := n.judge()
			if got == nil {
				got = &saleRefused{}
			}
			if got.criterion != test.want || !strings.Contains(got.reason, test.says) {
				t.Fatalf("refused by %q: %s; want %q and %q", got.criterion, got.reason, test.want, test.says)
			}
			if got.criterion != "" && !got.requeue {
				t.Fatal("what may change is put back")
			}
		})
	}
}

// More money never refuses what less would take, and more work never takes what
// less would refuse.
func TestAffordingIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(label string) uint64 { return rapid.Uint64Range(0, 200).Draw(t, label) }
		amount := func(label string) events.Amount { return events.NewAmount(n(label)) }
		poor := affordable{
			MaxSame: 1, ProofLoad: n("load"), MaxProofLoad: 60, Collateral: amount("collateral"), Unpaid: amount("unpaid"),
			Balance: events.Balance{
				Tokens: amount("tokens"), Wei: amount("wei"), ProofWei: amount("proofWei"), SaleWei: amount("saleWei"),
			},
			InWork: n("inWork") % 4, Days: n("days") % 4, Proofs: n("proofs"), MinWei: amount("minWei"),
		}
		rich := poor
		rich.Balance.Tokens = rich.Balance.Tokens.Add(amount("more tokens"))
		rich.Balance.Wei = rich.Balance.Wei.Add(amount("more wei"))
		rich.Unpaid = rich.Unpaid.SubFloor(amount("less unpaid"))
		rich.Proofs -= min(rich.Proofs, n("fewer proofs"))
		if poor.judge() == nil && rich.judge() != nil {
			t.Fatalf("%+v is taken, %+v is refused: %s", poor, rich, rich.judge().reason)
		}
	})
}

func TestProofsOfDaysAreCountedUpwards(t *testing.T) {
	tests := []struct {
		period         time.Duration
		days, expected uint64
		want           uint64
	}{
		{120 * time.Second, 0, perProof, 0},
		{120 * time.Second, 1, perProof, 720},
		{120 * time.Second, 3, perProof / 8, 270},
		{7 * time.Second, 1, perProof, 12343}, // 12342.86
		{time.Second, 3650, math.MaxUint64, math.MaxUint64},
	}
	for _, test := range tests {
		e := &env{Chain: &chainview.Chain{Terms: events.MarketConfig{Proofs: events.ProofConfig{Period: test.period}}}}
		if got := e.proofsWithin(test.days, test.expected); got != test.want {
			t.Errorf("%d in parts a period of %s for %d days: %d proofs, want %d",
				test.expected, test.period, test.days, got, test.want)
		}
	}
}

// trying is an env that gives up a download after ten minutes.
func trying() *env {
	return &env{
		Chain: chainview.New(&shell.Base{RetryMost: 30 * time.Second, Clock: shelltest.Clock{}}, nil, duty.Margin{}),
		world: world{given{Config: Config{GiveUpDownload: 10 * time.Minute}}},
	}
}

func TestADownloadIsGivenUpWhenNothingNewComesForTooLong(t *testing.T) {
	tests := []struct {
		name string
		try  func(ctx context.Context, s *stall) error
		// After how long of tries it is given up.
		want time.Duration
	}{
		{"a source that hangs", func(ctx context.Context, _ *stall) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, 10 * time.Minute},
		{"tries that fail after a minute", func(ctx context.Context, _ *stall) error {
			return errors.Join(shell.Sleep(ctx, shelltest.Clock{}, time.Minute), errDiskBusy)
		}, 10 * time.Minute},
		{"a block after nine minutes, then none", func() func(context.Context, *stall) error {
			came := false
			return func(ctx context.Context, s *stall) error {
				if err := shell.Sleep(ctx, shelltest.Clock{}, 9*time.Minute); err != nil || came {
					return errors.Join(err, errDiskBusy)
				}
				came = true
				s.arrived(sale.Moment{Machine: time.Now()}, 1)
				return errDiskBusy
			}
		}(), 19 * time.Minute},
		{"the same bytes granted again and again", func(ctx context.Context, s *stall) error {
			err := shell.Sleep(ctx, shelltest.Clock{}, 4*time.Minute)
			s.granted(time.Now(), 5)
			return errors.Join(err, errDiskBusy)
		}, 14 * time.Minute},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			shelltest.Bubble(t, func(t *testing.T, _ *shell.Runtime) {
				s, began := &stall{}, time.Now()
				for {
					stalled, err := s.watch(t.Context(), trying(), 1, func(ctx context.Context) error { return test.try(ctx, s) })
					if err == nil {
						t.Fatal("it succeeded")
					}
					if stalled {
						break
					}
					if time.Since(began) > time.Hour {
						t.Fatal("it is never given up")
					}
				}
				if took := time.Since(began); took != test.want {
					t.Fatalf("given up after %s, want %s", took, test.want)
				}
			})
		})
	}
}

func TestAnOutageBetweenTwoTriesIsNotHeldAgainstTheClient(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, _ *shell.Runtime) {
		s := &stall{}
		fails := func(context.Context) error { return errDiskBusy }
		for range 3 {
			if stalled, _ := s.watch(t.Context(), trying(), 1, fails); stalled {
				t.Fatal("given up after an outage")
			}
			time.Sleep(5 * time.Hour) // The event store is away, or the machine sleeps.
		}
		if idle := s.idleFor(time.Now()); idle > 2*trying().RetryMost {
			t.Fatalf("%s count as idle", idle)
		}
	})
}

func TestAnotherAttemptHasPatienceOfItsOwn(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, _ *shell.Runtime) {
		s := &stall{}
		hangs := func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		if stalled, err := s.watch(t.Context(), trying(), 1, hangs); !stalled || !errors.Is(err, errStalled) {
			t.Fatalf("stalled %t: %v", stalled, err)
		}
		if stalled, _ := s.watch(t.Context(), trying(), 2, func(context.Context) error { return events.ErrNoSource }); stalled {
			t.Fatal("the second attempt was given up for the first")
		}
		if !s.reachesNobody() {
			t.Fatal("that no source was reached is forgotten")
		}
	})
}

func TestAWindowIsOpenWhenAFillJustFitsBeforeTheExpiry(t *testing.T) {
	start := time.Unix(1_700_000_000, 0).UTC()
	rapid.Check(t, func(t *rapid.T) {
		var q MayReserve
		q.Host[0], q.Slot[0] = rapid.Byte().Draw(t, "host"), rapid.Byte().Draw(t, "slot")
		q.Request.Expiry, q.MinFill = time.Hour, time.Duration(rapid.IntRange(0, 3600).Draw(t, "fill"))*time.Second
		q.ExpiresAt, q.EndsAt = start.Add(time.Hour), start.Add(24*time.Hour)
		q.Repair = rapid.Bool().Draw(t, "repair")
		q.Now = q.ExpiresAt
		if q.Repair {
			q.Now = q.EndsAt
		}
		q.Now = q.Now.Add(-q.MinFill)
		if p := ReserveInWindow(q); !p.Open(q.Now) {
			t.Fatalf("at %s: %s", q.Now, p.Reason)
		}
		if p := ReserveInWindow(q); p.Opens.Before(start) || !ReserveAlways(q).Open(q.Now) {
			t.Fatalf("opens at %s, before the request", p.Opens)
		}
	})
}
