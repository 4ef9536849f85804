package node

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

// This file keeps a data directory to one account. With another account a host would
// start from nothing beside the slots that the first one hosts, and everything would
// look fine.

// ErrKeyLost: the key of the account that the directory belongs to is missing.
var ErrKeyLost = errors.New("the key of the data directory's account is missing")

// AccountKey loads the key of a host whose data directory belongs to owner, zero: to
// nobody yet. On a chain whose money is worth nothing (makes), a first start makes one.
// Errors: ErrKeyLost, datadir.ErrOtherAccount, and those of package keys.
func AccountKey(c config.Config, dir datadir.Layout, owner events.Address, makes bool, log *logrus.Entry) (
	*ecdsa.PrivateKey, error,
) {
	path := KeyFile(c)
	password, err := c.KeyPassword()
	if err != nil {
		return nil, err
	}
	key, err := keys.Load(path, password)
	switch {
	case errors.Is(err, keys.ErrMissing) && !owner.Zero():
		return nil, fmt.Errorf("%w: %s belongs to %s, and %s does not exist", ErrKeyLost, dir.Root, owner, path)
	case errors.Is(err, keys.ErrMissing) && makes:
		address, err := keys.Create(path, password)
		if err != nil {
			return nil, err
		}
		log.WithField("account", address.String()).Info("made an account for the development chain")
		return keys.Load(path, password)
	case err != nil:
		return nil, err
	case !owner.Zero() && owner != keys.AddressOf(key):
		return nil, fmt.Errorf("%w: %s is of %s, the key in %s is that of %s",
			datadir.ErrOtherAccount, dir.Root, owner, path, keys.AddressOf(key))
	}
	return key, nil
}

// KeyFile is where the account's key is.
func KeyFile(c config.Config) string {
	return cmp.Or(c.Account.KeyFile, datadir.At(c.DataDir).KeyFile())
}

// owner is the account that the data directory belongs to, zero: to nobody yet. If only
// the events were put there, from a backup, they tell it.
func (p *Process) owner(ctx context.Context) (events.Address, error) {
	owner, err := p.Dir.Owner()
	if err != nil || !owner.Zero() || p.Store == nil || p.Store.Embedded == nil {
		return owner, err
	}
	q := events.ReadStream{From: events.End, Backward: true}
	for r, err := range p.Store.ReadStream(ctx, events.VirtualCategory+events.CategoryHost, q) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return owner, fmt.Errorf("look whose record it is: %w", err)
		}
		if of, ours := catalog.Streams().Owner(r.Stream); ours && !r.Gone() { // Not what deletes a stream.
			return of, nil
		}
	}
	return owner, nil
}

func nodeName() string {
	name, err := os.Hostname()
	if err != nil {
		return "hostnode"
	}
	return name
}
