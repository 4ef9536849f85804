// Package keys keeps the account's private key in a file.
//
// The file holds 64 hex digits and a newline or, with a password, a keystore of
// go-ethereum's, and must have mode 0600 exactly: a key that others could read is no
// longer a key. A file is made once (O_EXCL) and never overwritten, because the tokens
// of a lost key are gone. No error and no output of this package contains any part of a
// key or a password; only the address may be shown.
//
// A host starts without a person, so it reads the password from a file. That protects
// copies of the key's file, and the key where the password's is elsewhere.
//
// Several accounts are not supported.
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

	"github.com/ethereum/go-ethereum/accounts/keystore"
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
	// ErrPassword: a keystore's password is missing or another one, or a password was given for a key without one.
	ErrPassword = errors.New("the account key and its password do not fit")
)

const (
	// mode is the only one a key file may have.
	mode fs.FileMode = 0o600
	// maxText is the most bytes of a key in text: 0x, 64 digits, white space. A keystore has some 500.
	maxText, maxKeystore = 256, 8 << 10
)

// Load reads the key; without a password it must be a plain one, and with one a keystore. Errors: ErrMissing,
// ErrPermissions, ErrMalformed, ErrPassword, and those of the file system.
func Load(path, password string) (*ecdsa.PrivateKey, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	var key *ecdsa.PrivateKey
	switch {
	case Encrypted(text):
		key, err = decrypt(text, password)
	case password != "":
		err = fmt.Errorf("%w: it is not encrypted: leave account.passwordFile out", ErrPassword)
	default:
		key, err = parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// Address reads whose key a file has, for which a keystore needs no password.
func Address(path string) (address events.Address, err error) {
	text, err := read(path)
	if err != nil {
		return address, err
	}
	if Encrypted(text) {
		var f form
		if f, err = readForm(text); err == nil {
			address, err = f.address()
		}
	} else {
		var key *ecdsa.PrivateKey
		if key, err = parse(text); err == nil {
			address = AddressOf(key)
		}
	}
	if err != nil {
		return address, fmt.Errorf("%s: %w", path, err)
	}
	return address, nil
}

// read reads a key file that is protected.
func read(path string) ([]byte, error) {
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
	return readText(f)
}

func readText(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxKeystore+1))
	if err != nil {
		return nil, fmt.Errorf("read account key: %w", err)
	}
	if len(text) > maxKeystore {
		return nil, fmt.Errorf("%w: it is larger than %d bytes", ErrMalformed, maxKeystore)
	}
	return text, nil
}

// Create makes a new key and its file, encrypted if there is a password, and the directory if needed. Errors:
// ErrExists, and those of the file system.
func Create(path, password string) (events.Address, error) {
	key, err := crypto.GenerateKey()
	if err != nil {
		return events.Address{}, fmt.Errorf("make account key: %w", err)
	}
	return AddressOf(key), write(path, key, password)
}

// Import reads a key as text, with or without 0x, or a keystore, and makes its file unless fits refuses the address.
// ask returns the password with which the key is encrypted, and is to be stored; empty: it is plain, and stays so.
// Errors: ErrMalformed, ErrPassword, ErrExists, those of ask and fits, and those of the file system.
func Import(
	path string, from io.Reader, ask func(encrypted bool) (string, error), fits func(events.Address) error,
) (address events.Address, err error) {
	text, err := readText(from)
	if err != nil {
		return address, err
	}
	var key *ecdsa.PrivateKey
	if !Encrypted(text) { // What is no key is refused before a password is asked for.
		if key, err = parse(text); err != nil {
			return address, err
		}
	}
	password, err := ask(key == nil)
	if err == nil && key == nil {
		key, err = decrypt(text, password)
	}
	if err != nil {
		return address, err
	}
	if err := fits(AddressOf(key)); err != nil {
		return address, err
	}
	return AddressOf(key), write(path, key, password)
}

// AddressOf is the address that the key owns.
func AddressOf(key *ecdsa.PrivateKey) events.Address {
	return events.Address(crypto.PubkeyToAddress(key.PublicKey))
}

// parse reads 64 hex digits. Its errors never quote what it read.
func parse(text []byte) (*ecdsa.PrivateKey, error) {
	digits := bytes.TrimSpace(text)
	digits = bytes.TrimPrefix(digits, []byte("0x"))
	if len(text) > maxText || len(digits) != 64 {
		return nil, fmt.Errorf("%w: it must be 64 hex digits, or a keystore", ErrMalformed)
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
func write(path string, key *ecdsa.PrivateKey, password string) error {
	text := []byte(hex.EncodeToString(crypto.FromECDSA(key)) + "\n")
	if password != "" {
		var err error
		if text, err = encrypt(key, password, keystore.StandardScryptN); err != nil {
			return err
		}
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write account key: %w", err)
	}
	err := durable.Create(path, text)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s is kept as it is", ErrExists, path)
	}
	if err != nil {
		return fmt.Errorf("write account key: %w", err)
	}
	return nil
}
