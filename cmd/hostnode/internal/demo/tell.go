package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
)

// tell prints the summary for a person.
func (s *show) tell(ctx context.Context, of record, rows []projections.Sale, sum Summary, after events.Amount) {
	p := func(format string, args ...any) { fmt.Fprintf(s.Out, format+"\n", args...) }
	p("\n== The life of one sale, read back from the event store; in chain time and base units ==")
	s.tellTimeline(ctx, of.store, rows)
	p("\n== Proofs ==")
	s.tellProofs(rows, sum)
	p("\n== Money ==")
	s.tellMoney(rows, after)
	slot := "SLOT"
	if len(rows) > 0 {
		slot = rows[0].Slot[:10]
	}
	s.tellRest(of, saleCommands(slot)...)
	outcome := "NOT paid"
	if sum.Paid {
		outcome = "paid"
	}
	p("\n%d slots %s, %d proofs in %d periods, %d missed, in %.0f s.",
		sum.Slots, outcome, sum.ProofsSubmitted, sum.PeriodsProven, sum.ProofsMissed, sum.Seconds)
}

func (s *show) tellAudit(report audit.Report) {
	fmt.Fprintf(s.Out, "%d events in %d streams replayed: %s.\n", report.Events, report.Streams, verdict(report))
	for _, f := range report.Findings {
		fmt.Fprintf(s.Out, "  %s %s revision %d: %s\n", f.Severity, f.Stream, f.Revision, f.Sentence)
	}
}

// tellRest prints what every summary ends with.
func (s *show) tellRest(of record, looking ...string) {
	fmt.Fprintln(s.Out, "\n== Ledger of bytes ==")
	s.tellLedger(of.views)
	fmt.Fprintln(s.Out, "\n== Audit ==")
	s.tellAudit(of.report)
	fmt.Fprintln(s.Out, "\n== Where it is stored, and how to look at it ==")
	fmt.Fprintf(s.Out, "Everything is in %s (the host's log: host.log).\n", s.dir.Root)
	if url := s.Config.EventStore.URL; url != "" {
		fmt.Fprintf(s.Out, "The record is in %s.\n", esdb.Redact(url))
	}
	for _, line := range s.commands(looking...) {
		fmt.Fprintf(s.Out, "  %s\n", line)
	}
}

func saleCommands(slot string) []string {
	return []string{"hostnode sales", "hostnode sale " + slot, "hostnode availability list"}
}

// commands are shell commands that look into the data directory, and go on with it.
func (s *show) commands(looking ...string) []string {
	at := " --data-dir " + quoted(s.dir.Root)
	if store := s.Config.EventStore; store.URL != "" {
		at += " --store " + quoted(esdb.Redact(store.URL))
		if store.PasswordFile != "" {
			at += " --event-store-password-file " + quoted(store.PasswordFile)
		}
	}
	given := "" // Whatever was set for this host, it needs again.
	for _, setting := range s.Given {
		if setting.Key != "dataDir" && !strings.HasPrefix(setting.Key, "eventStore.") {
			given += " " + setting.Flag + "=" + quoted(setting.Value)
		}
	}
	var all []string
	for _, command := range append(looking, "hostnode audit") {
		all = append(all, command+at)
	}
	return append(all, "hostnode run"+at+given+"   # the host goes on from here")
}

// quoted is a word for a shell.
func quoted(s string) string {
	if strings.Trim(s, wordBytes) == "" && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// wordBytes need no quotes in a shell.
const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:@+="

func verdict(r audit.Report) string {
	if r.Clean() {
		return "clean"
	}
	return fmt.Sprintf("%d findings", len(r.Findings))
}

func (s *show) tellTimeline(ctx context.Context, store events.Store, rows []projections.Sale) {
	if len(rows) == 0 {
		fmt.Fprintln(s.Out, "No sale was begun.")
		return
	}
	line, err := projections.ReadTimeline(ctx, store, s.account, events.Must(events.ParseSlotID(rows[0].Slot)), nil)
	if err != nil {
		fmt.Fprintln(s.Out, errors.Join(errors.New("the timeline cannot be read"), err))
		return
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, m := range line.Moments {
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.At.Format("15:04:05"), m.Phase, m.Sentence)
	}
	_ = w.Flush()
}

func (s *show) tellProofs(rows []projections.Sale, sum Summary) {
	bySlot := map[uint64][]uint64{}
	for _, t := range sum.ProofTimes {
		bySlot[t.Slot] = append(bySlot[t.Slot], t.Milliseconds)
	}
	for _, row := range rows {
		times := bySlot[row.SlotIndex]
		if row.Proofs.Submitted == 0 {
			fmt.Fprintf(s.Out, "slot %d: none\n", row.SlotIndex)
			continue
		}
		fmt.Fprintf(s.Out, "slot %d: %d proofs taken, %d missed",
			row.SlotIndex, row.Proofs.Submitted, row.Proofs.Missed)
		if len(times) == 0 { // All of them were found on chain.
			fmt.Fprintln(s.Out)
			continue
		}
		total := uint64(0)
		for _, ms := range times {
			total += ms
		}
		fmt.Fprintf(s.Out, "; %d ms each on average, %d to %d ms\n",
			total/uint64(len(times)), slices.Min(times), slices.Max(times))
	}
}

func (s *show) tellMoney(rows []projections.Sale, after events.Amount) {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintf(w, "slot %d\treward %s tokens\tcollateral back %s\tgas %d in %d transactions\tfees %s coins\n",
			row.SlotIndex, amount(row.Reward), amount(row.Collateral.Returned), row.GasUsed, row.Transactions,
			decimal(events.Must(events.ParseAmount(row.FeesWei)).Big(), 9))
	}
	_ = w.Flush()
	fmt.Fprintf(s.Out, "The host held %s tokens before and %s after: %s.\n",
		tokens(s.before), tokens(after), signed(s.before, after))
}

func amount(text string) string { return tokens(events.Must(events.ParseAmount(text))) }

func (s *show) tellLedger(views *projections.Projector) {
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, l := range views.Ledgers().Ledgers {
		for _, place := range []struct {
			name  string
			bytes events.Bytes
		}{
			{"quota", l.Quota},
			{"unallocated", l.Unallocated},
			{"free in availabilities", l.Free},
			{"reserved for sales", l.Reserved},
			{"stored for sales", l.Stored},
			{"overhead", l.Overhead},
			{"sectors", l.Sectors},
			{"pieces", l.Pieces},
		} {
			if (place.name == "sectors" || place.name == "pieces") && place.bytes == 0 {
				continue
			}
			fmt.Fprintf(w, "%s\t%d bytes\t\n", place.name, place.bytes)
		}
	}
	_ = w.Flush()
}
