package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/docs"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/sector"
)

func TestEveryErrorHasOneRowAndOneTextAndTheirStatusIsTheSame(t *testing.T) {
	if _, err := problem.NewTable(docs.Errors, all...); err != nil {
		t.Fatalf("rows.go and docs/errors.md do not fit:\n%v", err)
	}
}

// examples are errors of rows that do not name one.
var examples = map[string]error{
	"quota-exceeded":     &capacity.SpaceError{Doing: "x"},
	"sector-refused":     &sector.Refused{},
	"account-taken-over": shell.ErrTakenOver,
	"path-unusable":      fs.ErrNotExist,
	"timeout":            context.DeadlineExceeded,
	"interrupted":        context.Canceled,
	"internal":           errors.New("odd"),
}

func TestEveryErrorIsFoundInTheTableAndSurvivesTheJourney(t *testing.T) {
	for _, r := range all {
		err, named := r.Is, r.Is != nil
		if !named {
			err = examples[r.Code]
		}
		p := All().Explain(fmt.Errorf("doing something: %w", err))
		if p.Code != r.Code || p.Status != r.Status || p.Title == "" || p.Hint == "" ||
			!strings.HasPrefix(p.Detail, "doing something: ") {
			t.Errorf("%v is %+v, want %s", err, p, r.Code)
		}
		sent, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		far, ok := All().Decode(sent)
		if !ok {
			t.Fatalf("%s is none: %s", r.Code, sent)
		}
		if named && !errors.Is(far, r.Is) {
			t.Errorf("%s lost its sentinel", r.Code)
		}
		if again := All().Explain(fmt.Errorf("asking: %w", far)); again.Code != r.Code ||
			!strings.HasPrefix(again.Detail, "asking: ") || named && !errors.Is(again, r.Is) {
			t.Errorf("%s became %+v", r.Code, again)
		}
	}
}

func TestAnErrorThatARowDoesNotNameIsExplainedByIt(t *testing.T) {
	for _, c := range []struct {
		err  error
		code string
	}{
		{tx.ErrTakenOver, "account-taken-over"},
		{context.DeadlineExceeded, "timeout"},
		{errors.New("odd"), "internal"},
	} {
		if p := All().Explain(c.err); p.Code != c.code || p.Detail != c.err.Error() || p.Hint == "" {
			t.Errorf("%v is %+v", c.err, p)
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
		p := All().Explain(fmt.Errorf("connect to the market: %w", c.err))
		if p.Code != c.code || strings.Contains(p.Hint, "--take-over") != c.flag {
			t.Errorf("%v is %+v", c.err, p)
		}
	}
}
