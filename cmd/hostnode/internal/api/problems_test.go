package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/membership"
)

func TestEveryErrorOfTheTableHasACodeOfItsOwnAndAHint(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range kinds {
		if seen[k.code] || k.code != strings.ToLower(k.code) || strings.Contains(k.code, " ") {
			t.Errorf("code %q is taken or has another form", k.code)
		}
		seen[k.code] = true
		if !strings.HasSuffix(k.title, ".") || !strings.HasSuffix(k.hint, ".") && !strings.HasSuffix(k.hint, "`.") &&
			!strings.HasSuffix(k.hint, ").") || k.status < 400 {
			t.Errorf("%s: %q, %q, %d", k.code, k.title, k.hint, k.status)
		}
	}
}

func TestEveryErrorIsFoundInTheTableAndSurvivesTheJourney(t *testing.T) {
	for _, k := range kinds {
		err := k.is
		if errors.Is(k.is, errNoSpace) {
			err = &capacity.SpaceError{Doing: "x"}
		}
		p := Explain(fmt.Errorf("doing something: %w", err))
		if p.Code != k.code || p.Hint != k.hint || !strings.HasPrefix(p.Detail, "doing something: ") {
			t.Errorf("%v is %+v, want %s", err, p, k.code)
		}
		var far error = p
		if !errors.Is(far, k.is) {
			t.Errorf("%s lost its sentinel", k.code)
		}
		if again := Explain(fmt.Errorf("asking: %w", far)); again.Code != k.code || !strings.HasPrefix(again.Detail, "asking: ") {
			t.Errorf("%s became %+v", k.code, again)
		}
	}
}

func TestAHostThatMayBeElsewhereIsToldHowToBeginAndOneThatLivesHereIsNot(t *testing.T) {
	for _, c := range []struct {
		err  error
		code string
		flag bool
	}{
		{node.ErrElsewhere, "host-elsewhere", true},
		{tx.ErrUsedElsewhere, "host-elsewhere", true},
		{membership.ErrElsewhere, "host-elsewhere", true},
		{datadir.ErrAccountInUse, "account-in-use", false},
	} {
		p := Explain(fmt.Errorf("connect to the market: %w", c.err))
		if p.Code != c.code || strings.Contains(p.Hint, "--take-over") != c.flag {
			t.Errorf("%v is %+v", c.err, p)
		}
	}
}

func TestAnUnknownErrorIsExplainedToo(t *testing.T) {
	if p := Explain(errors.New("odd")); p.Code != "internal" || p.Detail != "odd" || p.Hint == "" {
		t.Fatalf("%+v", p)
	}
}

func TestAProcessCountsAsSilentAfterThreeHeartbeatsThatItWouldHaveWritten(t *testing.T) {
	if membership.Heartbeat != actors.DefaultHeartbeat {
		t.Fatalf("a process is heard every %s, and is expected every %s", actors.DefaultHeartbeat, membership.Heartbeat)
	}
}
