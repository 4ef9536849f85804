// Package keys keeps the account's private key in a file.
//
// The file holds 64 hex digits and a newline, and must have mode 0600 exactly: a key
// that others could read is no longer a key. A file is made once (O_EXCL) and never
// overwritten, because the tokens of a lost key are gone. No error and no output of
// this package contains any part of a key; only the address may be shown.
//
// Encrypted keystores and several accounts are not supported.
package keys

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
)

// Errors of key files.
var (
	// ErrMissing: there is no such file.
	ErrMissing = errors.New("no account key")
	// ErrExists: there is a key already; it is never overwritten.
	ErrExists = errors.New("account key exists already")
	// ErrPermissions: others than the owner may use the file, or it is not a plain file.
	ErrPermissions = errors.New("account key is not protected")
	// ErrMalformed: the content is not a private key.
	ErrMalformed = errors.New("not a private key")
)

const (
	// mode is the only one a key file may have.
	mode fs.FileMode = 0o600
	// maxText is the most bytes of a key in text: 0x, 64 digits, white space.
	maxText = 256
)

// Load reads the key. Errors: ErrMissing, ErrPermissions, ErrMalformed, and those of
// the file system.
func Load(path string) (*ecdsa.PrivateKey, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s does not exist", ErrMissing, path)
	}
	if err != nil {
		return nil, fmt.Errorf("read account key: %w", err)
	}
	defer f.Close()
	// The open file is checked, not its name, which could mean another file by now.
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read account key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no plain file", ErrPermissions, path)
	}
	if m := info.Mode().Perm(); m != mode {
		return nil, fmt.Errorf("%w: %s has mode %#o, only %#o is accepted; run: chmod 600 %s",
			ErrPermissions, path, m, mode, path)
	}
	key, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// Create makes a new key and its file, and the directory if needed. Errors:
// ErrExists, and those of the file system.
func Create(path string) (events.Address, error) {
	key, err := crypto.GenerateKey()
	if err != nil {
		return events.Address{}, fmt.Errorf("make account key: %w", err)
	}
	return AddressOf(key), write(path, key)
}

// Import reads a key as text, with or without 0x, and makes its file unless fits refuses
// the address. Errors: ErrMalformed, ErrExists, that of fits, and those of the file system.
func Import(path string, from io.Reader, fits func(events.Address) error) (events.Address, error) {
	key, err := parse(from)
	if err != nil {
		return events.Address{}, err
	}
	if err := fits(AddressOf(key)); err != nil {
		return events.Address{}, err
	}
	return AddressOf(key), write(path, key)
}

// AddressOf is the address that the key owns.
func AddressOf(key *ecdsa.PrivateKey) events.Address {
	return events.Address(crypto.PubkeyToAddress(key.PublicKey))
}

// parse reads 64 hex digits. Its errors never quote what it read.
func parse(from io.Reader) (*ecdsa.PrivateKey, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("read account key: %w", err)
	}
	digits := bytes.TrimSpace(text)
	digits = bytes.TrimPrefix(digits, []byte("0x"))
	if len(text) > maxText || len(digits) != 64 {
		return nil, fmt.Errorf("%w: it must be 64 hex digits", ErrMalformed)
	}
	raw := make([]byte, 32)
	if _, err := hex.Decode(raw, digits); err != nil {
		return nil, fmt.Errorf("%w: it has other characters than hex digits", ErrMalformed)
	}
	key, err := crypto.ToECDSA(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: the number is zero or not below the order of the curve", ErrMalformed)
	}
	return key, nil
}

// write makes the file; it is on disk when write returns.
func write(path string, key *ecdsa.PrivateKey) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write account key: %w", err)
	}
	err := durable.Create(path, []byte(hex.EncodeToString(crypto.FromECDSA(key))+"\n"))
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s is kept as it is", ErrExists, path)
	}
	if err != nil {
		return fmt.Errorf("write account key: %w", err)
	}
	return nil
}
