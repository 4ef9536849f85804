package rpc

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
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
