package wire

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

func TestACallWhoseClientTakesNothingIsEndedAndOneThatIsSlowOrIdleIsNot(t *testing.T) {
	const limit = time.Minute
	for _, c := range []struct {
		name  string
		takes time.Duration // How long the client needs for a message; 0 for ever.
		every time.Duration // How often there is one.
		ended time.Duration // After how long the call is ended; 0 for never.
	}{
		{"takes nothing", 0, time.Second, time.Second + limit},
		{"is slow", limit - time.Second, time.Second, 0},
		{"is idle", time.Millisecond, 10 * limit, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Server{cfg: Config{Limits: Limits{StalledFor: limit, BusyTime: 2 * limit}, Log: silent()}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				ss := &fakeStream{ctx: ctx, send: func(any) error {
					if c.takes == 0 {
						<-ctx.Done()
						return ctx.Err()
					}
					time.Sleep(c.takes)
					return nil
				}}
				out := &outlet{}
				begun := time.Now()
				err := s.supervise(ctx, out, ending{}, func(ctx context.Context) error {
					for ctx.Err() == nil {
						time.Sleep(c.every)
						if err := out.send(ss, nil); err != nil {
							return err
						}
					}
					return ctx.Err()
				})
				lasted := time.Since(begun)
				if c.ended == 0 {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Fatalf("ended after %v with %v", lasted, err)
					}
					return
				}
				if status.Code(err) != codes.Aborted || lasted < c.ended || lasted > c.ended+limit/2 {
					t.Fatalf("ended after %v with %v, want Aborted after %v", lasted, err, c.ended)
				}
				cancel() // As grpc does when the call has returned.
				s.workers.Wait()
			})
		})
	}
}

func TestAReaderThatTakesALargeAnswerSlowlyIsNotEndedWhileOthersWait(t *testing.T) {
	const busy = 30 * time.Second
	for _, c := range []struct {
		name  string
		takes time.Duration // How long the client needs for a megabyte of the answer.
		ended bool
	}{
		{"slowly", busy/4 - time.Second, false},
		{"not at all", time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Server{
					cfg:     Config{Limits: Limits{StalledFor: time.Hour, BusyTime: busy}, Log: silent()},
					leaving: &budget{limit: 64 << 20, line: []*waiter{{bytes: 65 << 20}}}, // A caller waits.
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ss := &fakeStream{ctx: ctx, send: func(m any) error {
					data, err := newCodec().Marshal(m)
					if err != nil {
						return err
					}
					for _, piece := range data {
						for range max(1, piece.Len()>>20) {
							select {
							case <-time.After(c.takes):
							case <-ctx.Done():
								err = ctx.Err()
							}
						}
						piece.Free()
					}
					return err
				}}
				answer, out := make(encoded, events.MaxEventBytes), &outlet{}
				err := s.supervise(ctx, out, ending{}, func(ctx context.Context) error {
					if err := s.leaving.try(events.MaxEventBytes); err != nil {
						return err
					}
					err := out.sendLarge(ss, answer, s.leaving, events.MaxEventBytes)
					return errors.Join(err, out.flush(ctx))
				})
				if c.ended != (status.Code(err) == codes.Aborted) || !c.ended && err != nil {
					t.Errorf("the call ended with %v", err)
				}
				if held, _ := s.leaving.taken(); !c.ended && held != 0 {
					t.Errorf("%d bytes are held after the answer was taken", held)
				}
				cancel() // As grpc does when the call has returned.
				s.workers.Wait()
			})
		})
	}
}

// away is a store whose server comes and goes.
type away struct {
	events.Store
	gone bool
}

func (a *away) Wait(ctx context.Context, after events.Position) error {
	if a.gone {
		return events.ErrAway
	}
	return a.Store.Wait(ctx, after)
}

func TestFollowersOfAStoreThatIsAwayAreToldAndLaterOnesServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &away{Store: storetest.NewMemory(), gone: true}
		defer store.Close()
		ctx, cancel := context.WithCancel(t.Context())
		tail := newTail(store)
		first, unfollow := tail.follow("a-1")
		defer unfollow()
		done := make(chan struct{})
		go func() {
			defer close(done)
			tail.run(ctx)
		}()
		synctest.Wait()
		<-first.wake // It begins with waking everybody.
		if err := first.wait(ctx); !errors.Is(err, events.ErrAway) {
			t.Fatalf("a follower was told %v, want that the store is away", err)
		}
		store.gone = false
		second, unfollowSecond := tail.follow("a-1")
		defer unfollowSecond()
		time.Sleep(2 * tailPause)
		<-second.wake
		_, err := store.Append(ctx, "a-1", events.Any(), []events.NewEvent{{ID: events.EventID{1}, Type: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := second.wait(ctx); err != nil {
			t.Fatalf("a later follower was told %v, want to be woken", err)
		}
		cancel()
		<-done
	})
}

func TestTheTailWakesOnlyThoseWhomAnEventConcerns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		defer store.Close()
		ctx, cancel := context.WithCancel(t.Context())
		tail := newTail(store)
		all := map[string]*follower{}
		for _, stream := range []string{"a-1", "a-2", "b-1", "$ce-a", "$ce-b", "$et-x", "$et-y", "$bc-c", "$streams", "$all"} {
			f, unfollow := tail.follow(stream)
			defer unfollow()
			all[stream] = f
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			tail.run(ctx)
		}()
		synctest.Wait()
		for _, f := range all {
			<-f.wake
		}
		for n, want := range []map[string]bool{
			{"a-1": true, "$ce-a": true, "$et-x": true, "$bc-c": true, "$streams": true, "$all": true},
			{"a-1": true, "$ce-a": true, "$et-x": true, "$bc-c": true, "$all": true}, // Its stream is known now.
		} {
			_, err := store.Append(ctx, "a-1", events.Any(), []events.NewEvent{
				{ID: events.EventID{byte(n + 1)}, Type: "x", Meta: events.Metadata{Correlation: "c"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for stream, f := range all {
				woken := len(f.wake) == 1
				if woken != want[stream] {
					t.Errorf("event %d: the follower of %s was woken: %t", n, stream, woken)
				}
				if woken {
					<-f.wake
				}
			}
		}
		cancel()
		<-done
	})
}

func TestAPanicInACallIsAnErrorOfTheCall(t *testing.T) {
	s := unserved(t, nil)
	info := &grpc.UnaryServerInfo{FullMethod: "/x/y"}
	_, err := s.unary(t.Context(), nil, info, func(context.Context, any) (any, error) { panic("boom") })
	if status.Code(err) != codes.Internal {
		t.Errorf("a unary call gave %v", err)
	}
	ss := &fakeStream{ctx: t.Context()}
	err = s.stream(nil, ss, &grpc.StreamServerInfo{}, func(any, grpc.ServerStream) error { panic("boom") })
	if status.Code(err) != codes.Internal {
		t.Errorf("a stream gave %v", err)
	}
	err = s.supervise(t.Context(), &outlet{}, ending{}, func(context.Context) error { panic("boom") })
	if status.Code(err) != codes.Internal {
		t.Errorf("a supervised call gave %v", err)
	}
	if n := s.Stats().Streams; n != 0 {
		t.Errorf("%d calls are still counted", n)
	}
}

// silent is a log that nobody reads.
func silent() *logrus.Entry { return logrus.NewEntry(&logrus.Logger{Out: io.Discard}) }
