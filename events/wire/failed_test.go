package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/events"
)

// fullDisk is a store whose disk is full.
type fullDisk struct{ events.Store }

func (fullDisk) Append(context.Context, string, events.Expected, []events.NewEvent) (events.AppendResult, error) {
	return events.AppendResult{}, fmt.Errorf("%w: no space left on device", events.ErrStoreFailed)
}

func TestAStoreThatFailedIsToldToTheOperatorOnce(t *testing.T) {
	logger, hook := test.NewNullLogger()
	s := unserved(t, func(cfg *Config) {
		cfg.Store, cfg.Log = fullDisk{cfg.Store}, logrus.NewEntry(logger)
	})
	for range 3 {
		if _, err := s.append(t.Context(), "a-1", events.Any(), nil); !errors.Is(err, events.ErrStoreFailed) {
			t.Fatalf("append: %v", err)
		}
	}
	if all := hook.AllEntries(); len(all) != 1 || all[0].Level != logrus.ErrorLevel {
		t.Fatalf("%d lines in the log, want one error", len(all))
	}
}
