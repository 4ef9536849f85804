package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hostnode/hostnode/internal/durable"
)

// sealKeyBytes is the size of the key.
const sealKeyBytes = 32

// SealKey is the key of the digests by which the record notices changes of secret settings; it is made on first use. It
// guards nothing else: if it is lost or damaged, a new one is made, and each secret setting is recorded as changed.
func (d *Dir) SealKey() ([]byte, error) {
	path := d.join("settings.key")
	key, err := os.ReadFile(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the key for hidden settings: %w", err)
	case len(key) == sealKeyBytes:
		return key, nil
	}
	key = make([]byte, sealKeyBytes)
	_, _ = rand.Read(key) // It never fails.
	if err := durable.Replace(path, key); err != nil {
		return nil, fmt.Errorf("make the key for hidden settings: %w", err)
	}
	return key, nil
}
