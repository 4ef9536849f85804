// Package top is hostnode top: how a host is, live in a terminal. It is a client of the API and knows nothing else.
// Start reading here: State is what is shown and how it is asked for; frame (frame.go) makes the lines of it, and is
// pure; the screen (screen.go) draws them whenever something is new.
package top

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerting"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

const (
	// keptEvents is how many of the newest events are kept for the lower part of the screen.
	keptEvents = 50
	// onceWidth and onceHeight are those of the one frame that is printed where no terminal is drawn on.
	onceWidth, onceHeight = 80, 60
	// leastEvery keeps a typo from asking a host all the time. With mostEvery and patience together, lost contact is
	// said within 5 seconds.
	leastEvery, mostEvery = 100 * time.Millisecond, 2 * time.Second
)

// State is what is shown. Its parts are asked for one after the other, so they may be as of moments that are apart.
type State struct {
	Read     time.Time         `json:"read"` // by this machine's clock; zero: nothing was answered yet
	Status   api.Status        `json:"status"`
	Alerts   alerting.Recorded `json:"alerts"`
	Duties   api.Duties        `json:"duties"`
	Earnings api.Earnings      `json:"earnings"`
	Members  api.Members       `json:"members"`
	Events   []api.Event       `json:"events"` // the newest, the oldest first, without their data

	after   events.Position // up to where events were read
	lost    error           // why nothing is answered; nil: something is
	missing error           // the last of what the host refused to tell; nil: nothing
}

// Command is hostnode top.
func Command(a *cli.App) *cobra.Command {
	once, every := false, time.Second
	cmd := &cobra.Command{
		Use: "top", Short: "Show how the host is, live: what is wrong first", Args: cobra.NoArgs,
		Long: "Show how the host is, live in a terminal: what is wrong first, since when and what to do, then\n" +
			"space, money, sales, what is owed next, members and the newest events. It is drawn anew when\n" +
			"the host records something, and every second. q or Ctrl-C ends it. Without a terminal, or\n" +
			"with --once or --json, it is printed once.",
	}
	cmd.Flags().BoolVar(&once, "once", false, "print it once, also without a running host")
	cmd.Flags().DurationVar(&every, "every", every, "how `long` to wait before asking again, if nothing is recorded")
	printed := cli.Asking(a, cli.Look, func(ctx context.Context, b api.Backend, _ []string) (State, error) {
		return State{}.asked(ctx, b, a.Now)
	}, func(p *cli.Printer, s State) error {
		for _, line := range frame(s, told(a), p.Now, onceWidth, onceHeight) {
			p.Line("%s", line)
		}
		return p.End(s.Status.AsOf)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if every < leastEvery || every > mostEvery {
			return fmt.Errorf("%w: --every %s; allowed: %s to %s", cli.ErrUsage, every, leastEvery, mostEvery)
		}
		s, drawn := newScreen(a, every)
		if !drawn || once || a.JSON {
			return printed(cmd, args)
		}
		c, err := a.Settings(cmd)
		if err != nil {
			return err
		}
		return s.run(cmd.Context(), api.NewClient(datadir.At(c.DataDir).Socket()))
	}
	return cmd
}

// told makes a text what people read: without secrets, and with amounts in tokens.
func told(a *cli.App) func(string) string {
	token := a.Shown()
	return func(text string) string { return token.Told(events.HideSecrets(text, a.Secrets)) }
}

// asked is the State as it is now, if b has an answer.
func (s State) asked(ctx context.Context, b api.Backend, now func() time.Time) (next State, err error) {
	next = s
	if next.Status, err = api.ShowStatus.Ask(ctx, b, api.Then{}); err != nil {
		return s, err
	}
	next.Read, next.lost, next.missing = now(), nil, nil
	at := next.Status.AsOf.Position
	if next.after == 0 || next.after > at { // Or it is another record.
		next.Events, next.after = nil, at-min(at, keptEvents)
	}
	var some api.Events
	err = errors.Join(
		ask(ctx, b, &next, api.ListRecord, api.RecordQuestion{After: next.after, Limit: api.MaxPage}, &some),
		ask(ctx, b, &next, alerting.List, api.Then{}, &next.Alerts),
		ask(ctx, b, &next, api.ListDuties, api.DutiesQuestion{Paging: api.Paging{Limit: api.MaxPage}, Ahead: 2},
			&next.Duties),
		ask(ctx, b, &next, api.ShowEarnings, api.Then{}, &next.Earnings),
		ask(ctx, b, &next, api.ListMembers, api.Then{}, &next.Members),
	)
	for _, e := range some.Events {
		e.Data = nil
		next.Events, next.after = append(slices.Clip(next.Events), e), e.Position
	}
	next.Events = next.Events[max(0, len(next.Events)-keptEvents):]
	return next, err
}

// ask makes a call. What the host refuses to tell, as while it starts, is missing, and no error: it answers.
func ask[R, Q, A any](ctx context.Context, b api.Backend, s *State, call api.Call[R, Q, A], q Q, to *A) error {
	answer, err := call.Ask(ctx, b, q)
	if refused, is := errors.AsType[*problem.Problem](err); is {
		s.missing = refused
		return nil
	}
	*to = answer
	return err
}
