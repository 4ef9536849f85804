package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

// What a terminal obeys.
const (
	enter       = "\x1b[?1049h\x1b[?25l" // another screen, without a cursor
	leave       = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearToEnd  = "\x1b[K" // of the line
	clearBelow  = "\x1b[J"
	endsOnThese = "qQ\x03" // Ctrl-C is no signal while keys are told as they are pressed
)

const (
	// drawEvery is how often it is drawn if nothing is new: ages are shown in seconds.
	drawEvery = time.Second
	// breath is the least time between two readings.
	breath = 250 * time.Millisecond
	// patience is how long an answer may take before contact counts as lost.
	patience = 3 * time.Second
)

// screen is a terminal that shows a host until a key, a signal or a context ends it.
type screen struct {
	*cli.App
	client  *api.Client
	in, out *os.File
	every   time.Duration
	states  chan State
	wake    chan struct{}
	panics  chan any
}

// newScreen returns the terminal of the program; false: it has none.
func newScreen(a *cli.App, every time.Duration) (*screen, bool) {
	in, typed := a.Stdin.(*os.File)
	out, drawn := a.Stdout.(*os.File)
	return &screen{
		App: a, in: in, out: out, every: every,
		states: make(chan State), wake: make(chan struct{}, 1), panics: make(chan any, 1),
	}, typed && drawn && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// run draws until it ends. The terminal is then as it was, also after a panic.
func (s *screen) run(ctx context.Context, client *api.Client) (err error) {
	s.client = client
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before, err := term.MakeRaw(int(s.in.Fd()))
	if err != nil {
		return fmt.Errorf("have keys told as they are pressed: %w", err)
	}
	defer func() {
		_, e := io.WriteString(s.out, leave)
		err = errors.Join(err, e, term.Restore(int(s.in.Fd()), before), s.client.Close())
	}()
	_, err = io.WriteString(s.out, enter)
	for _, do := range []func(context.Context){s.read, s.listen, func(context.Context) { s.keys(); cancel() }} {
		go func() {
			defer func() {
				if p := recover(); p != nil {
					s.panics <- p // So that run ends.
				}
			}()
			do(ctx)
		}()
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	for state := (State{}); err == nil; err = s.draw(state) {
		select {
		case <-ctx.Done():
			return nil
		case p := <-s.panics:
			panic(p)
		case state = <-s.states:
		case <-resized:
		case <-time.After(drawEvery):
		}
	}
	return err
}

// read asks for the state every so often, and at once when the host records something.
func (s *screen) read(ctx context.Context) {
	for state := (State{}); ctx.Err() == nil; {
		limited, cancel := context.WithTimeout(ctx, patience)
		next, err := state.asked(limited, s.client, s.Now)
		if cancel(); err != nil {
			next, next.lost = state, err
		}
		state = next
		select {
		case s.states <- state:
		case <-ctx.Done():
		}
		pause(ctx, breath, nil)
		pause(ctx, s.every-min(s.every, breath), s.wake)
	}
}

// listen wakes the reader when the host records something, and listens again after contact was lost.
func (s *screen) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.client.Follow(ctx, func() { // The reader tells of lost contact.
			select {
			case s.wake <- struct{}{}:
			default:
			}
		})
		pause(ctx, drawEvery, nil)
	}
}

func pause(ctx context.Context, d time.Duration, woken <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-woken:
	case <-time.After(d):
	}
}

// keys returns when one is pressed that ends it.
func (s *screen) keys() {
	for pressed := make([]byte, 64); ; {
		n, err := s.in.Read(pressed)
		if err != nil || strings.ContainsAny(string(pressed[:n]), endsOnThese) {
			return
		}
	}
}

// draw draws a state over what is there.
func (s *screen) draw(state State) error {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width < 1 || height < 1 {
		width, height = 80, 24
	}
	page := frame(state, told(s.App), s.Now(), width, height)
	for i, line := range page {
		page[i] = coloured(s.NewPrinter(), line) + clearToEnd
	}
	if _, err := io.WriteString(s.out, home+strings.Join(page, "\r\n")+clearBelow); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// coloured colours the word that a line begins with.
func coloured(p *cli.Printer, line string) string {
	for word, colour := range map[string]string{
		wordCritical: cli.Red, wordNoContact: cli.Red, wordNot: cli.Red, wordWarning: cli.Yellow,
		wordSelling: cli.Green,
	} {
		if after, is := strings.CutPrefix(line, word); is {
			return p.Colour(colour, word) + after
		}
	}
	return line
}
