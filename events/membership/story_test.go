package membership_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
)

// TestStories runs the scripts in testdata. A line is what a process does, and how many minutes
// after the beginning; below it is what follows. A process asks before it starts and before it takes
// a term.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var s membership.State
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "show" {
				return show(s)
			}
			e, says := act(t, d, s)
			if e != nil {
				s = membership.Evolve(s, e)
			}
			return says + "\n"
		})
	})
}

func act(t *testing.T, d *datadriven.TestData, s membership.State) (membership.Event, string) {
	var minutes int
	var member, node string
	d.ScanArgs(t, "at", &minutes)
	d.MaybeScanArgs(t, "member", &member)
	d.MaybeScanArgs(t, "node", &node)
	name, at := events.Member(member), after(minutes)
	p, _ := s.Process(name)
	switch d.Cmd {
	case "start":
		used := d.HasArg("used")
		starting := membership.Starting{Member: name, Node: node, UsedDirectory: used}
		if err := membership.MayStart(s, starting, at); err != nil {
			return nil, "error: " + err.Error()
		}
		e := started(minutes, s.Epoch+1, member)
		e.Node, e.HostLedger = node, membership.HoldsHostLedger(s, name, used)
		return e, fmt.Sprintf("start %d, ledger %s", e.GetEpoch(), ledger(name, e.GetHostLedger()))
	case "beat":
		return beat(minutes, p.Epoch), fmt.Sprintf("start %d lives", p.Epoch)
	case "stop":
		return stopped(minutes, p.Epoch), fmt.Sprintf("start %d has stopped", p.Epoch)
	case "take":
		e := membership.TakeTerm(s, p.Epoch, name, at)
		if e == nil {
			return nil, "it has the term"
		}
		return e, fmt.Sprintf("term %d", e.GetTerm())
	case "give-back":
		return &messages.TermEnded{At: events.TimeToMessage(at), Epoch: p.Epoch, Term: s.Term.Number}, "the term has ended"
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return nil, ""
}

func ledger(member events.Member, ofHost bool) string {
	if ofHost || member == "" {
		return "of the host"
	}
	return "of " + string(member)
}

func show(s membership.State) string {
	var b strings.Builder
	since := func(t time.Time) string { return fmt.Sprintf("%d min", int(t.Sub(began).Minutes())) }
	for _, p := range s.Processes {
		name := string(p.Member)
		if name == "" {
			name = "one process"
		}
		fmt.Fprintf(&b, "%s: start %d at %s on %q, heard at %s", name, p.Epoch, since(p.Since), p.Node, since(p.Heard))
		switch {
		case membership.Replaced(s, p.Epoch, p.Member):
			b.WriteString(", replaced")
		case !p.Stopped.IsZero():
			fmt.Fprintf(&b, ", stopped at %s", since(p.Stopped))
		}
		b.WriteString("\n")
	}
	if term, lasts := membership.Owner(s); lasts {
		fmt.Fprintf(&b, "term %d: %s since %s\n", term.Number, term.Member, since(term.Since))
	} else {
		b.WriteString("nobody has the term\n")
	}
	return b.String()
}
