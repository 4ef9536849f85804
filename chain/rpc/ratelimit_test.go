package rpc

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/nodetest"
)

var errTooMany = errors.New("429 Too Many Requests")

func quiet() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// limits is a rateLimit after so many complaints, each at the first request after the pause.
func limits(t *testing.T, complaints int, header string) (r *rateLimit, left time.Duration) {
	t.Helper()
	r = &rateLimit{}
	for range complaints {
		time.Sleep(time.Until(r.until))
		if err := r.left(); err != nil {
			t.Fatalf("not asked again: %v", err)
		}
		r.note(http.Header{"Retry-After": {header}})
		if err := r.observe(newEndpoint("http://node"), errTooMany, 15*time.Second, quiet()); !IsTooOften(err) || IsAnswer(err) {
			t.Fatalf("said %v", err)
		}
	}
	limited, _ := errors.AsType[*limitedError](r.left())
	return r, limited.left
}

func TestNodeThatIsAskedTooOftenIsLeftAloneAsLongAsItDemands(t *testing.T) {
	for name, tc := range map[string]struct {
		complaints int
		header     string
		want       time.Duration
	}{
		"it demands seconds":          {1, "7", 7 * time.Second},
		"it demands a time":           {1, "Sat, 01 Jan 2000 00:00:09 GMT", 9 * time.Second},
		"it demands a day":            {1, "86400", time.Minute},
		"it demands nothing":          {1, "", 250 * time.Millisecond},
		"it demands nonsense":         {1, "soon", 250 * time.Millisecond},
		"it demands too little again": {3, "0", time.Second},
		"it goes on and on":           {9, "", 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, left := limits(t, tc.complaints, tc.header)
				if left != tc.want {
					t.Fatalf("left alone for %s, want %s", left, tc.want)
				}
				// Complaints about requests that were under way do not make it longer.
				_ = r.observe(newEndpoint("http://node"), errTooMany, 15*time.Second, quiet())
				if again, _ := errors.AsType[*limitedError](r.left()); again.left != left {
					t.Fatalf("left alone for %s, then for %s", left, again.left)
				}
				time.Sleep(left)
				if err := r.left(); err != nil {
					t.Fatalf("it is not asked again: %v", err)
				}
			})
		})
	}
}

func TestPauseGrowsShorterWhenTheNodeAnswersInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, left := limits(t, 5, "")
		time.Sleep(left)
		_ = r.observe(newEndpoint("http://node"), nil, 15*time.Second, quiet())
		_ = r.observe(newEndpoint("http://node"), errTooMany, 15*time.Second, quiet())
		if again, _ := errors.AsType[*limitedError](r.left()); again.left != left/2 {
			t.Fatalf("the next pause is %s, after one of %s", again.left, left)
		}
	})
}

func TestRetryAfterIsReadFromTheAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Retry-After", "5")
		out.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	e := newEndpoint(server.URL)
	answer, err := (&http.Client{Transport: e}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if e.limit.demanded != 5*time.Second {
		t.Fatalf("%s demanded", e.limit.demanded)
	}
}

// A node that limits requests answers, and nobody says that it does not: neither while its identity is asked for
// again, nor while it is left alone after that, nor in the status.
func TestANodeThatLimitsRequestsIsNeverSaidToBeSilent(t *testing.T) {
	for name, lose := range map[string]func(c *Conn, l *Session){
		"its identity is asked for again":     func(c *Conn, _ *Session) { c.checked = time.Time{} },
		"its connection is doubted":           func(_ *Conn, l *Session) { l.doubted.Store(true) },
		"its connection is made again":        func(c *Conn, l *Session) { c.LeaveSilent(l) },
		"its connection broke, when it began": func(c *Conn, l *Session) { c.drop(l, &limitedError{said: "429"}) },
	} {
		t.Run(name, func(t *testing.T) {
			var limits atomic.Bool
			node := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
				if limits.Load() {
					http.Error(out, "slow down", http.StatusTooManyRequests)
					return
				}
				nodetest.Serve(out, in, identified, nil)
			}))
			defer node.Close()
			c := New(Config{
				Endpoints: []string{node.URL}, LongestWait: time.Minute, CallTimeout: time.Minute, Log: quiet(),
			}, common.Address{1})
			defer c.Close()
			l, err := c.Current(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			limits.Store(true)
			lose(c, l)
			for range 3 {
				if _, err := c.Current(t.Context()); !IsTooOften(err) || !errors.Is(err, ErrUnavailable) {
					t.Fatalf("it is said: %v", err)
				}
			}
			if now := c.Reachability(); !now.Away.IsZero() && !now.Limited {
				t.Errorf("the status is %+v", now)
			}
		})
	}
}

// identified is what a node answers to the questions about its identity.
func identified(r nodetest.Request) nodetest.Answer {
	switch r.Method {
	case "eth_getBlockByNumber":
		return r.Returns(fmt.Sprintf(`{"number":"0x0","timestamp":"0x1","hash":"%s","parentHash":"%s"}`,
			common.Hash{1}, common.Hash{}))
	case "eth_getCode":
		return r.Returns(`"0x60"`)
	}
	return r.Returns(`"0x1"`)
}
