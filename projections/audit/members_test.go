package audit

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

const (
	north = events.Member("north")
	south = events.Member("south")
)

// members is the record of a host of two members.
func members(t testing.TB) *record {
	t.Helper()
	store := storetest.NewMemory()
	history.New(t, store, me).Members()
	return &record{list: recorded(t, store)}
}

func TestARecordOfSeveralMembersIsClean(t *testing.T) {
	report := audited(t, members(t), Options{})
	if len(report.Findings) > 0 {
		t.Fatalf("findings: %v", report.Findings)
	}
	if report.Sales != 5 || report.SalesFinished != 3 {
		t.Errorf("%d sales, %d finished", report.Sales, report.SalesFinished)
	}
}

// by gives the n-th event of a type another epoch: in the history of members 1 is of the host before it had members,
// 2 and 4 are north's, 3 is south's.
func by(epoch uint64, name string, n int) func(*record) {
	return func(r *record) {
		r.list[r.at(name, n)].Meta.Epoch = epoch
		r.derive()
	}
}

// appends adds an event of the host at the end.
func appends(r *record, epoch uint64, e messages.HostEvent) {
	r.insert(len(r.list), hostStream, e)
	r.list[len(r.list)-1].Meta.Epoch = epoch
	r.derive()
}

// takenBack releases a slot in an epoch after it was handed out, before its sale begins. South is the owner then.
func takenBack(epoch uint64) func(*record) {
	return func(r *record) {
		i := r.at("SlotReleased", 3)
		released := r.list[i]
		released.Meta.Epoch = epoch
		r.list = slices.Insert(slices.Delete(r.list, i, i+1), r.at("SaleStarted", 3), released)
		r.renumber()
	}
}

func memberBreaches() []breach {
	host := func(epoch uint64, e messages.HostEvent) func(*record) {
		return func(r *record) { appends(r, epoch, e) }
	}
	return []breach{
		{"a start is not counted", HostEpoch, "HostStarted", host(6, &messages.HostStarted{
			Epoch: 6, ChainId: 1337, Genesis: zeros, Contract: events.Address{2}.String(), Member: "west",
		})},
		{"a replaced process has settings", HostEpoch, "SettingsChanged", host(4, &messages.SettingsChanged{Epoch: 2})},
		{"a replaced process lives", HostEpoch, "HostHeartbeat", host(4, &messages.HostHeartbeat{Epoch: 2})},
		{"the host without members lives", HostEpoch, "HostHeartbeat", host(4, &messages.HostHeartbeat{Epoch: 1})},
		{"an epoch that never started lives", HostEpoch, "HostHeartbeat", host(4, &messages.HostHeartbeat{Epoch: 9})},
		{"an epoch that never started writes", HostEpoch, "SlotHandedOut", by(9, "SlotHandedOut", -1)},
		{
			"an older process of the same member writes", EpochDecreased, "HostHeartbeat",
			host(2, &messages.HostHeartbeat{Epoch: 4}),
		},
		{"an older owner of the same member writes", EpochDecreased, "QueueResumed", func(r *record) {
			host(4, &messages.TermTaken{Epoch: 4, Term: 5, Member: "north"})(r)
			r.insert(len(r.list), queueStream, &messages.QueuePaused{})
			r.list[len(r.list)-1].Meta.Epoch = 4
			r.insert(len(r.list), queueStream, &messages.QueueResumed{})
			r.list[len(r.list)-1].Meta.Epoch = 2
			r.derive()
		}},
		{"a term is left out", TermOrder, "TermTaken", host(4, &messages.TermTaken{Epoch: 4, Term: 6, Member: "north"})},
		{"a term is taken twice", TermOrder, "TermTaken", host(4, &messages.TermTaken{Epoch: 4, Term: 4, Member: "north"})},
		{
			"a term in the name of another", TermOrder, "TermTaken",
			host(4, &messages.TermTaken{Epoch: 4, Term: 5, Member: "south"}),
		},
		{
			"a replaced process takes a term", HostEpoch, "TermTaken",
			host(4, &messages.TermTaken{Epoch: 2, Term: 5, Member: "north"}),
		},
		{"a term of another is ended", TermOrder, "TermEnded", host(4, &messages.TermEnded{Epoch: 4, Term: 4})},
		{"an older term is ended", TermOrder, "TermEnded", host(3, &messages.TermEnded{Epoch: 3, Term: 2})},
		{"a term is ended twice", TermOrder, "TermEnded", func(r *record) {
			host(3, &messages.TermEnded{Epoch: 3, Term: 4})(r)
			host(3, &messages.TermEnded{Epoch: 3, Term: 4})(r)
		}},
		{"the queue without a term", TermMissing, "SlotHandedOut", by(4, "SlotHandedOut", -1)},
		{"a transaction without a term", TermMissing, "TxMined", by(4, "TxMined", -1)},
		{"the market without a term", TermMissing, "BlocksScanned", func(r *record) {
			markets(r, zeros)
			r.remove(1)
			scanned := r.list[1]
			scanned.Meta.Epoch = 4
			r.list = append(slices.Delete(r.list, 1, 2), scanned)
			r.renumber()
		}},
		{"a validator without a term", TermMissing, "ValidationStarted", func(r *record) {
			r.insert(len(r.list), events.ValidatorStream(me), &messages.ValidationStarted{})
			last := &r.list[len(r.list)-1]
			last.Meta.Epoch, last.Meta.Cause = 4, "start"
			r.derive()
		}},
		{"a proof is not in the account's record", ProofOfMember, "ProofSubmitted", func(r *record) {
			change(r, 0, func(m *messages.ProofSubmitted) { m.Receipt.TxHash = zeros })
		}},
		{"another member's sale goes on", SaleMember, "DataLifetimeExtended", by(3, "DataLifetimeExtended", -1)},
		{"a sale begins in the name of another", SaleMember, "SaleStarted", by(3, "SaleStarted", 2)},
		{"another member writes a ledger", LedgerMember, "ReservationDeleted", by(4, "ReservationDeleted", -1)},
		{"another member writes the host's ledger", LedgerMember, "BytesReleased", by(3, "BytesReleased", -1)},
		{"the host's ledger has two members", LedgerMember, "HostStarted", host(5, &messages.HostStarted{
			Epoch: 5, ChainId: 1337, Genesis: zeros, Contract: events.Address{2}.String(), Member: "west", HostLedger: true,
		})},
		{"a member changes its ledger", LedgerMember, "HostStarted", host(5, &messages.HostStarted{
			Epoch: 5, ChainId: 1337, Genesis: zeros, Contract: events.Address{2}.String(), Member: "north",
		})},
		{"a reservation in the ledger of another", ReservationOwner, "ReservationCreated", func(r *record) {
			sold := r.list[r.at("SaleStarted", -1)].Stream
			change(r, -2, func(m *messages.SlotHandedOut) { m.Member = "south" })
			change(r, -1, func(m *messages.SaleStarted) { m.Member = "south" })
			for i := range r.list {
				if r.list[i].Stream == sold {
					r.list[i].Meta.Epoch = 3
				}
			}
			r.derive()
		}},
		{"a slot is handed out twice", QueueContradiction, "SlotHandedOut", func(r *record) {
			r.list = append(r.list, r.list[r.at("SlotHandedOut", -1)])
			r.renumber()
		}},
		{"a slot is handed out that nobody took", QueueContradiction, "SlotHandedOut", func(r *record) {
			r.remove(r.at("SlotTaken", -1))
		}},
		{"a slot is handed out to a stranger", SlotHandedOut, "SlotHandedOut", func(r *record) {
			change(r, -1, func(m *messages.SlotHandedOut) { m.Member = "west" })
		}},
		{"a sale of a slot that another has", SlotHandedOut, "SaleStarted", func(r *record) {
			change(r, 0, func(m *messages.SlotHandedOut) { m.Member = "north" })
		}},
		{"a sale of a slot that nobody has", SlotHandedOut, "SaleStarted", func(r *record) {
			r.remove(r.at("SlotHandedOut", 0))
		}},
		{"a sale of a slot that was taken back", SlotHandedOut, "SaleStarted", takenBack(3)},
		{"more is committed than was promised", CollateralPromised, "ReservationCreated", func(r *record) {
			change(r, 0, func(m *messages.SlotHandedOut) { m.Collateral = "131071" })
		}},
	}
}

func TestEachBreachOfMembersIsFoundAndNothingElse(t *testing.T) {
	for _, b := range memberBreaches() {
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) { findsOnly(t, members(t), b) })
	}
}

// What is in order, though it looks like a breach.
func TestWhatMembersMayDoIsNotFound(t *testing.T) {
	for name, forge := range map[string]func(*record){
		"a member stops while a younger process of another runs": func(r *record) {
			appends(r, 3, &messages.HostStopped{Epoch: 3})
		},
		"a member that had the term writes late": func(r *record) {
			appends(r, 3, &messages.HostHeartbeat{Epoch: 3})
			by(3, "SlotReleased", -1)(r)
		},
		"a sale begins although a deposed owner took the slot back": takenBack(2),
		"a sale that was found on chain was handed to nobody": func(r *record) {
			r.remove(r.at("SlotHandedOut", 0))
			change(r, 1, func(m *messages.SaleStarted) { m.Adopted = true })
			// The slot needs no reservation on chain then.
			r.remove(r.at("SlotReserved", 1))
		},
		"the operator drains a host that is stopped": func(r *record) {
			r.insert(len(r.list), queueStream, &messages.QueuePaused{ByOperator: true})
			r.list[len(r.list)-1].Meta.Epoch = 4
			r.derive()
		},
		"the host has no members any more": func(r *record) {
			appends(r, 5, &messages.HostStarted{
				Epoch: 5, ChainId: 1337, Genesis: zeros, Contract: events.Address{2}.String(),
			})
			i := r.at("DataLifetimeExtended", -1) // North's sale goes on.
			late := r.list[i]
			late.Meta.Epoch = 5
			r.list = append(slices.Delete(r.list, i, i+1), late)
			r.renumber()
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			r := members(t)
			forge(r)
			if report := audited(t, r, Options{}); len(report.Findings) > 0 {
				t.Fatalf("findings: %v", report.Findings)
			}
		})
	}
}

func TestAnAuditOfMembersContinuesFromAnyCheckpoint(t *testing.T) {
	whole := members(t)
	by(4, "ReservationDeleted", -1)(whole)
	by(4, "SlotHandedOut", -1)(whole)
	want := audited(t, whole, Options{})
	if len(want.Findings) != 2 {
		t.Fatalf("findings: %v", want.Findings)
	}
	for n := 1; n < len(whole.list); n += 7 {
		path := filepath.Join(t.TempDir(), "checkpoint")
		audited(t, &record{list: whole.list[:n]}, Options{Checkpoint: path})
		got := audited(t, whole, Options{Checkpoint: path})
		if got.ContinuedFrom != whole.list[n-1].Position {
			t.Fatalf("it continued from %d: %s", got.ContinuedFrom, got.CheckpointIgnored)
		}
		if diff := cmp.Diff(want.Findings, got.Findings); diff != "" {
			t.Fatalf("from event %d (-want +got):\n%s", n, diff)
		}
	}
}

func TestFilesAreComparedWithTheLedgerOfTheirMember(t *testing.T) {
	r := members(t)
	ledger := events.LedgerStream(me, south)
	r.insert(len(r.list), ledger, &messages.PieceSpaceHeld{Cid: "baga", Bytes: 10})
	r.list[len(r.list)-1].Meta.Epoch = 3
	r.derive()
	lies := func(member events.Member, bytes events.Bytes) Options {
		return Options{Files: func() (Files, error) {
			return Files{Host: me, Member: member, Pieces: map[string]events.Bytes{"baga": bytes}}, nil
		}}
	}
	if report := audited(t, r, lies(south, 10)); len(report.Findings) > 0 {
		t.Errorf("south has its file: %v", report.Findings)
	}
	for _, wrong := range []struct {
		member events.Member
		bytes  events.Bytes
		stream string
	}{{south, 11, ledger}, {north, 10, capacityStream}} {
		report := audited(t, r, lies(wrong.member, wrong.bytes))
		if len(report.Findings) != 1 || report.Findings[0].Rule != FileUnheld || report.Findings[0].Stream != wrong.stream {
			t.Errorf("%s has %d bytes: %v", wrong.member, wrong.bytes, report.Findings)
		}
	}
}
