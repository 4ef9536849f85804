package exits

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/audit"
)

// purses are the balances of everybody who may gain or lose, by name.
type purses struct {
	at   time.Time // chain time of the count
	held map[string]events.Amount
}

// count reads the balances of everybody named.
func (w *world) count(names ...string) purses {
	w.t.Helper()
	p := map[string]events.Amount{
		"contract": w.tokens(w.at.Marketplace), "client": w.tokens(w.client.Account()),
	}
	for _, name := range append(names, "host") {
		p[name] = w.tokens(w.account(name))
	}
	return purses{w.now(), p}
}

// changes are the differences of balances since then, without zeros.
func (w *world) changes(since purses) map[string]string {
	w.t.Helper()
	changes := map[string]string{}
	for name, before := range since.held {
		who := w.account(name)
		switch name {
		case "contract":
			who = w.at.Marketplace
		case "client":
			who = w.client.Account()
		}
		change := new(big.Int).Sub(w.tokens(who).Big(), before.Big())
		if change.Sign() != 0 {
			changes[name] = change.String()
		}
	}
	return changes
}

// seconds is what a slot earns in some time, and collateral what it demands.
func seconds(n int64) int64 { return n * int64(events.BlockSize) }

const collateral = 10 * int64(events.BlockSize)

// outcome is a row of the matrix.
type outcome struct {
	phase sale.Phase
	// slot is the slot on chain at the end.
	slot events.SlotState
	// reserved says that our reservation of the slot stays in the contract, where nobody can
	// take it back. It is checked for free slots only.
	reserved bool
	// story lists the events of the sale, beginning with the first that it names.
	story []string
}

// settles lets the sale of a slot come to its end, and compares everything that is left with
// the matrix: the ledger, the disk, the contract's list, the events, and the audit.
func (h *host) settles(c events.SlotCall, want outcome) {
	h.t.Helper()
	h.until("the sale of slot "+fmt.Sprint(c.Index)+" is settled", func() bool {
		return h.sale(c.Slot).Over()
	})
	if got := h.sale(c.Slot).Phase; got != want.phase {
		h.t.Errorf("the sale ended as %s, want %s", got, want.phase)
	}
	if got := h.names(c.Slot); !endsWith(got, want.story) {
		h.t.Errorf("the story ends (-want +got)\n%s", cmp.Diff(want.story, got))
	}
	facts, err := h.market.Slot(h.t.Context(), c.Request, c.Index)
	ok(h.t, err)
	if facts.SlotState != want.slot {
		h.t.Errorf("the slot is %s on chain, want %s", facts.SlotState, want.slot)
	}
	if facts.SlotState == events.SlotFree && facts.CanReserve == want.reserved {
		h.t.Errorf("the contract would take a reservation of ours: %t; want ours to be there: %t",
			facts.CanReserve, want.reserved)
	}
}

// moved compares the changes of all balances, by name, with those that are expected.
func (w *world) moved(since purses, want map[string]int64) {
	w.t.Helper()
	texts := map[string]string{}
	for name, n := range want {
		if n != 0 {
			texts[name] = fmt.Sprint(n)
		}
	}
	if diff := cmp.Diff(texts, w.changes(since)); diff != "" {
		w.t.Errorf("the balances changed by (-want +got)\n%s", diff)
	}
}

// earned is what a slot earns between two points of chain time.
func earned(from, to time.Time) int64 { return seconds(int64(to.Sub(from) / time.Second)) }

// nothingLeft checks what must hold when all sales of the host are settled. The audit finds
// breaches of the given rules, and no others.
func (h *host) nothingLeft(lost int64, broken ...audit.Rule) {
	h.t.Helper()
	ctx := h.t.Context()
	h.until("no sale is left", func() bool {
		living, err := actors.LivingSales(ctx, h.store, h.market.Account()) // What a start would find.
		ok(h.t, err)
		st, err := h.host.Status(ctx)
		return err == nil && len(st.Sales) == 0 && len(living) == 0
	})
	ledger, err := h.host.ViewLedger(ctx)
	ok(h.t, err)
	if ledger.Faults > 0 { // The audit below folds the stream and checks each state.
		h.t.Errorf("%d events contradict the ledger: %s", ledger.Faults, ledger.FirstFault)
	}
	want := capacity.Book{Quota: quota, Free: offerBytes, Unallocated: quota - offerBytes}
	if diff := cmp.Diff(want, ledger.Book); diff != "" {
		h.t.Errorf("the ledger (-want +got)\n%s", diff)
	}
	for _, a := range ledger.Availabilities {
		if a.ID == offerID && (a.Used != 0 || a.Reservations != 0 || !a.Committed.IsZero() ||
			a.Lost != events.NewAmount(uint64(lost))) {
			h.t.Errorf("the availability has %d bytes and %s in %d reservations, lost %s; want lost %d",
				a.Used, a.Committed, a.Reservations, a.Lost, lost)
		}
	}
	mine, err := h.market.MySlots(ctx)
	ok(h.t, err)
	if len(mine) != 0 {
		h.t.Errorf("the contract still counts %d slots as ours", len(mine))
	}
	h.emptyDisk()
	h.audit(broken...)
}

// emptyDisk checks that the directory has no file of a slot.
func (h *host) emptyDisk() {
	h.t.Helper()
	if used, err := h.repo.Usage(); err != nil || used != 0 {
		h.t.Errorf("the disk holds %d bytes of slots: %v", used, err)
	}
	root := filepath.Join(h.options.dir, "slots")
	for _, dir := range []string{"slots", "new", "trash"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && !d.IsDir() {
				h.t.Errorf("left on disk: %s", path)
			}
			return err
		})
		ok(h.t, err)
	}
}

// audit replays the record and compares it with the chain. Each of the given rules is
// broken once, and no other.
func (h *host) audit(broken ...audit.Rule) {
	h.t.Helper()
	report, err := audit.Run(h.t.Context(), h.store, audit.Options{
		Chain: func(ctx context.Context, m audit.Market) (audit.Chain, error) {
			cfg := h.w.chainConfig("nobody")
			cfg.Key, cfg.ChainID, cfg.Marketplace = nil, m.ChainID, m.Contract
			a, err := chain.DialAuditor(ctx, cfg)
			if err == nil {
				h.t.Cleanup(func() { _ = a.Close() })
			}
			return a, err
		},
	})
	ok(h.t, err)
	var found []audit.Rule
	for _, f := range report.Findings {
		found = append(found, f.Rule)
	}
	if !slices.Equal(found, broken) || !report.ChainCompared {
		h.t.Errorf("the audit (with the chain: %t) found %+v", report.ChainCompared, report.Findings)
	}
}

// sale is the state of a sale by its record.
func (h *host) sale(slot events.SlotID) sale.State {
	h.t.Helper()
	var s sale.State
	for _, e := range h.events(slot) {
		s = sale.Evolve(s, e)
	}
	return s
}

// names are the events of a sale, without those that come with every period.
func (h *host) names(slot events.SlotID) []string {
	h.t.Helper()
	var names []string
	for _, e := range h.events(slot) {
		switch e.(type) {
		case *messages.ProofDue, *messages.ProofSubmitted, *messages.ProofExcused, *messages.InitialProofOutdated:
			continue
		}
		names = append(names, nameOf(e))
	}
	return names
}

func nameOf(e messages.SaleEvent) string {
	return string(e.ProtoReflect().Descriptor().Name())
}

func endsWith(all, end []string) bool {
	return len(all) >= len(end) && slices.Equal(all[len(all)-len(end):], end)
}

// story tells what became of every sale, for a test that failed.
func (h *host) story() string {
	var b strings.Builder
	for r, err := range h.store.ReadAll(h.t.Context(), 0, 0) {
		if err != nil {
			return b.String() + err.Error()
		}
		fmt.Fprintf(&b, "%s %d %s\n", r.Stream, r.Revision, r.Type)
	}
	return b.String()
}
