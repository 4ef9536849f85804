package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxSocketPath is the longest path of a unix socket in bytes: 108 on Linux and 104
// on macOS include the closing zero.
const maxSocketPath = 103

// ErrSocketPath: no path that is short enough for a socket was found.
var ErrSocketPath = errors.New("path of the socket is too long")

// Layout names the parts of a data directory. It touches nothing on disk.
type Layout struct {
	// Root is the directory itself.
	Root string
}

// At is the layout of a directory.
func At(root string) Layout { return Layout{root} }

func (l Layout) join(name string) string { return filepath.Join(l.Root, name) }

// Events is the directory of the event store.
func (l Layout) Events() string { return l.join("events") }

// Slots is the directory of the repo.
func (l Layout) Slots() string { return l.join("slots") }

// Sectors is the directory of the files of sectors, unless the settings name another.
func (l Layout) Sectors() string { return l.join("sectors") }

// Pieces is the directory of the data of pieces.
func (l Layout) Pieces() string { return l.join("pieces") }

// Chain is the directory of the development chain.
func (l Layout) Chain() string { return l.join("chain") }

// Outbox is the directory of the transaction manager's intents.
func (l Layout) Outbox() string { return l.join("outbox") }

// Views is the directory of the projections.
func (l Layout) Views() string { return l.join("views") }

// Acknowledged is the file that remembers which events the event store has acknowledged.
func (l Layout) Acknowledged() string { return l.join("acknowledged") }

// Identity is the file that remembers which directory holds what is named so: "slots", "sectors" or "pieces".
func (l Layout) Identity(of string) string { return l.join(of + ".id") }

// Unrecorded has the alerts that could not be recorded yet.
func (l Layout) Unrecorded() string { return l.join("alerts.json") }

func (l Layout) tokenFile() string { return l.join("token.json") }

// LockFile is the file whose lock means that the directory is in use.
func (l Layout) LockFile() string { return l.join("hostnode.lock") }

// KeyFile is the file of the account's key, unless the settings name another.
func (l Layout) KeyFile() string { return l.join("account.key") }

// Tokens is the file of the tokens with which the API is used over TCP.
func (l Layout) Tokens() string { return l.join("tokens.json") }

func (l Layout) formatFile() string { return l.join("format") }

func (l Layout) socketFile() string { return l.join("socket.path") }

// Socket is the path of the host's socket: hostnode.sock in the directory, or the
// path in the file socket.path.
func (l Layout) Socket() string {
	own := l.join("hostnode.sock")
	if len(own) <= maxSocketPath {
		return own
	}
	if text, err := os.ReadFile(l.socketFile()); err == nil {
		return strings.TrimSpace(string(text))
	}
	return l.short("hostnode.sock")
}

// short returns a path in the temporary directory that is derived from the data
// directory, so that every process finds the same one.
func (l Layout) short(name string) string {
	hash := sha256.Sum256([]byte(l.Root + "\x00" + name))
	return filepath.Join(privateTemp(), hex.EncodeToString(hash[:8])+".sock")
}

func privateTemp() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("hostnode-%d", os.Getuid()))
}

// SocketPath returns a path for a socket of this name (relative to the directory): its
// own, or a short one in a subdirectory of the temporary directory that is private to
// this user, and is made. It returns ErrSocketPath if neither is short enough.
func (l Layout) SocketPath(name string) (string, error) {
	if own := l.join(name); len(own) <= maxSocketPath {
		return own, nil
	}
	path := l.short(name)
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("%w: neither %s nor %s has at most %d bytes; use a shorter data "+
			"directory or a shorter TMPDIR", ErrSocketPath, l.join(name), path, maxSocketPath)
	}
	return path, makePrivate(filepath.Dir(path))
}

// makePrivate makes a private directory, or checks that it is one: in the shared
// temporary directory another user may have been first.
func makePrivate(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory for the socket: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("make directory for the socket: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || ok && int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%w: %s must be a directory of this user with mode 0700; remove it, or "+
			"use a shorter data directory", ErrSocketPath, dir)
	}
	return nil
}
