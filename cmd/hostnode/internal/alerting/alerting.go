// Package alerting is what a host is asked and told about its alerts: the questions and orders of the API, the commands
// that use them, and the room in which alerts are recorded and delivered until they are taken. It is a row in
// cmd/hostnode/internal/machines. How an alert is delivered is told in cmd/hostnode/internal/alerts, and what becomes
// of it in events/alert.
package alerting

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	room "github.com/hostnode/hostnode/actors/alerts"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/alert"
	view "github.com/hostnode/hostnode/projections/alert"
)

// Ordering is who takes orders about alerts: the room of a running host. It sets the time of the command itself, and
// returns when what was decided is durable. Errors are those of the core. It is safe for concurrent use.
type Ordering interface {
	Order(ctx context.Context, order room.Order) (room.Answer, error)
	// Try delivers an alert that says that it is a test by a channel of this process, and returns what was answered.
	Try(ctx context.Context, channel string) (answer string, err error)
}

// API is what the machine answers.
func API() api.Machine {
	return api.Machine{
		Calls: []api.Route{List, Acknowledge, Mute, Unmute, Test},
		Reads: func(r api.Reading) any { return reader{r} },
	}
}

// The calls.
var (
	List = api.Question("alerts/record", "Alerts that are open, the newest that are cleared, mutes and channels",
		reader.list)
	Acknowledge = api.Order(http.MethodPost, "alerts/acknowledge", "Say that a person knows of an alert, or of all",
		func(to Ordering, ctx context.Context, q api.Sent[Acknowledgement]) (room.Answer, error) {
			return to.Order(ctx, room.Order{Acknowledge: &core.Acknowledge{
				Number: q.Body.Number, By: q.Body.By, Note: q.Body.Note,
			}})
		})
	Mute = api.Order(http.MethodPost, "alerts/mute", "Have alerts of a kind not delivered for a while",
		func(to Ordering, ctx context.Context, q api.Sent[view.Mute]) (none room.Answer, err error) {
			if !health.AlertKind(q.Body.Kind).Known() {
				return none, fmt.Errorf("%w: there are no alerts of kind %.50q; docs/alerts.md has the kinds",
					problem.ErrBadRequest, q.Body.Kind)
			}
			return to.Order(ctx, room.Order{Mute: &core.SetMute{Mute: q.Body}})
		})
	Unmute = api.Order(http.MethodPost, "alerts/unmute", "Have alerts of a kind delivered again",
		func(to Ordering, ctx context.Context, q api.Sent[Unmuting]) (room.Answer, error) {
			return to.Order(ctx, room.Order{Unmute: &core.Unmute{
				Kind: q.Body.Kind, Subject: q.Body.Subject, By: q.Body.By,
			}})
		})
	Test = api.Order(http.MethodPost, "alerts/test/{channel}", "Send a test by a channel of the member that is asked",
		func(to Ordering, ctx context.Context, q OfChannel) (Tested, error) {
			answer, err := to.Try(ctx, q.Channel)
			if err != nil && !errors.Is(err, alerts.ErrNoChannel) {
				err = fmt.Errorf("%w: %w", alerts.ErrNotTaken, err)
			}
			return Tested{answer}, err
		})
)

type (
	// Acknowledgement says that a person knows of an alert; Number 0: of all that are open.
	Acknowledgement struct {
		Number uint64 `json:"number"`
		By     string `json:"by"`
		Note   string `json:"note"`
	}
	// Unmuting ends a mute.
	Unmuting struct {
		Kind    string `json:"kind"`
		Subject string `json:"subject,omitempty"`
		By      string `json:"by"`
	}
	// OfChannel names a channel: command, webhook.
	OfChannel struct {
		Channel string `path:"channel"`
	}
	// Tested is what a channel has answered to a test.
	Tested struct {
		Answer string `json:"answer"`
	}
	// Recorded are the alerts of the record.
	Recorded struct {
		AsOf api.AsOf `json:"asOf"`
		view.Alerts
	}
)

// reader answers questions from the record.
type reader struct{ api.Reading }

func (r reader) list(context.Context, api.Then) (Recorded, error) {
	out := Recorded{AsOf: r.AsOf, Alerts: view.Alerts{
		Open: []view.Alert{}, Cleared: []view.Alert{}, Mutes: []view.Mute{}, Channels: []view.Channel{},
	}}
	for _, row := range api.RowsOf[view.Alerts](r.Reading, events.CategoryAlert) {
		out.Alerts = row
	}
	return out, nil
}

// told is an alert of the record as channels get it.
func told(a core.Alert, host events.Address) health.Alert {
	return health.Alert{
		Kind: health.AlertKind(a.Kind), At: a.Since, Host: host.String(), Severity: a.Severity.String(),
		Member: a.Member, Subject: a.Subject, Slot: a.Slot, Period: a.Period, Text: a.Text, Hint: a.Hint,
		Cleared: a.Cleared, Reason: a.Reason, Number: a.Number,
	}
}

// kindTest is the kind of tests.
const kindTest health.AlertKind = "test"

// tested is the alert of a test.
func tested(host events.Address, member string, now time.Time) health.Alert {
	return health.Alert{
		Kind: kindTest, At: now, Host: host.String(), Severity: health.SeverityWarning, Member: member,
		Text: "this is a test of a channel of alerts, and nothing is wrong", Hint: "nothing is to be done",
	}
}
