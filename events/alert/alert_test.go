package alert_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
)

var (
	began = events.Unix(1_700_000_000)
	codec = events.NewCodec(alert.Table())
)

// told is the state after a command, and what followed from it. Each event follows from the command that it is asked
// by, a command that comes twice brings nothing the second time, and no state changes under its reader.
func told(t rapid.TB, s alert.State, c alert.Command) (alert.State, []alert.Event, error) {
	all, err := alert.Decide(s, c)
	if err != nil && len(all) > 0 {
		t.Fatalf("%v comes with %d events", err, len(all))
	}
	first, before := s, fmt.Sprintf("%+v", s)
	for _, e := range all {
		again, err := alert.Decide(s, alert.Asked(s, e))
		if err != nil || !slices.ContainsFunc(again, func(a alert.Event) bool { return proto.Equal(a, e) }) {
			t.Fatalf("%v is decided again as %v: %v", e, again, err)
		}
		s = alert.Evolve(s, stored(t, e))
	}
	if now := fmt.Sprintf("%+v", first); now != before {
		t.Fatalf("Evolve changed the state that it was given:\n%s", cmp.Diff(before, now))
	}
	if _, failed := c.(alert.Outcome); !failed && err == nil {
		if again, err := alert.Decide(s, c); err == nil && len(again) > 0 {
			t.Fatalf("%+v, once more, brings %v", c, again)
		}
	}
	return s, all, err
}

// stored is an event as it comes back from a store.
func stored(t rapid.TB, e alert.Event) alert.Event {
	name, version, data, err := codec.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	m, err := codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	if err != nil || !proto.Equal(m, e) {
		t.Fatalf("%s is stored as %v: %v", name, m, err)
	}
	return m.(alert.Event)
}

// TestStories runs the scripts in testdata. Lines are
//
//	channels NAME ...
//	raise KIND [subject=] [critical] [moment] [text=] [delivered=CHANNEL]
//	clear KIND [subject=] reason=
//	ack N|all by= note=
//	mute KIND [subject=] for=DURATION by= reason=, unmute KIND [subject=] by=
//	took CHANNEL, refused CHANNEL        what the next delivery by that channel comes to
//	after DURATION                       time passes
//	next                                 what is to be delivered
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		s, now := alert.State{}, began
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) (out string) {
			if d.Cmd == "next" {
				for _, n := range alert.Next(s) {
					out += fmt.Sprintf("%s: %s of %s, open %t, not before %s\n", n.Channel, n.Alert.Kind, n.Alert.Severity,
						n.Alert.Open(), n.NotBefore.Format(time.TimeOnly))
				}
				return out + fmt.Sprintf("%d known\n", len(s.Alerts))
			}
			if d.Cmd == "after" {
				wait, err := time.ParseDuration(d.CmdArgs[0].Key)
				if err != nil {
					t.Fatal(err)
				}
				now = now.Add(wait)
			}
			next, all, err := told(t, s, commandOf(t, s, d, now))
			if s = next; err != nil {
				return "error: " + err.Error() + "\n"
			}
			for _, e := range all {
				name, _, data, err := codec.Encode(e)
				if err != nil {
					t.Fatal(err)
				}
				out += name + " " + string(data) + "\n"
			}
			if out == "" {
				return "nothing\n"
			}
			return out
		})
	})
}

func commandOf(t *testing.T, s alert.State, d *datadriven.TestData, at time.Time) alert.Command {
	text := func(key string) (v string) {
		d.MaybeScanArgs(t, key, &v)
		return v
	}
	first := ""
	if len(d.CmdArgs) > 0 {
		first = d.CmdArgs[0].Key
	}
	key := alert.Key{Kind: first, Subject: text("subject")}
	switch d.Cmd {
	case "channels":
		c := alert.SetChannels{At: at}
		for _, arg := range d.CmdArgs {
			c.Names = append(c.Names, arg.Key)
		}
		return c
	case "raise":
		c := alert.Raise{At: at, Key: key, Text: text("text"), Severity: alert.Warning, Moment: d.HasArg("moment")}
		if d.HasArg("critical") {
			c.Severity = alert.Critical
		}
		if d.HasArg("delivered") {
			c.Delivered = []string{text("delivered")}
		}
		return c
	case "clear":
		return alert.Clear{At: at, Key: key, Reason: text("reason")}
	case "ack":
		c := alert.Acknowledge{At: at, By: text("by"), Note: text("note")}
		if first != "all" {
			_, _ = fmt.Sscan(first, &c.Number)
		}
		return c
	case "mute":
		wait, err := time.ParseDuration(text("for"))
		if err != nil {
			t.Fatal(err)
		}
		return alert.SetMute{At: at, Mute: alert.Mute{
			Kind: first, Subject: key.Subject, Until: at.Add(wait), By: text("by"), Reason: text("reason"),
		}}
	case "unmute":
		return alert.Unmute{At: at, Kind: first, Subject: key.Subject, By: text("by")}
	case "after":
		return alert.Tick{At: at}
	case "took", "refused":
		for _, n := range alert.Next(s) {
			if n.Channel == first {
				failed := ""
				if d.Cmd == "refused" {
					failed = "the answer is 500"
				}
				return n.Outcome(at, failed)
			}
		}
	}
	t.Fatalf("%s: cannot %s %s", d.Pos, d.Cmd, first)
	return nil
}

var (
	texts = rapid.SampledFrom([]string{"a", "b", "\xff", strings.Repeat("ü", 1500)})
	keys  = rapid.Custom(func(t *rapid.T) alert.Key {
		return alert.Key{Kind: texts.Draw(t, "kind"), Subject: texts.Draw(t, "subject")}
	})
	channels = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"command", "webhook"}), rapid.ID[string])
	commands = rapid.Custom(func(t *rapid.T) alert.Command {
		at := began.Add(time.Duration(rapid.IntRange(0, 20*24).Draw(t, "hour")) * time.Hour)
		text, by := texts.Draw(t, "text"), rapid.SampledFrom([]string{"", "anna"}).Draw(t, "by")
		channel := rapid.SampledFrom([]string{"command", "webhook", "other"}).Draw(t, "channel")
		number := rapid.Uint64Range(0, 6).Draw(t, "number")
		switch rapid.IntRange(0, 7).Draw(t, "command") {
		case 0:
			return alert.Raise{
				At: at, Key: keys.Draw(t, "key"), Severity: alert.Severity(rapid.IntRange(1, 2).Draw(t, "severity")), Text: text,
				Moment: rapid.Bool().Draw(t, "moment"), Delivered: channels.Draw(t, "delivered"),
			}
		case 1:
			return alert.Clear{At: at, Key: keys.Draw(t, "key"), Reason: text}
		case 2:
			return alert.Acknowledge{At: at, Number: number, By: by, Note: text}
		case 3:
			return alert.SetMute{At: at, Mute: alert.Mute{
				Kind: text, Until: began.Add(time.Duration(rapid.IntRange(0, 480).Draw(t, "until")) * time.Hour), By: by, Reason: text,
			}}
		case 4:
			return alert.Unmute{At: at, Kind: text, By: by}
		case 5:
			return alert.SetChannels{At: at, Names: channels.Draw(t, "channels")}
		case 6:
			return alert.Outcome{
				At: at, Number: number, Channel: channel, Cleared: rapid.Bool().Draw(t, "cleared"),
				Severity: alert.Severity(rapid.IntRange(0, 2).Draw(t, "severity")), Times: rapid.Uint64Range(0, 3).Draw(t, "times"),
				Failed: rapid.SampledFrom([]string{"", "500"}).Draw(t, "failed"),
			}
		default:
			return alert.Tick{At: at}
		}
	})
)

// Whatever comes in any order: of a key at most one alert is open; numbers grow; a channel that takes all that it is
// asked to take has then been told of each alert as often as it has to be, and not once more.
func anyOrder(t *rapid.T) {
	s := alert.State{}
	for range rapid.IntRange(1, 40).Draw(t, "commands") {
		was := s
		s, _, _ = told(t, s, commands.Draw(t, "command"))
		if s.Latest.Before(was.Latest) || s.Raised < was.Raised {
			t.Fatal("time or numbers went back")
		}
		open := map[alert.Key]bool{}
		for i, a := range s.Alerts {
			if open[a.Key] || i > 0 && s.Alerts[i-1].Number >= a.Number {
				t.Fatalf("%+v is there twice", a)
			}
			open[a.Key] = a.Open()
		}
	}
	for n := 0; ; n++ {
		all := alert.Next(s)
		if len(all) == 0 {
			break
		}
		if n > 4*len(s.Alerts)+200 {
			t.Fatal("deliveries do not end")
		}
		for _, d := range all {
			next, fresh, _ := told(t, s, d.Outcome(s.Latest, ""))
			if s = next; len(fresh) != 1 {
				t.Fatalf("%s is wanted, and taking it brings %v", d.Key(), fresh)
			}
		}
	}
	for _, a := range s.Alerts {
		if !a.Open() {
			t.Fatalf("%+v is kept, and nobody is to be told of it", a)
		}
	}
}

func TestAlertsInAnyOrder(t *testing.T) { rapid.Check(t, anyOrder) }
func FuzzAlerts(f *testing.F)           { f.Fuzz(rapid.MakeFuzz(anyOrder)) }

// A webhook that refuses everything for an hour is asked now and then, and each alert is taken once, with its time.
func TestAWebhookThatIsAwayForAnHourGetsEachAlertOnce(t *testing.T) {
	s, _, _ := told(t, alert.State{}, alert.SetChannels{At: began, Names: []string{"webhook"}})
	for i := range 20 {
		s, _, _ = told(t, s, alert.Raise{
			Key: alert.Key{Kind: "proof-missed", Subject: fmt.Sprint(i)}, At: began, Since: began, Severity: alert.Critical,
		})
	}
	asked, taken := 0, map[uint64]time.Time{}
	for now := began; now.Before(began.Add(3 * time.Hour)); now = now.Add(15 * time.Second) {
		for _, d := range alert.Next(s) {
			if now.Before(d.NotBefore) {
				continue
			}
			c := d.Outcome(now, "")
			if asked++; now.Before(began.Add(time.Hour)) {
				c.Failed = "the answer is 500"
			} else if taken[d.Alert.Number] = d.Alert.Since; false {
				break
			}
			s, _, _ = told(t, s, c)
		}
	}
	if len(taken) != 20 || asked > 20+10 || !taken[1].Equal(began) {
		t.Errorf("%d alerts were taken in %d tries, the first of %s", len(taken), asked, taken[1])
	}
}

// However far the clock is set back, a channel is tried at once, and then at its usual pauses.
func TestAClockThatIsSetBackDelaysNoDelivery(t *testing.T) {
	for _, back := range []time.Duration{2 * time.Hour, 24 * time.Hour, 365 * 24 * time.Hour} {
		s, _, _ := told(t, alert.State{}, alert.SetChannels{At: began, Names: []string{"webhook"}})
		s, _, _ = told(t, s, alert.Raise{Key: alert.Key{Kind: "disk-full"}, At: began, Severity: alert.Critical})
		s, _, _ = told(t, s, alert.Next(s)[0].Outcome(began, "the answer is 500"))
		var tries []time.Duration
		since := began.Add(-back)
		for now := since; now.Before(since.Add(2 * time.Minute)); now = now.Add(time.Second) {
			if d := alert.Next(s)[0]; d.Due(now) {
				tries = append(tries, now.Sub(since))
				s, _, _ = told(t, s, d.Outcome(now, "the answer is 500"))
			}
		}
		if want := []time.Duration{0, 30 * time.Second, 90 * time.Second}; !slices.Equal(tries, want) {
			t.Errorf("set back by %s it is tried after %v, want %v", back, tries, want)
		}
	}
}

// What becomes worse while a channel takes it is still to be delivered as it is now, also if that is recorded first.
func TestWhatBecomesWorseWhileItIsDeliveredIsDeliveredAgain(t *testing.T) {
	for name, worse := range map[string]alert.Raise{
		"a warning is critical": {Severity: alert.Critical, Text: "it burns"},
		"it happened once more": {Severity: alert.Warning, Text: "again", Moment: true},
		"both":                  {Severity: alert.Critical, Text: "again", Moment: true},
	} {
		s, _, _ := told(t, alert.State{}, alert.SetChannels{At: began, Names: []string{"webhook"}})
		s, _, _ = told(t, s, alert.Raise{At: began, Severity: alert.Warning, Text: "smoke", Moment: worse.Moment})
		delivered := alert.Next(s)[0]
		worse.At = began
		s, _, _ = told(t, s, worse)
		s, _, _ = told(t, s, delivered.Outcome(began, ""))
		all := alert.Next(s)
		if len(all) != 1 || all[0].Alert.Text != worse.Text || all[0].Key() == delivered.Key() {
			t.Errorf("%s: to be delivered is %+v", name, all)
		}
	}
}

func TestMalformedEventsAreNotRead(t *testing.T) {
	for name, data := range map[string]string{
		"AlertRaised":    `{"at":"2026-11-20T08:00:00Z","number":"1","severity":"orange"}`,
		"AlertCleared":   `{"at":"2026-11-20T08:00:00Z"}`,
		"AlertDelivered": `{"number":"1","channel":"webhook"}`,
	} {
		_, err := codec.Decode(events.Recorded{Type: name, Data: []byte(data), Meta: events.Metadata{Version: 1}})
		if !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s %s: %v", name, data, err)
		}
	}
}
