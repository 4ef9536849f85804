package node

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
)

func TestAStartKnowsItsAccountWithoutItsSignerAndSaysThatItIsAway(t *testing.T) {
	p, account := waiting(t), events.Address{7}
	p.config.Account.Signer, p.config.Account.Address = "http://127.0.0.1:1", account.String()
	p.config.Account.KeyFile, p.config.Account.SignTimeout = "", time.Minute
	used(t, p, events.Address{1})
	if _, _, err := p.who(t.Context()); !errors.Is(err, datadir.ErrOtherAccount) {
		t.Fatalf("in another account's directory: %v", err)
	}
	p = waiting(t)
	p.config.Account.Signer, p.config.Account.Address = "http://127.0.0.1:1", account.String()
	p.config.Account.KeyFile, p.config.Account.SignTimeout = "", time.Minute
	who, key, err := p.who(t.Context())
	if err != nil || who != account || key != nil {
		t.Fatalf("%s, %v, %v", who, key, err)
	}
	t.Cleanup(p.signer.Load().Close)
	tick, end := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !strings.Contains(p.Facts().Chain.Signer, "the signer does not answer") {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never said: %q", p.Facts().Chain.Signer)
		}
	}
}
