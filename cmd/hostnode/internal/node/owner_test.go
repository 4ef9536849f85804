package node

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/messages"
)

func TestNoAccountIsMadeOrTakenBesideTheOneOfTheDirectory(t *testing.T) {
	c := config.Config{DataDir: t.TempDir()}
	dir, log := datadir.At(c.DataDir), logrus.NewEntry(quiet())
	owner := events.Address{1}
	if _, err := AccountKey(c, dir, owner, true, log); !errors.Is(err, ErrKeyLost) {
		t.Errorf("without the key: %v", err)
	}
	if _, err := keys.Load(dir.KeyFile(), ""); !errors.Is(err, keys.ErrMissing) {
		t.Fatalf("a key was made: %v", err)
	}
	if _, err := AccountKey(c, dir, events.Address{}, false, log); !errors.Is(err, keys.ErrMissing) {
		t.Errorf("with real money: %v", err)
	}
	made, err := AccountKey(c, dir, events.Address{}, true, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := AccountKey(c, dir, owner, true, log); !errors.Is(err, datadir.ErrOtherAccount) {
		t.Errorf("with another key: %v", err)
	}
	if _, err := AccountKey(c, dir, keys.AddressOf(made), true, log); err != nil {
		t.Errorf("with its own: %v", err)
	}
}

// TestAHostDoesNotBeginBesideAnotherOnesRecord starts one over a record that came from a
// backup: nothing but the record says whose it is.
func TestAHostDoesNotBeginBesideAnotherOnesRecord(t *testing.T) {
	c := config.Default()
	c.DataDir = t.TempDir()
	c.Account.KeyFile = filepath.Join(c.DataDir, "account.key")
	dir, err := datadir.Open(c.DataDir, time.Now())
	if err == nil {
		err = dir.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	store, _, err := embedded.Open(datadir.At(c.DataDir).Events(), embedded.Config{})
	if err != nil {
		t.Fatal(err)
	}
	of := events.HostStream(events.Address{7})
	name, version, data, err := catalog.Codec().Encode(&messages.HostStarted{
		At: events.TimeToMessage(time.Unix(1_750_000_000, 0)), Epoch: 1, ChainId: 1, Genesis: events.Hash{1}.String(),
		Contract: events.Address{2}.String(), Version: "v1", Node: "cellar",
	})
	if err == nil {
		_, err = store.Append(t.Context(), of, events.NoStream(), []events.NewEvent{{
			ID: events.NewEventID(of, "test", 0), Type: name, Data: data, Meta: events.Metadata{Version: version},
		}})
	}
	if err == nil { // Of another program, and younger.
		_, err = store.Append(t.Context(), "host-nobody", events.NoStream(), []events.NewEvent{{
			ID: events.NewEventID("host-nobody", "test", 0), Type: "Theirs", Data: []byte("{}"),
		}})
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	p, err := Take(c, Begin{}, logrus.NewEntry(quiet()))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Start(context.WithoutCancel(t.Context()), func() {}); !errors.Is(err, ErrKeyLost) {
		t.Fatalf("started: %v", err)
	}
}
