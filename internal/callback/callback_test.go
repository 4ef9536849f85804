package callback_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/internal/callback"
)

type said struct{ About string }

// call calls a handler, and returns the status of its answer.
func call(h http.Handler, method, authorization, body string) int {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, "/", strings.NewReader(body))
	r.Header.Set("Authorization", authorization)
	h.ServeHTTP(w, r)
	return w.Code
}

func TestCallbacksThatAreTakenAndRefused(t *testing.T) {
	for name, c := range map[string]struct {
		token, method, authorization, body string
		want                               int
	}{
		"one that is taken":      {"secret", "POST", "Bearer secret", `{"About":"x"}`, 204},
		"what means nothing":     {"secret", "POST", "Bearer secret", `{}`, 400},
		"another token":          {"secret", "POST", "Bearer secreu", `{"About":"x"}`, 401},
		"part of the token":      {"secret", "POST", "Bearer secre", `{"About":"x"}`, 401},
		"no token":               {"secret", "POST", "", `{"About":"x"}`, 401},
		"an empty token":         {"secret", "POST", "Bearer ", `{"About":"x"}`, 401},
		"where there is none":    {"", "POST", "Bearer ", `{"About":"x"}`, 401},
		"another method":         {"secret", "GET", "Bearer secret", `{"About":"x"}`, 405},
		"no JSON":                {"secret", "POST", "Bearer secret", "x", 400},
		"more than there may be": {"secret", "POST", "Bearer secret", strings.Repeat(" ", 5000) + `{"About":"x"}`, 400},
	} {
		var took []string
		h := callback.New(c.token, 10, func(s said) error {
			if s.About == "" {
				return errors.New("about nothing")
			}
			took = append(took, s.About)
			return nil
		})
		if got := call(h, c.method, c.authorization, c.body); got != c.want || len(took) == 1 != (got == 204) {
			t.Errorf("%s: %d, want %d; took %q", name, got, c.want, took)
		}
	}
}

func TestCallbacksHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := 0
		h := callback.New("secret", 2, func(said) error { took++; return nil })
		for i, want := range []int{204, 204, 429, 429} {
			if got := call(h, "POST", "Bearer secret", "{}"); got != want {
				t.Errorf("call %d: %d, want %d", i, got, want)
			}
		}
		if got := call(h, "POST", "Bearer wrong", "{}"); got != 401 {
			t.Errorf("without the token: %d", got)
		}
		time.Sleep(time.Second) // It passes at once here.
		if got := call(h, "POST", "Bearer secret", "{}"); got != 204 || took != 3 {
			t.Errorf("a second later: %d, took %d", got, took)
		}
	})
}
