package node

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
)

// This file keeps a data directory with one account. With another one a host would begin
// anew beside the slots that the first hosts, and everything would look well.

// ErrKeyLost: the directory belongs to an account whose key is not there.
var ErrKeyLost = errors.New("the key of the data directory's account is missing")

// AccountKey loads the key of a host whose data directory belongs to owner, zero: to
// nobody yet. On a chain whose money is worth nothing (makes), a first start makes one.
// Errors: ErrKeyLost, datadir.ErrOtherAccount, and those of keys.
func AccountKey(c config.Config, dir datadir.Layout, owner events.Address, makes bool, log *logrus.Entry) (
	*ecdsa.PrivateKey, error,
) {
	path := KeyFile(c)
	key, err := keys.Load(path)
	switch {
	case errors.Is(err, keys.ErrMissing) && !owner.Zero():
		return nil, fmt.Errorf("%w: %s belongs to %s, and %s does not exist", ErrKeyLost, dir.Root, owner, path)
	case errors.Is(err, keys.ErrMissing) && makes:
		address, err := keys.Create(path)
		if err != nil {
			return nil, err
		}
		log.WithField("account", address.String()).Info("made an account for the development chain")
		return keys.Load(path)
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
	if c.Account.KeyFile == "" {
		return datadir.At(c.DataDir).KeyFile()
	}
	return c.Account.KeyFile
}

// owner is the account that the data directory belongs to, zero: to nobody yet. A record
// that was put there without the rest, from a backup, tells as well.
func (p *Process) owner(ctx context.Context) (events.Address, error) {
	owner, err := p.Dir.Owner()
	if err != nil || !owner.Zero() || p.Store.Embedded == nil {
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
		if !r.Gone() && !events.IsSystem(r.Stream) { // Not what deletes a stream.
			return events.ParseAddress(strings.TrimPrefix(r.Stream, events.CategoryHost+"-"))
		}
	}
	return owner, nil
}
