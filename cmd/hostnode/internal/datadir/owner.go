package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/internal/durable"
)

// Errors about whose directory it is.
var (
	// ErrOtherAccount: the directory belongs to another account.
	ErrOtherAccount = errors.New("data directory belongs to another account")
	// ErrOwner: the file that names the directory's account is unreadable.
	ErrOwner = errors.New("the account of the data directory is unreadable")
)

// ownerFile names the account that the directory belongs to.
func (l Layout) ownerFile() string { return l.join("account") }

// Owner is the account that the directory belongs to; zero: not known. It is stored; in a
// directory from before that, the outbox tells: each account has its own, and the last
// used one counts.
func (l Layout) Owner() (events.Address, error) {
	text, err := os.ReadFile(l.ownerFile())
	switch {
	case err == nil:
		owner, err := events.ParseAddress(strings.TrimSpace(string(text)))
		if err != nil || owner.Zero() {
			const most = 60
			return owner, fmt.Errorf("%w: %s holds %q, want an address",
				ErrOwner, l.ownerFile(), text[:min(len(text), most)])
		}
		return owner, nil
	case !errors.Is(err, fs.ErrNotExist):
		return events.Address{}, fmt.Errorf("read whose the data directory is: %w", err)
	}
	return l.lastSender()
}

func (l Layout) lastSender() (owner events.Address, err error) {
	files, err := l.outboxes()
	if err != nil {
		return owner, err
	}
	var newest time.Time
	for _, f := range files {
		// Named after the account's stream.
		stream := strings.TrimSuffix(f.Name(), filepath.Ext(f.Name()))
		of, ours := catalog.Streams().Owner(stream)
		if !ours {
			continue
		}
		if info, err := f.Info(); err == nil && (owner.Zero() || info.ModTime().After(newest)) {
			owner, newest = of, info.ModTime()
		}
	}
	return owner, nil
}

// Belongs refuses, with ErrOtherAccount, to use the directory for another account than
// its own: a host would start from nothing there, beside hosted slots and owed proofs.
func (l Layout) Belongs(to events.Address) error {
	owner, err := l.Owner()
	if err != nil || owner.Zero() || owner == to {
		return err
	}
	return fmt.Errorf("%w: %s is of %s, the key is that of %s", ErrOtherAccount, l.Root, owner, to)
}

// Own stores that the directory belongs to an account, if it belongs to none yet.
func (d *Dir) Own(account events.Address) error {
	if err := d.Belongs(account); err != nil {
		return err
	}
	if _, err := os.Lstat(d.ownerFile()); err == nil {
		return nil
	}
	if err := durable.Replace(d.ownerFile(), []byte(account.String()+"\n")); err != nil {
		return fmt.Errorf("write whose the data directory is: %w", err)
	}
	return nil
}
