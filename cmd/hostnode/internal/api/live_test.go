package api_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/storage"
)

func TestTheReasonIsTheFirstThingThatIsInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reach error
		live, market, _ := runningOn(t, storetest.NewMemory(), func(cfg *api.LiveConfig) {
			cfg.Reach = func(context.Context) error { return reach }
		})
		expect := func(selling bool, reason string) {
			t.Helper()
			s := ask(t, live.Status)
			if s.Selling != selling || !strings.Contains(s.Reason, reason) {
				t.Fatalf("selling %v: %s; want %v: %s", s.Selling, s.Reason, selling, reason)
			}
			if !s.Selling && s.Hint == "" {
				t.Fatalf("%s: no hint", s.Reason)
			}
		}
		expect(false, "nothing is on offer")
		disabled := offer()
		disabled.Disabled = true
		a := ask(t, func(ctx context.Context) (projections.Availability, error) {
			return live.AddAvailability(ctx, disabled)
		})
		expect(false, "all of 1 availabilities are disabled")
		enabled := true
		ask(t, func(ctx context.Context) (projections.Availability, error) {
			return live.SetAvailability(ctx, a.ID[:10], api.Changes{Enabled: &enabled})
		})
		expect(true, "1 MiB free, in one availability")
		soon := head.Time.Add(time.Minute)
		ask(t, func(ctx context.Context) (projections.Availability, error) {
			return live.SetAvailability(ctx, a.ID, api.Changes{Until: &soon})
		})
		expect(true, "1 MiB free, in one availability")
		market.holds(1<<20, 0, nil)
		expect(false, "gas")
		market.holds(0, 7, nil)
		expect(false, "tokens")
		market.holds(0, 0, errors.New("the node is away"))
		expect(false, "the chain does not answer: the node is away")
		if s := ask(t, live.Status); s.Balance.Error != "the node is away" {
			t.Fatalf("balance %+v", s.Balance)
		}
		market.holds(1<<20, 7, nil)
		reach = storage.ErrNoneSet
		expect(false, "no source of content is set")
		reach = fmt.Errorf("%w: http://other: refused", events.ErrNoSource)
		expect(false, "no source of content can be reached, so the data of no slot can be fetched: http://other: refused")
		reach = nil
		ask(t, func(ctx context.Context) (api.Queue, error) { return live.PauseQueue(ctx, "a walk") })
		expect(false, "paused until resumed: a walk")
		ask(t, func(ctx context.Context) (api.Queue, error) { return live.ResumeQueue(ctx, "back") })
		expect(true, "in one availability")
	})
}

func TestTheStatusSaysWhichEndpointIsInUseAndWhenNoneIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at rpc.Reachability
		live, _, _ := runningOn(t, storetest.NewMemory(), func(cfg *api.LiveConfig) {
			cfg.Endpoint = "ws://node/?key=secret"
			cfg.Standing = func() rpc.Reachability { return at }
		})
		if c := ask(t, live.Status).Chain; c.Endpoint != "ws://node/?***" || c.Away || c.FirstEndpoint != "" {
			t.Fatalf("before the first connection: %+v", c)
		}
		at = rpc.Reachability{
			Endpoint: "http://other", Since: events.Unix(1_750_000_000), First: "ws://node/?***", WhyNotFirst: "refused",
		}
		c := ask(t, live.Status).Chain
		if c.Endpoint != at.Endpoint || !c.EndpointSince.Equal(at.Since) || c.FirstEndpoint != at.First ||
			c.WhyNotFirst != at.WhyNotFirst || c.Away {
			t.Fatalf("at a fallback: %+v", c)
		}
		at.Away, at.AwayReason = events.Unix(1_750_000_060), "ws://node/?***: refused; http://other: no route"
		s := ask(t, live.Status)
		want := "the chain does not answer since 2025-06-15 15:07:40Z: " + at.AwayReason
		if s.Selling || s.Reason != want || !s.Chain.Away || !s.Chain.AwaySince.Equal(at.Away) ||
			s.Chain.AwayReason != at.AwayReason || s.Hint == "" || s.NotProving { // It owes nothing.
			t.Fatalf("with none: %+v", s)
		}
	})
}

func TestTheStatusSaysWhenTheLimitOnFeesHoldsUpTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := true
		limit := tx.FeeLimit{
			Since: events.Unix(1_750_000_000), BaseFee: big.NewInt(30_000_000_000), Most: big.NewInt(8_000_000_000),
			Limit: big.NewInt(9_000_000_000), Waiting: 3,
		}
		live, _, _ := runningOn(t, storetest.NewMemory(), func(cfg *api.LiveConfig) {
			cfg.FeeLimit = func() (tx.FeeLimit, bool) { return limit, held }
		})
		s := ask(t, live.Status)
		want := "no transaction goes through since 2025-06-15 15:06:40Z: gas costs 30.000 gwei, and within " +
			"the limit of 9.000 gwei a transaction can offer 8.000 at most; 3 wait"
		if s.Selling || s.Reason != want || s.Chain.FeeLimit != want || !strings.Contains(s.Hint, "fees.maxFeeGwei") {
			t.Fatalf("%+v", s)
		}
		held = false
		if s := ask(t, live.Status); s.Chain.FeeLimit != "" || s.Reason == want {
			t.Fatalf("when it is over: %+v", s)
		}
	})
}

func TestTheStatusSaysWhenTheQuotaIsTooSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		live, _, kill := runningOn(t, store)
		large := offer()
		large.Size = 9 << 20
		a := ask(t, func(ctx context.Context) (projections.Availability, error) { return live.AddAvailability(ctx, large) })
		if s := ask(t, live.Status); s.Quota != 0 {
			t.Fatalf("with room: %+v", s)
		}
		kill()
		live, _, _ = runningWith(t, store, 2<<20)
		s := ask(t, live.Status)
		if s.Selling || s.Reason != "the quota is 2 MiB, availabilities and sales have 9 MiB; no new slot is taken" || s.Quota != 2<<20 ||
			!strings.Contains(s.Hint, "`quota`") {
			t.Fatalf("without: %+v", s)
		}
		_, err := live.AddAvailability(t.Context(), offer())
		if err == nil || !strings.Contains(err.Error(), "quota") {
			t.Fatalf("a second one beyond the quota: %v", err)
		}
		small := events.Bytes(1 << 20)
		ask(t, func(ctx context.Context) (projections.Availability, error) {
			return live.SetAvailability(ctx, a.ID, api.Changes{Size: &small})
		})
		if s := ask(t, live.Status); !s.Selling || s.Quota != 0 {
			t.Fatalf("at once: %+v", s)
		}
		synctest.Wait() // The ledger follows.
		if s := ask(t, live.Status); !s.Selling || s.Ledger.Quota != 2<<20 {
			t.Fatalf("when it fits: %+v", s)
		}
	})
}

func TestTheStatusOfARunningHostSaysAllThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _, _ := running(t)
		s := ask(t, live.Status)
		if !s.AsOf.Running || s.Account != me.String() || s.Epoch != 1 || s.Version != "v1" || s.DataDir != "/data" {
			t.Fatalf("%+v", s)
		}
		want := api.Chain{
			ID: 31337, Contract: events.Address{0xcc}.String(), Endpoint: "ws://node", Development: true,
			Head: 300, HeadHash: head.Hash.String(), HeadTime: head.Time, Live: true,
			BlockTime: 1, BlockTimeSet: true,
		}
		if diff := cmp.Diff(want, s.Chain); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(&api.Balance{Tokens: "1048576", Wei: "7"}, s.Balance); diff != "" {
			t.Fatal(diff)
		}
		if s.Ledger.Quota != 10<<20 || len(s.Pools) != 7 {
			t.Fatalf("quota %d, pools %v", s.Ledger.Quota, s.Pools)
		}
	})
}

func TestWhatARunningHostWasToldIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _, _ := running(t)
		for range 5 {
			a := ask(t, func(ctx context.Context) (projections.Availability, error) {
				return live.AddAvailability(ctx, offer())
			})
			if l := ask(t, live.Ledger); !slices.ContainsFunc(l.Availabilities,
				func(v projections.Availability) bool { return v.ID == a.ID }) {
				t.Fatalf("%s is not listed", a.ID)
			}
			gone := ask(t, func(ctx context.Context) (string, error) { return live.RemoveAvailability(ctx, a.ID) })
			if l := ask(t, live.Ledger); gone != a.ID || len(l.Availabilities) != 0 {
				t.Fatalf("removed %s, left %v", gone, l.Availabilities)
			}
		}
		if a := ask(t, func(ctx context.Context) (api.Audit, error) { return live.Audit(ctx, api.AuditOptions{}) }); !a.Clean || a.Store != nil {
			t.Fatalf("%+v", a)
		}
	})
}

func TestARunningHostRefusesWhatTheLedgerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _, kill := running(t)
		large := offer()
		large.Size = 1 << 30
		_, err := live.AddAvailability(t.Context(), large)
		if p := rows.All().Explain(err); p.Code != "quota-exceeded" {
			t.Fatalf("%v is %s", err, p.Code)
		}
		if _, err := live.RemoveAvailability(t.Context(), "0xbeef"); !errors.Is(err, capacity.ErrUnknownAvailability) {
			t.Fatal(err)
		}
		if _, err := live.Sale(t.Context(), "0xbeef"); !errors.Is(err, problem.ErrUnknownSale) {
			t.Fatal(err)
		}
		kill()
		if _, err := live.Status(t.Context()); !errors.Is(err, actors.ErrStopped) {
			t.Fatal(err)
		}
		if _, err := live.AddAvailability(t.Context(), offer()); !errors.Is(err, actors.ErrStopped) {
			t.Fatal(err)
		}
	})
}

func TestAnOfferMustEndInTheMarketsFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _, _ := running(t)
		refused := func(err error) {
			t.Helper()
			if p := rows.All().Explain(err); p.Code != "availability-over" || !strings.Contains(p.Detail, "and it is 2025-06-15T15:06:40Z") {
				t.Fatalf("%v is %s", err, p.Code)
			}
		}
		over := offer()
		over.Until = head.Time // By the machine's clock, which is in the year 2000, this is in the future.
		_, err := live.AddAvailability(t.Context(), over)
		refused(err)
		over.Until = over.Until.Add(1)
		a := ask(t, func(ctx context.Context) (projections.Availability, error) { return live.AddAvailability(ctx, over) })
		_, err = live.SetAvailability(t.Context(), a.ID, api.Changes{Until: &head.Time})
		refused(err)
	})
}

func TestAnOfferThatIsOverIsNotSold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var host *actors.Host
		live, _, _ := runningOn(t, storetest.NewMemory(), func(cfg *api.LiveConfig) { host = cfg.Host })
		over := capacity.Create{At: time.Now(), ID: api.DrawID(), Now: capacity.Offer{
			Size: 1 << 20, Duration: time.Hour, MinPrice: events.NewAmount(1), Collateral: events.NewAmount(1),
			Enabled: true, Until: head.Time,
		}}
		if err := host.Ledger(t.Context(), over); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s := ask(t, live.Status)
		if s.Selling || s.Readiness[0].Code != "offers-over" || !strings.Contains(s.Reason, "over since 2025-06-15 15:06:40Z") {
			t.Fatalf("%+v", s)
		}
	})
}

func TestTheStatusListsAllThatIsInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, market, _ := running(t)
		market.holds(0, 0, nil)
		s := ask(t, live.Status)
		var codes []string
		for _, o := range s.Readiness {
			codes = append(codes, o.Code)
			if o.Selling != "no" || o.Proving != "yes" || o.Reason == "" || o.Hint == "" { // Nothing is hosted.
				t.Errorf("%+v", o)
			}
		}
		if diff := cmp.Diff([]string{"no-gas", "nothing-offered", "no-tokens"}, codes); diff != "" {
			t.Fatal(diff)
		}
		if s.Reason != s.Readiness[0].Reason || s.Hint != s.Readiness[0].Hint || s.NotProving {
			t.Fatalf("%+v", s)
		}
	})
}
