package actors_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/checks"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// scenes has for each kind of alert what makes a real host raise it, and then what ends it, unless it is of a moment.
// raised fails the test unless there is one now.
var scenes = map[health.AlertKind]func(r *rig, raised func()){
	health.AlertProofMissed: func(r *rig, raised func()) {
		r.hosting()
		r.host.Kill()
		r.world.Mine(2 * period)
		r.start()
		r.mineUntil("it was missed", r.has("ProofMissed"))
		raised()
		proofs := r.count("ProofSubmitted")
		r.mineUntil("a later proof is taken", func() bool { return r.count("ProofSubmitted") > proofs })
	},
	health.AlertSlashed: func(r *rig, raised func()) {
		r.hosting()
		r.host.Kill()
		r.world.Mine(2 * period)
		r.start()
		r.mineUntil("the contract has taken some", r.has("CollateralSlashed"))
		raised()
	},
	health.AlertForfeited: func(r *rig, raised func()) {
		r.slash(r.hosting())
		r.start()
		r.mineUntil("it is lost", r.has("SlotForfeited"))
		raised()
	},
	health.AlertQuarantined: brokenSale,
	health.AlertNotProving:  brokenSale,
	health.AlertDamaged: func(r *rig, raised func()) {
		source := &noSource{Content: r.ports.Content}
		r.ports.Content = source
		slot := r.hosting()
		source.is.Store(true)
		r.world.Rot(slot, 2)
		r.checked(checks.Subject{Slot: slot})
		raised()
		source.is.Store(false)
		r.mineUntil("it is repaired", r.has("SlotRepaired"))
	},
	health.AlertDisk: func(r *rig, raised func()) {
		r.hosting()
		r.world.Fill(true)
		time.Sleep(time.Minute)
		raised()
		r.world.Fill(false)
		time.Sleep(time.Minute)
	},
	health.AlertDiskAway: func(r *rig, raised func()) {
		disk := &unmounted{Repo: r.ports.Repo}
		r.ports.Repo = disk
		r.hosting()
		disk.is.Store(true)
		time.Sleep(time.Minute)
		raised()
		disk.is.Store(false)
		time.Sleep(time.Minute)
	},
	health.AlertQuota: func(r *rig, raised func()) {
		r.hosting()
		r.host.Kill()
		r.cfg.Quota = 32 * events.BlockSize
		r.start()
		r.mine(3)
		raised()
		size := 16 * events.BlockSize
		r.ledger(capacity.Update{At: time.Now(), ID: events.AvailabilityID{1}, Size: &size})
		r.restart() // It is looked at when the host starts.
		r.mine(3)
	},
	health.AlertFunds: func(r *rig, raised func()) {
		r.cfg.WalletDays = 2
		holds := func(wei uint64) func(events.Balance) events.Balance {
			return func(b events.Balance) events.Balance {
				b.ProofWei, b.Wei = events.NewAmount(1), events.NewAmount(wei)
				return b
			}
		}
		p := r.purse(holds(1 << 40))
		r.hosting()
		p.set(holds(10)) // The slot needs more until its end.
		r.mine(65)
		raised()
		p.set(holds(1 << 40))
		r.mine(65)
	},
	health.AlertWorkQuarantined: func(r *rig, raised func()) {
		var broken atomic.Bool
		broken.Store(true)
		bad := longer(2, 1)
		r.cfg.Cores.DecideQueue = func(s slotqueue.State, c slotqueue.Command) ([]slotqueue.Event, error) {
			if c, ok := c.(slotqueue.Queue); ok && broken.Load() && c.RequestID == bad.ID {
				panic("a bug in the queue")
			}
			return slotqueue.Decide(s, c)
		}
		r.hosting()
		r.world.Post(bad)
		r.mineUntil("it is quarantined", r.has("WorkQuarantined"))
		raised()
		broken.Store(false)
		if err := r.host.TryAgain(r.Context(), r.subjects(shell.SubjectMarket)[0]); err != nil {
			r.Fatal(err)
		}
		r.mineUntil("it is over", r.has("QuarantineEnded"))
	},
	health.AlertPartDown: func(r *rig, raised func()) {
		var broken atomic.Bool
		r.cfg.BeforeMessage = func(name string, _ any) {
			if strings.HasPrefix(name, "SlotQueue") && broken.Load() {
				panic("planted")
			}
		}
		r.hosting()
		broken.Store(true)
		r.world.Post(longer(2, 1))
		r.mine(30)
		raised()
		broken.Store(false)
		r.mine(20 * 60) // It is started again, and has to run for a while.
	},
	health.AlertChain: func(r *rig, raised func()) {
		r.hosting()
		time.Sleep(10 * time.Minute)
		raised()
		r.mine(60)
	},
	health.AlertRecord: func(r *rig, raised func()) {
		s := r.flaky()
		r.hosting()
		s.set(refuses)
		r.world.Post(longer(2, 1)) // So that something is to be written.
		r.mine(2 * 60)
		raised()
		s.set(up)
		r.mine(2 * 60)
	},
}

// noSource repairs nothing for a while.
type noSource struct {
	port.Content
	is atomic.Bool
}

func (n *noSource) Repair(ctx context.Context, job events.DownloadJob, blocks []uint64) ([]uint64, error) {
	if n.is.Load() {
		return nil, events.ErrContentUnavailable
	}
	return n.Content.Repair(ctx, job, blocks)
}

// unmounted is a disk that is not there for a while.
type unmounted struct {
	port.Repo
	is atomic.Bool
}

func (u *unmounted) Room() (events.Bytes, error) {
	if u.is.Load() {
		return 0, events.ErrDiskAway
	}
	return u.Repo.Room()
}

// brokenSale is a sale that panics while it should prove, and is run again.
func brokenSale(r *rig, raised func()) {
	var broken atomic.Bool
	r.cfg.Cores.NextSale = func(s sale.State) []sale.Effect {
		if broken.Load() && s.Phase == sale.Proving {
			panic("a bug in the rules")
		}
		return sale.Next(s)
	}
	r.hosting()
	broken.Store(true)
	r.mine(2 * period)
	raised()
	broken.Store(false)
	r.mineUntil("it is run again", func() bool { return !slices.ContainsFunc(r.quarantined(), func(q string) bool { return q != "" }) })
	proofs := r.count("ProofSubmitted")
	r.mineUntil("it proves again, or is lost", func() bool {
		return r.count("ProofSubmitted") > proofs || r.has("SlotForfeited")()
	})
}

// otherScenes are the tests of the kinds that take another world to happen: that the alert is raised and, unless it is
// of a moment, that it ends.
var otherScenes = map[health.AlertKind][]string{
	health.AlertTakenOver:   {"owner_test.go TestAnOlderProcessEndsWhenItHearsOfANewerOne"},
	health.AlertWentBack:    {"recordloss_test.go TestAStartOnAnOlderRecordProvesAndSellsWhenItIsTold"},
	health.AlertMember:      {"memberstatus_test.go TestAMemberSaysWhoHasTheTermAndWhoIsSilent"},
	health.AlertNoOwner:     {"membersaway_test.go TestWithoutAMemberThatMayOwnEverythingWaits"},
	health.AlertCertificate: {"memberstatus_test.go TestACertificateThatEndsSoonIsToldOnceUntilItIsRenewed"},
	health.AlertSector: {
		"sectors/parked_test.go TestASectorThatLosesItsDepositUnattendedIsTold",
		"sectors/faults_test.go TestAProverThatDoesNoWorkIsToldOnce",
	},
	health.AlertNodeNear:      {"downtime/room_test.go TestANodeThatIsBackInTimeIsNotNearASuspension"},
	health.AlertNode:          {"downtime/room_test.go TestANodeThatStaysAwayIsWarnedSuspendedAndDisqualified"},
	health.AlertAggregation:   {"aggregation/room_test.go TestASilentBrokerIsToldOnce"},
	health.AlertUsedElsewhere: {nodeTold},
	health.AlertNotBelieved:   {nodeTold},
	health.AlertViews:         {nodeTold},
	health.AlertFeeLimit:      {nodeTold, sendingEnds},
	health.AlertSigner:        {nodeTold, sendingEnds},
}

const (
	nodeTold    = "../cmd/hostnode/internal/node/told_test.go TestWhatTheActorsDoNotSeeIsAnAlert"
	sendingEnds = "../cmd/hostnode/internal/alerting/room_test.go TestWhatKeepsTransactionsBackIsClearedOnceItIsOver"
)

// Each kind is raised by what really happens, as urgent as docs/alerts.md says, and ends when that is over; one of a
// moment is not ended by the host.
func TestEachKindOfAlertIsRaisedAndEndsWhereItHappens(t *testing.T) {
	for _, kind := range health.Kinds() {
		scene, here := scenes[kind]
		for _, place := range otherScenes[kind] {
			file, name, _ := strings.Cut(place, " ")
			text, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(text), "func "+name+"(") {
				t.Errorf("%s has no test %s: %v", file, name, err)
			}
		}
		if !here && len(otherScenes[kind]) == 0 {
			t.Errorf("nothing tests that an alert of kind %s is raised and ends: add a scene", kind)
		}
		if !here {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, func(r *rig) {
				told, raised := r.listen(), false
				scene(r, func() {
					r.Helper()
					raised = true
					synctest.Wait()
					all := told.of(kind)
					if len(all) == 0 || told.opened(kind) == 0 || all[0].Severity != health.SeverityOf(kind) {
						r.Fatalf("%d are open; told: %+v", told.opened(kind), told.all)
					}
				})
				synctest.Wait()
				ends := !health.OfMoment(kind) || kind == health.AlertProofMissed
				if n := told.opened(kind); !raised || (n == 0) != ends {
					r.Errorf("in the end %d are open: %+v", n, told.open)
				}
			})
		})
	}
}
