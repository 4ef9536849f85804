//go:build !race

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
)

// hostnodeLink is the program as a file: this test, by the name with which it is the program.
func hostnodeLink(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "hostnode")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// asked runs a command of an operator and returns what it says.
func asked(t *testing.T, binary string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("hostnode %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// sameForAll demands that each member says the same of the whole host.
func sameForAll(t *testing.T, binary string, env, dirs []string) {
	t.Helper()
	for command, field := range map[string]string{"sales": "slotId", "members": "member"} {
		var said []string
		for _, dir := range dirs {
			var all any
			text := asked(t, binary, env, command, "--json", "--data-dir", dir)
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				t.Errorf("%s --json: %v: %s", command, err, text)
			}
			said = append(said, strings.Join(slices.Sorted(maps.Keys(values(all, field))), " "))
		}
		if distinct := slices.Compact(slices.Clone(said)); len(distinct) != 1 || distinct[0] == "" {
			t.Errorf("%s: the members say %q", command, said)
		}
	}
}

// values are those of a field, wherever it is.
func values(in any, field string) map[string]bool {
	all := map[string]bool{}
	switch in := in.(type) {
	case map[string]any:
		if name, ok := in[field].(string); ok {
			all[name] = true
		}
		for _, v := range in {
			maps.Copy(all, values(v, field))
		}
	case []any:
		for _, v := range in {
			maps.Copy(all, values(v, field))
		}
	}
	return all
}

// Two processes are a host; the owner is killed, and comes back. Chain time waits for them, so that a slow machine
// misses nothing.
func TestAHostOfTwoMembersIsPaidAlthoughItsOwnerIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole demonstration")
	}
	c := config.Default()
	c.DataDir, c.Prover.KeysDir = t.TempDir(), t.TempDir()
	c.Prover.Samples, c.Prover.MaxDepth = 1, 12
	binary := hostnodeLink(t)
	out, looks := &strings.Builder{}, 0
	sum, err := demo.RunMembers(t.Context(), demo.MemberOptions{
		Options: demo.Options{Config: c, Slots: 3, Periods: 3, Crash: true, Binary: binary, Out: out},
		Members: 2, Patient: true,
		Look: func(env, dirs []string) {
			looks++
			sameForAll(t, binary, env, dirs)
		},
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(sum.Terms) < 2 {
		t.Fatalf("terms %v\n%s", sum.Terms, out)
	}
	without := sum.Terms[1].From.Sub(sum.Terms[0].To).Seconds() // As the table at the end says.
	if says := fmt.Sprintf("%s, %.1f s after ", sum.Terms[1].Member, without); !strings.Contains(out.String(), says) {
		t.Errorf("it does not say %q", says)
	}
	for _, odd := range []string{"does not take their events", "of a slot that it does not sell"} {
		if strings.Contains(out.String(), odd) {
			t.Errorf("a member warns: %s", odd)
		}
	}
	owners := map[string]bool{}
	for _, term := range sum.Terms {
		owners[term.Member] = true
	}
	// What the killed one sends beside the new owner, when it is back, is in its own outbox (docs/cluster.md).
	beside := strings.Count(out.String(), "the record has no mined transaction")
	if !sum.Paid || sum.AuditFindings != beside || sum.Kills != 1 || len(owners) != 2 || len(sum.SlotsOf) != 3 || looks != 2 {
		t.Errorf("%+v, looked %d times\n%s", sum, looks, out)
	}
}
