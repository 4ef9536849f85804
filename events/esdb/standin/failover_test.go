package standin_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	client "github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/esdb/standin"
	"github.com/hostnode/hostnode/events/storetest"
)

// calm is how long a leader lives: after a session that ended at once, a new one is sought more
// slowly.
const calm = 1200 * time.Millisecond

// again is after how long the official client is called again.
const again = 10 * time.Millisecond

// appender appends the n-th event of its stream, and returns when it is acknowledged.
type appender func(ctx context.Context, n int) error

// ours is this package with its defaults, as a host has it.
func ours(b *testing.B, url string) appender {
	s, err := esdb.Open(b.Context(), esdb.Config{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return func(ctx context.Context, n int) error {
		_, err := s.Append(ctx, "ours-1", events.ExpectNext(uint64(n)), []events.NewEvent{numbered(n)})
		return err
	}
}

// numbered is the n-th event.
func numbered(n int) events.NewEvent {
	return events.NewEvent{ID: events.NewEventID("failover", "", n), Type: "written", Data: fmt.Appendf(nil, `{"n":%d}`, n)}
}

// theirs is the official client, called again soon when a call fails, and made again when
// it has given up for good.
func theirs(b *testing.B, url string) appender {
	var c *client.Client
	connect := func() {
		conf, err := client.ParseConnectionString(url)
		if err == nil {
			conf.Logger = client.NoopLogging()
			c, err = client.NewClient(conf)
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
	}
	connect()
	return func(ctx context.Context, n int) error {
		e := numbered(n)
		o := client.AppendToStreamOptions{ExpectedRevision: client.NoStream{}}
		if n > 0 {
			o.ExpectedRevision = client.Revision(uint64(n - 1))
		}
		for ctx.Err() == nil {
			_, err := c.AppendToStream(ctx, "theirs-1", o, client.EventData{
				EventID: [16]byte(e.ID), EventType: e.Type, ContentType: client.ContentTypeJson, Data: e.Data,
			})
			if err == nil {
				return nil
			}
			if failed, ok := client.FromError(err); !ok && failed.Code() == client.ErrorCodeConnectionClosed {
				connect()
			}
			<-time.After(again)
		}
		return ctx.Err()
	}
}

// BenchmarkLeaderDies measures the time without a store after the death of a leader: from the
// end of the election to the next append. Our adapter is compared with the official client, on
// the same cluster and at the same deaths.
func BenchmarkLeaderDies(b *testing.B) {
	for _, election := range []time.Duration{0, time.Second, 4 * time.Second} {
		b.Run(fmt.Sprint("election=", election), func(b *testing.B) {
			c := standin.New(b, storetest.NewMemory(), 3)
			both := []appender{ours(b, c.URL()), theirs(b, c.URL())}
			var without [2][]time.Duration
			n, leader := 0, 0
			next := func() (at [2]time.Time) {
				done := make(chan error, 2)
				for i, appends := range both {
					go func() {
						err := appends(b.Context(), n)
						at[i] = time.Now()
						done <- err
					}()
				}
				for range both {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
				n++
				return at
			}
			for b.Loop() {
				for quiet := time.Now().Add(calm); time.Now().Before(quiet); {
					next()
				}
				c.Elect(false)
				c.Kill(leader)
				dead := leader
				leader = (leader + 1) % 3
				chosen := make(chan time.Time, 1)
				time.AfterFunc(election, func() {
					c.Lead(leader)
					chosen <- time.Now()
				})
				at := next()
				began := <-chosen
				for i := range both {
					without[i] = append(without[i], at[i].Sub(began))
				}
				c.Start(dead)
			}
			var whole [2]float64 // with the election, as a host has it
			for i, who := range []string{"ours", "official"} {
				slices.Sort(without[i])
				median, most := without[i][len(without[i])/2], without[i][len(without[i])-1]
				b.ReportMetric(float64(median.Milliseconds()), who+"-ms")
				b.ReportMetric(float64(most.Milliseconds()), who+"-most-ms")
				whole[i] = float64(election + median)
			}
			b.ReportMetric(whole[0]/whole[1], "ours/official")
		})
	}
}
