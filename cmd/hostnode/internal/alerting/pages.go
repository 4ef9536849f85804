package alerting

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	view "github.com/hostnode/hostnode/projections/alert"
)

// This file has the page of alerts.

// Pages are those of alerts.
func Pages() []page.Page {
	return []page.Page{{
		Path: "alerts", Title: "Alerts", Menu: page.MenuHost, Show: show,
		Orders: map[string]page.Order{
			"acknowledge": {Done: "It is recorded that you know of it.", Do: doAcknowledge},
			"mute":        {Done: "These alerts are recorded, and not delivered until the mute ends.", Do: doMute},
			"unmute":      {Done: "These alerts are delivered again.", Do: doUnmute},
			"test":        {Done: "The channel has taken the test.", Do: doTest},
		},
	}}
}

func show(ctx context.Context, q *page.Asked) (v page.View, err error) {
	all, err := List.Ask(ctx, q.Backend, q.Then())
	if err != nil {
		return v, err
	}
	v.AsOf = all.AsOf
	open, next := page.Some(q, "open", Worst(all.Open))
	n := page.Notices{Head: page.Head{ID: "open"}, Well: "No alert is open."}
	for _, a := range open {
		n.Each = append(n.Each, withForms(q, a))
	}
	v.Add(n)
	if next != nil {
		v.Add(page.Words{Head: page.Head{ID: "open-more"}, Links: []page.Link{*next}})
	}
	if len(all.Open) > 1 {
		v.Add(page.Form{
			Head: page.Head{ID: "acknowledge-all", Title: "Acknowledge all"},
			Do:   "acknowledge", Button: "Acknowledge all",
			Fields: []page.Field{{
				Name: "note", Label: "What you know", Value: typedFor(q, "note", 0), Required: true,
			}},
			Confirm: fmt.Sprintf("I know of all %d open alerts", len(all.Open)),
		})
	}
	v.Add(mutes(q, all), muteForm(q), channels(all), cleared(q, all))
	return v, nil
}

// Worst are alerts in the order in which a person should look at them: first those that nobody has acknowledged or
// muted, and among these the critical ones, and the oldest.
func Worst(open []view.Alert) []view.Alert {
	open = slices.Clone(open)
	slices.SortStableFunc(open, func(a, b view.Alert) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Since.Compare(b.Since))
	})
	return open
}

func rank(a view.Alert) (r int) {
	if a.Severity != health.SeverityCritical {
		r++
	}
	if a.Muted || !a.Acknowledged.IsZero() {
		r += 2
	}
	return r
}

// Notice is an open alert as pages show it.
func Notice(q *page.Asked, a view.Alert) page.Notice {
	n := page.Notice{Level: page.Bad, Text: q.Token.Told(a.Text), Since: a.Since, Do: q.Token.Told(a.Hint)}
	if a.Severity != health.SeverityCritical {
		n.Level = page.Warn
	}
	number, isSector := strings.CutPrefix(a.Subject, "sector ")
	switch kind := health.AlertKind(a.Kind); {
	case a.Slot != "":
		n.More = append(n.More, page.Link{Text: "The slot", To: page.To("sales", a.Slot)})
	case kind == health.AlertNode || kind == health.AlertNodeNear:
		n.More = append(n.More, page.Link{Text: "The node", To: page.To("nodes", a.Subject)})
	case isSector:
		n.More = append(n.More, page.Link{Text: "The sector", To: page.To("sectors", number)})
	case kind == health.AlertAggregation:
		n.More = append(n.More, page.Link{Text: "The queue", To: page.To("aggregation")})
	}
	return n
}

// withForms is an alert with what can be done about it.
func withForms(q *page.Asked, a view.Alert) page.Notice {
	n := Notice(q, a)
	said := []string{fmt.Sprintf("Number %d, %s%s", a.Number, a.Kind, about(a.Member, a.Subject))}
	if a.Times > 0 {
		said = append(said, fmt.Sprintf("raised again %s in other words", cli.Count(a.Times, "time")))
	}
	switch {
	case !a.Acknowledged.IsZero():
		said = append(said, fmt.Sprintf("acknowledged by %s at %s: %s", a.By, cli.Clock(a.Acknowledged), a.Note))
	case a.Muted:
		said = append(said, "muted")
	case len(a.Delivered) > 0:
		said = append(said, "delivered by "+strings.Join(a.Delivered, ", "))
	default:
		said = append(said, "not delivered to anybody yet")
	}
	n.Do = strings.TrimSpace(n.Do + "\n" + strings.Join(said, "; ") + ".")
	if !a.Muted {
		n.More = append(n.More, page.Link{Text: "Mute", To: q.With("kind", a.Kind, "subject", a.Subject) + "#mute"})
	}
	if a.Acknowledged.IsZero() {
		n.Forms = append(n.Forms, page.Form{
			Head: page.Head{ID: fmt.Sprintf("acknowledge-%d", a.Number)}, Do: "acknowledge", Button: "Acknowledge",
			Fields: []page.Field{
				page.Hidden("number", strconv.FormatUint(a.Number, 10)),
				{Name: "note", Label: "What you know", Value: typedFor(q, "note", a.Number), Required: true},
			},
		})
	}
	return n
}

// typedFor is what was typed into a field of the form about an alert, if the page is shown again because of that.
func typedFor(q *page.Asked, name string, number uint64) string {
	if q.Typed("do", "") != "acknowledge" || q.Typed("number", "0") != strconv.FormatUint(number, 10) {
		return ""
	}
	return q.Typed(name, "")
}

func doAcknowledge(ctx context.Context, q *page.Asked) error {
	number, err := strconv.ParseUint(cmp.Or(q.Get("number"), "0"), 10, 64)
	if err == nil {
		_, err = Acknowledge.Ask(ctx, q.Backend, api.Send(Acknowledgement{
			Number: number, By: q.By, Note: q.Get("note"),
		}))
	}
	return err
}

func mutes(q *page.Asked, all Recorded) page.Table {
	t := page.Table{
		Head: page.Head{ID: "mutes", Title: "Muted"}, Heads: []string{"Kind", "About", "Until", "By", "Why", ""},
		Empty: "Nothing is muted.",
	}
	some, next := page.Some(q, "mutes", all.Mutes)
	for i, m := range some {
		t.Row(page.Text(m.Kind), page.Text(cmp.Or(m.Subject, "anything")), page.At(m.Until), page.Text(m.By),
			page.Text(m.Reason), page.Cell{Form: &page.Form{
				Head: page.Head{ID: fmt.Sprintf("unmute-%d", i)}, Do: "unmute", Button: "Unmute",
				Fields: []page.Field{page.Hidden("kind", m.Kind), page.Hidden("subject", m.Subject)},
			}})
	}
	t.Next = next
	return t
}

// lengths are how long alerts are muted.
var lengths = []struct {
	text string
	long time.Duration
}{
	{"1 hour", time.Hour},
	{"4 hours", 4 * time.Hour},
	{"1 day", 24 * time.Hour},
	{"1 week", 7 * 24 * time.Hour},
	{"4 weeks", 28 * 24 * time.Hour},
}

func muteForm(q *page.Asked) page.Form {
	var kinds, long []string
	for _, k := range health.Kinds() {
		kinds = append(kinds, string(k))
	}
	for _, l := range lengths {
		long = append(long, l.text)
	}
	return page.Form{
		Head: page.Head{
			ID: "mute", Title: "Mute alerts of a kind",
			Note: "They are recorded and shown here all the same. docs/alerts.md says what each kind means.",
		},
		Do: "mute", Button: "Mute",
		Fields: []page.Field{
			{Name: "kind", Label: "Kind", Value: q.Get("kind"), Choices: kinds},
			{Name: "subject", Label: "About", Value: q.Get("subject"), Hint: "empty: anything"},
			{Name: "long", Label: "For", Value: q.Get("long"), Choices: long},
			{Name: "reason", Label: "Why", Value: q.Typed("reason", ""), Required: true},
		},
	}
}

func doMute(ctx context.Context, q *page.Asked) error {
	m := view.Mute{Kind: q.Get("kind"), Subject: q.Get("subject"), By: q.By, Reason: q.Get("reason")}
	for _, l := range lengths {
		if l.text == q.Get("long") {
			m.Until = q.Now.Add(l.long).UTC().Truncate(time.Second)
		}
	}
	_, err := Mute.Ask(ctx, q.Backend, api.Send(m)) // Without an end it is refused.
	return err
}

func doUnmute(ctx context.Context, q *page.Asked) error {
	u := Unmuting{Kind: q.Get("kind"), Subject: q.Get("subject"), By: q.By}
	_, err := Unmute.Ask(ctx, q.Backend, api.Send(u))
	return err
}

func channels(all Recorded) page.Table {
	t := page.Table{
		Head: page.Head{ID: "channels", Title: "Channels"}, Heads: []string{"Channel", "How it is", "Tried again", ""},
		Empty: "Alerts are shown here only: the settings have no alerts.command and no alerts.webhook.",
	}
	for _, c := range all.Channels {
		how := page.Stands(page.Good, "it takes what it is sent")
		if c.Failures > 0 {
			how = page.Stands(page.Bad, fmt.Sprintf("failed %s in a row: %s", cli.Count(uint64(c.Failures), "time"),
				c.Reason))
		}
		t.Row(page.Text("alerts."+c.Name), how, page.At(c.Retry), page.Cell{Form: &page.Form{
			Head: page.Head{ID: "test-" + c.Name}, Do: "test", Button: "Send a test",
			Fields: []page.Field{page.Hidden("channel", c.Name)},
		}})
	}
	return t
}

func doTest(ctx context.Context, q *page.Asked) error {
	channel := q.Get("channel")
	if channel != alerts.ChannelCommand && channel != alerts.ChannelWebhook {
		return fmt.Errorf("%w: %.40q", alerts.ErrNoChannel, channel)
	}
	_, err := Test.Ask(ctx, q.Backend, OfChannel{channel})
	return err
}

func cleared(q *page.Asked, all Recorded) page.Table {
	t := page.Table{
		Head:  page.Head{ID: "cleared", Title: "Cleared lately"},
		Heads: []string{"Number", "What", "Since", "Cleared", "Why it is over"}, Empty: "None was cleared yet.",
	}
	for _, a := range all.Cleared { // At most 100.
		what := page.Text(q.Token.Told(a.Text))
		what.Under = a.Kind + about(a.Member, a.Subject)
		why := page.Text(a.Reason)
		if a.Note != "" {
			why.Under = a.By + ": " + a.Note
		}
		t.Row(page.Number(a.Number), what, page.At(a.Since), page.At(a.Cleared), why)
	}
	return t
}
