package aggregation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/aggregation"
	"github.com/hostnode/hostnode/projections/machine"
	"github.com/hostnode/hostnode/prover/commd"
)

// audited is what the judges say of a record; each of them is saved and loaded before the event with that number.
func audited(t *testing.T, all []said, saved int) (found []string) {
	t.Helper()
	rows, judges, ledger := map[string]machine.Machine{}, map[string]machine.Judge{}, capacity.New()
	for _, m := range aggregation.Machines() {
		rows[m.Category] = m
	}
	find := func(rule, format string, args ...any) { found = append(found, rule+": "+fmt.Sprintf(format, args...)) }
	others := machine.Others{
		Host: me, Find: find,
		State: func(stream string) (any, bool) {
			if j := judges[stream]; j != nil {
				return j.State(), true
			}
			return nil, true
		},
		Held: func(cid string) (events.Bytes, bool) { return ledger.PieceBytes(cid), true },
	}
	for n, e := range all {
		for stream, j := range judges {
			if n == saved {
				judges[stream] = rows[events.Category(stream)].Judge()
				reload(t, j.State(), judges[stream].State())
			}
		}
		if c, ok := e.m.(capacity.Event); ok {
			ledger = capacity.Evolve(ledger, c)
			continue
		}
		m := rows[events.Category(e.stream)]
		if judges[e.stream] == nil {
			judges[e.stream] = m.Judge()
		}
		if !judges[e.stream].Judge(e.m, find) {
			t.Fatalf("%T is no event of %s", e.m, e.stream)
		}
		if m.Join != nil {
			m.Join(judges[e.stream].State(), e.m, others)
		}
	}
	stream := events.CargoStream(me)
	rows[events.CategoryCargo].Join(judges[stream].State(), nil, others)
	return found
}

func TestNothingIsFoundWheneverTheAuditIsSaved(t *testing.T) {
	all := history(t)
	for n := -1; n < len(all); n += 7 {
		if found := audited(t, all, n); len(found) > 0 {
			t.Fatalf("saved after %d events: %q", n, found)
		}
	}
}

// of is the nth event of a type, from 0.
func of[M proto.Message](t *testing.T, all []said, nth int) (m M, at int) {
	t.Helper()
	for i, e := range all {
		if own, ok := e.m.(M); ok {
			if nth--; nth < 0 {
				return own, i
			}
		}
	}
	t.Fatal("the history has no such event")
	return m, at
}

// aggregatesOf are the aggregates of a record, in the order in which they were made.
func aggregatesOf(all []said) (made []*messages.AggregateMade) {
	for _, one := range all {
		if e, ok := one.m.(*messages.AggregateMade); ok {
			made = append(made, e)
		}
	}
	return made
}

// Each plants one error into a record that is in order. The audit finds it, and nothing before it.
func TestAnErrorInARecordIsFound(t *testing.T) {
	at := events.TimeToMessage(events.Unix(1_700_100_000))
	ledger := events.CargoStream(me)
	add := func(stream string, m proto.Message) func(*testing.T, []said) []said {
		return func(_ *testing.T, all []said) []said { return append(all, said{stream, m}) }
	}
	made := aggregatesOf(history(t))
	cid := func(n int) string {
		if n > len(made) { // None of this record.
			return commd.CID(commd.Node{byte(n)})
		}
		return made[n-1].GetAggregate()
	}
	deal := func(n int) string { return events.DealStream(me, cid(n)) }
	for name, c := range map[string]struct {
		plant func(*testing.T, []said) []said
		rule  string
	}{
		"the priorities descend": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.PieceQueued](t, all, 14)
			e.Priority = 1
			return all
		}, "cargo-queued"},
		"a refused piece is queued again": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.PieceQueued](t, all, 1)
			again := proto.CloneOf(e)
			again.Priority = 16
			return append(all, said{ledger, again})
		}, "cargo-queued"},
		"a piece is in two aggregates": {add(ledger, &messages.FerryLoaded{
			At: at, Ferry: "x", Class: 1 << 20, Pieces: []uint64{9, 10}, Part: 1, Parts: 1, Full: true,
		}), "cargo-list"},
		"a refused piece travels": {add(ledger, &messages.FerryLoaded{
			At: at, Ferry: "x", Class: 1 << 20, Pieces: []uint64{2}, Part: 1, Parts: 1,
		}), "cargo-list"},
		"a piece that nobody queued travels": {add(ledger, &messages.FerryLoaded{
			At: at, Ferry: "x", Class: 1 << 20, Pieces: []uint64{99}, Part: 1, Parts: 1, Full: true,
		}), "cargo-list"},
		"a list has another CID": {add(ledger, &messages.FerryLoaded{
			At: at, Ferry: "x", Class: 1 << 20, Pieces: []uint64{9}, Part: 1, Parts: 1,
		}), "cargo-list"},
		"a list is too large for its class": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.FerryLoaded](t, all, 0)
			e.Class = 1 << 17
			return all
		}, "cargo-list"},
		"a rejected list travels again": {func(t *testing.T, all []said) []said {
			_, i := of[*messages.FerryLoaded](t, all, 4)
			one, _ := of[*messages.FerryLoaded](t, all, 2)
			two, _ := of[*messages.FerryLoaded](t, all, 3)
			return slices.Replace(all, i, i+1, said{ledger, one}, said{ledger, two})
		}, "cargo-list"},
		"ferries make another list": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.FerriesMerged](t, all, 0)
			e.Ferry = "x"
			return all
		}, "cargo-list"},
		"ferries are merged into a class too small": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.FerriesMerged](t, all, 0)
			e.Class = 1 << 19
			return all
		}, "cargo-list"},
		"a list becomes two aggregates": {func(t *testing.T, all []said) []said {
			e, i := of[*messages.AggregateMade](t, all, 0)
			again := proto.CloneOf(e)
			again.Aggregate = cid(99)
			return slices.Insert(all, i+1, said{ledger, again})
		}, "cargo-made"},
		"an aggregate is approved after it was rejected": {
			add(ledger, &messages.AggregateApproved{At: at, Aggregate: cid(1)}), "cargo-outcome",
		},
		"a bad piece is of another aggregate": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.AggregateRejected](t, all, 0)
			e.Bad = []uint64{7}
			return all
		}, "cargo-outcome"},
		"a piece of an aggregate is refused alone": {
			add(ledger, &messages.PieceRefused{At: at, Priority: 12, Reason: "x"}), "cargo-outcome",
		},
		"a copy is released twice": {
			add(ledger, &messages.CopiesReleased{At: at, Pieces: []uint64{2}}), "cargo-release",
		},
		"a copy is released that is needed": {
			add(ledger, &messages.CopiesReleased{At: at, Pieces: []uint64{1, 7}}), "cargo-release",
		},
		"proofs are released of an aggregate that is offered": {
			add(ledger, &messages.CopiesReleased{At: at, Proofs: []string{cid(5)}}), "cargo-release",
		},
		"an aggregate is approved without its deal": {
			add(ledger, &messages.AggregateApproved{At: at, Aggregate: cid(5)}), "cargo-deal",
		},
		"an aggregate is approved whose deal is rejected": {func(t *testing.T, all []said) []said {
			_, i := of[*messages.AggregateRejected](t, all, 3)
			return slices.Replace(all, i, i+1, said{ledger, &messages.AggregateApproved{At: at, Aggregate: cid(7)}})
		}, "cargo-deal"},
		"another piece is refused than the deal names": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.DealRejected](t, all, 0)
			e.Bad = []string{commd.CID(commd.Node{1})}
			return all
		}, "cargo-deal"},
		"a piece that the deal names is queued again": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.DealRejected](t, all, 0)
			e.Bad = append(e.Bad, commd.CID(commd.Node{1}))
			return all
		}, "cargo-deal"},
		"a piece is queued that its content does not make": {add(ledger, &messages.PieceQueued{
			At: at, Priority: 16, Piece: commd.CID(commd.Node{99}), Size: 128, Payload: 100, Content: events.ContentLink{19}.String(),
		}), "cargo-content"},
		"a copy has no bytes in the ledger": {
			add(events.CapacityStream(me), &messages.PieceSpaceReleased{
				At: at, Cid: commd.CID(commd.Node{9}), Bytes: commd.PayloadRoom(128 << 10),
			}), "cargo-held",
		},
		"proofs have no bytes in the ledger": {
			add(events.CapacityStream(me), &messages.PieceSpaceReleased{
				At: at, Cid: made[4].GetProofs(), Bytes: made[4].GetProofsSize(),
			}),
			"cargo-held",
		},
		"an aggregate is not what its pieces make": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.AggregateMade](t, all, 6)
			e.Aggregate = commd.CID(commd.Node{99})
			return all
		}, "cargo-commitment"},
		"the proofs are others": {func(t *testing.T, all []said) []said {
			e, _ := of[*messages.AggregateMade](t, all, 3)
			e.ProofsSize--
			return all
		}, "cargo-commitment"},
		"a deal is approved after it was rejected": {add(deal(1), &messages.DealApproved{At: at, Deal: "17"}), "deal-step"},
		"a deal is approved that was never signed": {add(deal(5), &messages.DealApproved{At: at, Deal: "20"}), "deal-step"},
		"a deal is offered twice":                  {add(deal(5), &messages.DealOffered{At: at, Broker: "http", Size: 1 << 20}), "deal-step"},
		"a deal that nobody offered":               {add(deal(4), &messages.DealSigned{At: at, Deal: "20"}), "deal-step"},
		"a part of a list is missing": {
			add(deal(5), &messages.DealRejected{At: at, Bad: []string{cid(1)}, Part: 2, Parts: 2}), "deal-step",
		},
		"a CAR is accepted that is refused": {
			add(events.ContentStream(me, events.ContentLink{17}), &messages.ContentAccepted{At: at, Piece: cid(9), PieceSize: 128}),
			"content-step",
		},
		"a CAR that nobody requested": {
			add(events.ContentStream(me, events.ContentLink{77}), &messages.ContentAccepted{At: at, Piece: cid(9), PieceSize: 128}),
			"content-step",
		},
		"a source twice": {
			add(events.ContentStream(me, events.ContentLink{16}), &messages.ContentSourceAdded{
				At: at, Source: &messages.ContentSource{Key: "/cars/b.car", BucketUrl: "file:"},
			}), "content-step",
		},
		"a CAR is read once more without end": {
			add(events.ContentStream(me, events.ContentLink{19}), &messages.ContentRetried{At: at, By: "anna"}), "content-step",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := audited(t, c.plant(t, history(t)), -1)
			if len(found) == 0 || !strings.HasPrefix(found[0], c.rule+": ") {
				t.Errorf("found %q, want first one of %s", found, c.rule)
			}
		})
	}
}

// The ledger that a broken record folds to has a piece in two aggregates, which is found at the end, too.
func TestAPieceInTwoAggregatesIsFoundAtTheEnd(t *testing.T) {
	all := append(history(t), said{events.CargoStream(me), &messages.FerryLoaded{
		At: events.TimeToMessage(events.Unix(1_700_100_000)), Ferry: "x", Class: 1 << 20, Pieces: []uint64{1, 9}, Part: 1,
		Parts: 1, Full: true,
	}})
	if found := strings.Join(audited(t, all, -1), "\n"); !strings.Contains(found, "cargo-place: ") {
		t.Errorf("found %s", found)
	}
}
