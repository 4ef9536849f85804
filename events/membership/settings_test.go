package membership_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
)

// given is a setting whose default is "none".
func given(key, value, source, seal string) membership.Given {
	return membership.Given{Setting: membership.Setting{Key: key, Value: value, Source: source, Seal: seal}, Default: "none"}
}

func changed(minutes int, epoch uint64, changes ...*messages.SettingChange) *messages.SettingsChanged {
	return &messages.SettingsChanged{
		At: events.TimeToMessage(after(minutes)), Epoch: epoch, Version: "1.0.0", Changes: changes,
	}
}

func TestAStartRecordsWhatDiffersInTheSettings(t *testing.T) {
	five := changed(0, 1, &messages.SettingChange{Key: "workers", Before: "none", After: "5", Source: "file"})
	hook := changed(0, 1, &messages.SettingChange{
		Key: "hook", Before: "none", After: "***", Source: "flag", Seal: "one", Hidden: true,
	})
	all := func(some ...membership.Given) []membership.Given { return some }
	for name, c := range map[string]struct {
		recorded []membership.Event
		given    []membership.Given
		want     []*messages.SettingChange
	}{
		"the first start records what is set": {
			nil, all(given("workers", "5", "file", ""), given("quota", "none", "default", "")), five.Changes,
		},
		"changes are in the order of their keys": {
			nil, all(given("workers", "5", "file", ""), given("hook", "***", "flag", "one")),
			[]*messages.SettingChange{hook.Changes[0], five.Changes[0]},
		},
		"a default that is set is recorded": {
			nil, all(given("workers", "none", "file", "")),
			[]*messages.SettingChange{{Key: "workers", Before: "none", After: "none", Source: "file"}},
		},
		"nothing is set":   {nil, all(given("workers", "none", "default", "")), nil},
		"nothing is given": {[]membership.Event{five}, nil, nil},
		"nothing has changed": {
			[]membership.Event{five, hook}, all(given("workers", "5", "file", ""), given("hook", "***", "flag", "one")), nil,
		},
		"another value": {
			[]membership.Event{five},
			all(given("workers", "6", "file", "")),
			[]*messages.SettingChange{{Key: "workers", Before: "5", After: "6", Source: "file"}},
		},
		"another source": {
			[]membership.Event{five},
			all(given("workers", "5", "environment", "")),
			[]*messages.SettingChange{{Key: "workers", Before: "5", After: "5", Source: "environment"}},
		},
		"back to the default": {
			[]membership.Event{five},
			all(given("workers", "none", "default", "")),
			[]*messages.SettingChange{{Key: "workers", Before: "5", After: "none", Source: "default"}},
		},
		"what is hidden differs": {
			[]membership.Event{hook},
			all(given("hook", "***", "flag", "two")),
			[]*messages.SettingChange{{
				Key: "hook", Before: "***", After: "***", Source: "flag", Seal: "two", Hidden: true,
			}},
		},
		"only the source of what is hidden differs": {
			[]membership.Event{hook},
			all(given("hook", "***", "file", "one")),
			[]*messages.SettingChange{{Key: "hook", Before: "***", After: "***", Source: "file", Seal: "one"}},
		},
		"the program has no such setting any more": {
			[]membership.Event{five},
			all(given("quota", "none", "default", "")),
			[]*messages.SettingChange{{Key: "workers", Before: "5"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fold(append(append([]membership.Event{started(0, 1, "")}, c.recorded...), started(1, 2, ""))...)
			var want *messages.SettingsChanged
			if c.want != nil {
				want = changed(1, 2, c.want...)
			}
			got := membership.ChangeSettings(s, 2, c.given, after(1))
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachMemberHasItsSettings(t *testing.T) {
	five := []membership.Given{given("workers", "5", "file", "")}
	s := fold(started(0, 1, "north"))
	s = membership.Evolve(s, membership.ChangeSettings(s, 1, five, after(0)))
	before := s
	s = membership.Evolve(s, started(1, 2, "south"))
	if e := membership.ChangeSettings(s, 2, five, after(1)); len(e.GetChanges()) != 1 {
		t.Fatalf("south's first start records %v", e)
	}
	s = membership.Evolve(s, started(2, 3, "north"))
	if e := membership.ChangeSettings(s, 3, five, after(2)); e != nil {
		t.Fatalf("north has the settings that it had, and records %v", e)
	}
	if e := membership.ChangeSettings(s, 1, five, after(2)); e != nil {
		t.Fatalf("a process that was replaced records %v", e)
	}
	if p, _ := before.Process("north"); len(p.Settings) != 1 {
		t.Fatalf("a later event changed an earlier state: %+v", p)
	}
}

// TestRecordedSettingsAreThoseOfTheLastStart starts again and again with settings drawn at random: what is folded is
// what was given and is not the default, and a second look changes nothing.
func TestRecordedSettingsAreThoseOfTheLastStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s membership.State
		for epoch := uint64(1); epoch <= 5; epoch++ {
			var all []membership.Given
			var want []membership.Setting
			for n := range 4 {
				one := given(fmt.Sprint("key", n), "none", membership.SourceDefault, "")
				switch rapid.SampledFrom([]string{"default", "set", "absent"}).Draw(t, "setting") {
				case "absent":
					continue
				case "set":
					one.Value = rapid.SampledFrom([]string{"none", "", "1", "2"}).Draw(t, "value")
					one.Source = rapid.SampledFrom([]string{"file", "flag"}).Draw(t, "source")
					one.Seal = rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "seal")
					want = append(want, one.Setting)
				}
				all = append(all, one)
			}
			s = membership.Evolve(s, started(int(epoch), epoch, ""))
			had := s.Processes[0].Settings
			if len(all) == 0 {
				want = had
			}
			if e := membership.ChangeSettings(s, epoch, all, after(int(epoch))); e != nil {
				s = membership.Evolve(s, e)
			}
			if got := s.Processes[0].Settings; len(got) != len(want) || len(want) > 0 && !cmp.Equal(got, want) {
				t.Fatalf("recorded %+v, want %+v", got, want)
			}
			if e := membership.ChangeSettings(s, epoch, all, after(int(epoch))); e != nil {
				t.Fatalf("a repetition records %v", e)
			}
		}
	})
}
