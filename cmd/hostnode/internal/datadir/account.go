package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrAccountInUse is what errors.Is finds when another process of this user runs the same
// account, whatever its data directory.
var ErrAccountInUse = errors.New("another process on this machine runs this account")

// LockAccount locks an account on this machine, for this user: a copied data directory has
// its own lock, but the same account. The name says which account of which market it is.
// The lock ends with the process, however that ends. Errors: ErrAccountInUse, and those of
// the file system, after which it is not known who uses the account.
func (d *Dir) LockAccount(name string, now time.Time) (*flock.Flock, error) {
	if err := makePrivate(privateTemp()); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(name))
	path := filepath.Join(privateTemp(), "account-"+hex.EncodeToString(hash[:8])+".lock")
	lock := flock.New(path, flock.SetPermissions(0o600))
	free, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the account: %w", err)
	}
	if !free {
		holder, _ := os.ReadFile(path) // It may not have said yet.
		return nil, fmt.Errorf("%w: %s", ErrAccountInUse, strings.TrimSpace(string(holder)))
	}
	note := fmt.Sprintf("process %d since %s with %s\n", os.Getpid(), now.UTC().Format(time.RFC3339), d.Root)
	// In place, because the lock is on this very file.
	if err := os.WriteFile(path, []byte(note), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the lock of the account: %w", err), lock.Close())
	}
	return lock, nil
}
