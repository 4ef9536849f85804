package signer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
)

func TestATroubleIsToldOnceItLastsAndEndsWithASignature(t *testing.T) {
	away, refused := fmt.Errorf("%w: refused", ErrAway), fmt.Errorf("%w: denied", ErrRefused)
	began := time.Unix(1_750_000_000, 0)
	at := func(d time.Duration) time.Time { return began.Add(d) }
	var told []Trouble
	log, _ := test.NewNullLogger()
	s := newState("http://127.0.0.1:8550", func(t Trouble) { told = append(told, t) }, log)
	is := func(when time.Time, want string) {
		t.Helper()
		got, has := s.trouble(when)
		if has != (want != "") || !strings.Contains(got.String(), want) {
			t.Fatalf("trouble %v %v, want %q", got, has, want)
		}
	}

	s.tell(nil, at(0))
	is(at(0), "")
	if !s.tell(away, at(time.Second)) {
		t.Fatal("it is asked seldom although it is away")
	}
	is(at(2*time.Second), "does not answer: refused (http://127.0.0.1:8550), since 2025-06-15 15:06:41Z")
	s.signs(away, at(10*time.Second))
	s.tell(away, at(30*time.Second))
	if len(told) != 0 {
		t.Fatalf("told at once: %v", told)
	}
	s.tell(away, at(31*time.Second))
	s.tell(away, at(40*time.Second))
	if len(told) != 1 {
		t.Fatalf("told %d times", len(told))
	}
	s.tell(nil, at(45*time.Second)) // It is back, and what it did not sign then is forgotten.
	is(at(46*time.Second), "")

	s.signs(refused, at(60*time.Second))
	s.tell(nil, at(61*time.Second)) // It is there, and refuses all the same.
	is(at(61*time.Second), "refuses to sign: denied")
	s.signs(nil, at(62*time.Second))
	is(at(62*time.Second), "")

	s.signs(refused, at(70*time.Second))
	is(at(70*time.Second+failureCounts-1), "denied")
	is(at(70*time.Second+failureCounts), "")

	s.lacks(errors.New("it does not show the account"), at(500*time.Second))
	s.tell(nil, at(501*time.Second))
	is(at(502*time.Second), "does not show the account")
	s.tell(nil, at(540*time.Second))
	if len(told) != 2 {
		t.Fatalf("told %d times", len(told))
	}
	s.signs(nil, at(541*time.Second))
	is(at(541*time.Second), "")
}
