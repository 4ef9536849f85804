package node

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
)

func TestACopyOfADataDirectoryDoesNotBeginWhileTheFirstLives(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	log := logrus.New()
	log.SetOutput(io.Discard)
	begin := func() *Process {
		dir, err := datadir.Open(t.TempDir(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return &Process{Dir: dir, log: logrus.NewEntry(log), cancel: func() {}, alerts: alerts.NewDesk(alerts.Config{}, "", "")}
	}
	me, contract, genesis := events.Address{1}, events.Address{2}, events.Hash{3}
	first, copied := begin(), begin()
	if err := first.lockAccount(me, contract, genesis); err != nil {
		t.Fatal(err)
	}
	err := copied.lockAccount(me, contract, genesis)
	if !errors.Is(err, datadir.ErrAccountInUse) || !strings.Contains(err.Error(), first.Dir.Root) {
		t.Fatalf("beside the first: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := copied.lockAccount(me, contract, genesis); err != nil {
		t.Fatalf("when the first has ended: %v", err)
	}
	if err := copied.Close(); err != nil {
		t.Fatal(err)
	}
}
