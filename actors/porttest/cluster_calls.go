package porttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/events"
)

func answered(t *testing.T, w ClusterWorld) {
	for _, m := range w.Members {
		w.echo(m)
	}
	var all sync.WaitGroup
	for _, from := range w.Members {
		for _, to := range w.Members {
			for n := range 10 {
				all.Go(func() {
					got, err := w.Of(from).Call(w.soonContext(t), to, fmt.Append(nil, n))
					if want := fmt.Sprintf("%s asks %s: %d", from, to, n); err != nil || string(got) != want {
						t.Errorf("answered with %q, %v; want %q", got, err, want)
					}
				})
			}
		}
	}
	all.Wait()
	w.ask(t, w.Members[0], w.Members[1], "") // An empty question is one, too.
}

func errorOfTheOther(t *testing.T, w ClusterWorld) {
	a, b := w.Members[0], w.Members[1]
	for _, m := range []events.Member{a, b} {
		w.Of(m).Serve(func(_ context.Context, _ events.Member, question []byte) ([]byte, error) {
			return nil, fmt.Errorf("%s: no such slot", question)
		})
	}
	for _, to := range []events.Member{a, b} {
		_, err := w.Of(a).Call(w.soonContext(t), to, []byte("sell"))
		other, ok := errors.AsType[*events.MemberError](err)
		if !ok || other.Member != to || other.Text != "sell: no such slot" || errors.Is(err, events.ErrMemberAway) {
			t.Fatalf("an error of %s arrives as %#v", to, err)
		}
	}
}

func away(t *testing.T, w ClusterWorld) {
	a, b, c := w.Members[0], w.Members[1], w.Members[2]
	call := func(to events.Member) error {
		ctx, cancel := context.WithTimeout(t.Context(), w.Lease)
		defer cancel()
		_, err := w.Of(a).Call(ctx, to, []byte("hello"))
		return err
	}
	if err := call("nobody"); !errors.Is(err, events.ErrMemberAway) {
		t.Fatalf("asking a member that does not exist: %v", err)
	}
	for _, to := range []events.Member{a, b} {
		if err := call(to); !errors.Is(err, events.ErrMemberAway) {
			t.Fatalf("asking %s, which does not serve yet: %v", to, err)
		}
	}
	w.echo(c)
	w.ask(t, a, c, "hello")
	w.Kill(c)
	if err := call(c); !errors.Is(err, events.ErrMemberAway) {
		t.Fatalf("asking a member that died just now: %v", err)
	}
	w.sees(t, a, a, b)
	if err := call(c); !errors.Is(err, events.ErrMemberAway) {
		t.Fatalf("asking a member that is dead: %v", err)
	}
}

func givenUp(t *testing.T, w ClusterWorld) {
	a, b := w.Members[0], w.Members[1]
	w.echo(b)
	w.ask(t, a, b, "hello") // The way to b exists: what is given up below was asked.
	ended := make(chan error, 2)
	for _, m := range []events.Member{a, b} {
		w.Of(m).Serve(func(ctx context.Context, _ events.Member, _ []byte) ([]byte, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return []byte("too late"), nil
		})
	}
	for _, to := range []events.Member{a, b} {
		ctx, cancel := context.WithTimeout(t.Context(), w.Lease/4)
		_, err := w.Of(a).Call(ctx, to, []byte("hello"))
		cancel()
		if !errors.Is(err, events.ErrMemberAway) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a question to %s that was given up: %v", to, err)
		}
		select {
		case <-ended:
		case <-w.soonContext(t).Done():
			t.Fatalf("%s still works at what nobody waits for", to)
		}
	}
}

func askedTwice(t *testing.T, w ClusterWorld) {
	a, b := w.Members[0], w.Members[1]
	w.echo(b)
	w.ask(t, a, b, "hello")
	w.ask(t, a, b, "hello")
}

func slowAnswer(t *testing.T, w ClusterWorld) {
	a, b, c := w.Members[0], w.Members[1], w.Members[2]
	const slow = 20
	begun, release := make(chan struct{}, slow), make(chan struct{})
	w.Of(b).Serve(func(ctx context.Context, from events.Member, question []byte) ([]byte, error) {
		if string(question) == "slow" {
			begun <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return fmt.Appendf(nil, "%s asks %s: %s", from, b, question), nil
	})
	var all sync.WaitGroup
	for range slow {
		all.Go(func() {
			if _, err := w.Of(a).Call(w.soonContext(t), b, []byte("slow")); err != nil {
				t.Errorf("a slow answer: %v", err)
			}
		})
	}
	for range slow {
		<-begun
	}
	w.ask(t, a, b, "fast")
	w.ask(t, c, b, "fast")
	w.ask(t, b, b, "fast")
	close(release)
	all.Wait()
}

func answeredWhileCutOff(t *testing.T, w ClusterWorld) {
	a, b, c := w.Members[0], w.Members[1], w.Members[2]
	for _, m := range w.Members {
		w.echo(m)
		w.sees(t, m, w.Members...)
	}
	held := w.campaign(t, a)
	for _, m := range w.Members {
		w.Cut(m)
	}
	w.ask(t, a, b, "hello")
	w.ends(held, t)
	w.ask(t, b, c, "hello, nobody says that you live")
	w.ask(t, c, a, "nor that you do")
	for _, m := range w.Members {
		w.Heal(m)
	}
	w.campaign(t, b)
	for _, m := range w.Members {
		w.sees(t, m, w.Members...)
	}
}

func largest(t *testing.T, w ClusterWorld) {
	a, b := w.Members[0], w.Members[1]
	for _, m := range []events.Member{a, b} {
		w.Of(m).Serve(func(_ context.Context, _ events.Member, question []byte) ([]byte, error) {
			if string(question) == "more" {
				return make([]byte, w.Largest+1), nil
			}
			return question, nil
		})
	}
	for _, to := range []events.Member{a, b} {
		question := []byte(strings.Repeat("x", w.Largest))
		got, err := w.Of(a).Call(w.soonContext(t), to, question)
		if err != nil || len(got) != w.Largest {
			t.Fatalf("the largest question to %s: %d bytes, %v", to, len(got), err)
		}
		if _, err := w.Of(a).Call(w.soonContext(t), to, append(question, 'x')); err == nil ||
			errors.Is(err, events.ErrMemberAway) {
			t.Fatalf("a question to %s that is too large: %v", to, err)
		}
		if _, err := w.Of(a).Call(w.soonContext(t), to, []byte("more")); err == nil ||
			errors.Is(err, events.ErrMemberAway) {
			t.Fatalf("an answer of %s that is too large: %v", to, err)
		}
	}
}
