package demo

import (
	"context"
	"fmt"
	"math/big"
	"os/exec"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/projections/audit"
)

// This file is what the summaries are printed with.

// print prints a line. Cells, which end with tabs, are aligned with those of the lines around it.
func (e *engine) print(format string, args ...any) {
	fmt.Fprintln(e.text, e.client.token.Told(fmt.Sprintf(format, args...)))
}

// askAll prints what commands of an operator say of the host.
func (e *engine) askAll(ctx context.Context, commands ...[]string) error {
	for _, args := range commands {
		out, err := exec.CommandContext(ctx, e.Binary, append(args, "--data-dir", e.dir.Root)...).Output()
		if err != nil {
			return fmt.Errorf("hostnode %s: %w", strings.Join(args, " "), err)
		}
		e.print("\n== hostnode %s ==\n%s", strings.Join(args, " "), strings.TrimSpace(string(out)))
	}
	return nil
}

// printEnd prints what the summaries of a host that is one process end with.
func (e *engine) printEnd(of record, looking ...string) {
	e.print("\n== Ledger of bytes ==")
	for _, l := range of.views.Ledgers().Ledgers {
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
			if place.bytes > 0 || place.name != "sectors" && place.name != "pieces" {
				e.print("%24s%16d bytes", place.name, place.bytes)
			}
		}
	}
	e.printAudit(of.report)
	e.printWhere("the host's log: host.log", looking...)
}

// printWhere prints where the record is, and the logs, and commands that look at it.
func (e *engine) printWhere(logs string, looking ...string) {
	e.print("\n== Where it is stored, and how to look at it ==")
	e.print("Everything is in %s (%s).", e.dir.Root, logs)
	if url := e.Config.EventStore.URL; url != "" {
		e.print("The record is in %s.", esdb.Redact(url))
	}
	for _, command := range e.commands(looking...) {
		e.print("  %s", command)
	}
}

func (e *engine) printAudit(r audit.Report) {
	verdict := "clean"
	if !r.Clean() {
		verdict = fmt.Sprintf("%d findings", len(r.Findings))
	}
	e.print("\n== Audit ==\n%d events in %d streams replayed: %s.", r.Events, r.Streams, verdict)
	for _, f := range r.Findings {
		e.print("  %s %s revision %d: %s", f.Severity, f.Stream, f.Revision, f.Sentence)
	}
}

// at is where a command finds the record.
func (e *engine) at(dir string) string {
	at := " --data-dir " + quoted(dir)
	if store := e.Config.EventStore; store.URL != "" {
		at += " --store " + quoted(esdb.Redact(store.URL))
		if store.PasswordFile != "" {
			at += " --event-store-password-file " + quoted(store.PasswordFile)
		}
	}
	return at
}

// commands are shell commands that look into the data directory, and go on with it.
func (e *engine) commands(looking ...string) []string {
	at, given := e.at(e.dir.Root), "" // Whatever was set for this host, it needs again.
	for _, setting := range e.Given {
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

// base is an amount as print and say put it into tokens.
func base(a events.Amount) string { return money.Base(a.String()) }

// difference is how much more there is after than before.
func difference(before, after events.Amount) string {
	d := new(big.Int).Sub(after.Big(), before.Big())
	if d.Sign() < 0 {
		return money.Base(d.String())
	}
	return "+" + money.Base(d.String())
}
