package slotqueue

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hostnode/hostnode/events"
)

// TestStories runs the scripts in testdata. A line is a command and its arguments; below it are
// the events that follow, or the error. Requests are one byte, times are distances from the
// start.
func TestStories(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range scripts {
		s := New(Limits{MaxItems: 4})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "show" {
				return show(s)
			}
			out, err := Decide(s, command(t, d))
			if err != nil {
				return fmt.Sprintf("error: %v\n", err)
			}
			for _, e := range out {
				s = Evolve(s, e)
			}
			if err := s.Check(); err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			if len(out) == 0 {
				return "nothing follows\n"
			}
			return tellAll(out) + "\n"
		})
	}
}

func show(s State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "queued: %s\n", order(s))
	for _, w := range Next(s) {
		fmt.Fprintf(&b, "work on %02x/%d", w.RequestID[0], w.SlotIndex)
		if m := w.Member; m != "" {
			fmt.Fprintf(&b, " by %s", m)
		}
		b.WriteString("\n")
	}
	if reason, _, paused := s.Paused(); paused {
		fmt.Fprintf(&b, "paused: %s\n", reason)
	}
	for _, r := range s.Refused("") {
		fmt.Fprintf(&b, "refused: %02x/%v, %s: %s\n", r.RequestID[0], r.SlotIndices, r.Criterion, r.Reason)
	}
	return b.String()
}

func command(t *testing.T, d *datadriven.TestData) Command {
	var (
		id, revision, profit uint64 = 0, 0, 1
		collateral, dataset  uint64 = 1, 1
		workers              uint64 = 2
		slots                []uint64
		reason, criterion    string
		expiry               = "1h"
	)
	for name, into := range map[string]any{
		"request": &id, "revision": &revision, "profit": &profit, "collateral": &collateral,
		"dataset": &dataset, "workers": &workers, "slots": &slots, "reason": &reason,
		"criterion": &criterion, "expiry": &expiry,
	} {
		d.MaybeScanArgs(t, name, into)
	}
	after, err := time.ParseDuration(expiry)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	switch d.Cmd {
	case "queue":
		c := Queue{
			At: start, RequestID: request(byte(id)), SlotIndices: slots, MarketRevision: revision,
			Terms: Terms{
				SlotSize: 1, DatasetSize: events.Bytes(dataset), Profitability: amount(profit),
				Collateral: amount(collateral), Expiry: start.Add(after), Repair: d.HasArg("repair"),
			},
		}
		if criterion != "" {
			c.Refusal = &Refusal{criterion, reason}
		}
		return c
	case "take":
		return Take{start, int(workers)}
	case "release":
		return Release{At: start, RequestID: request(byte(id)), SlotIndex: slots[0], Outcome: reason, Requeue: d.HasArg("requeue"), Criterion: criterion}
	case "hand-out":
		var balance, unpaid uint64
		member := events.Member("")
		d.ScanArgs(t, "balance", &balance)
		d.ScanArgs(t, "member", (*string)(&member))
		d.MaybeScanArgs(t, "unpaid", &unpaid)
		return HandOut{
			start, request(byte(id)), slots[0], member, amount(collateral), []Unpaid{{request(0xff), 0, amount(unpaid)}}, amount(balance),
		}
	case "remove":
		return Remove{start, request(byte(id)), slots, reason, revision}
	case "wake":
		return Wake{At: start, Reason: reason}
	case "pause":
		return Pause{start, reason}
	case "resume":
		return Resume{start, reason}
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return nil
}
