package access

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/internal/durable"
)

const (
	// secretPrefix begins each secret, so that people and scanners for leaked secrets recognise it; secretBytes are
	// random.
	secretPrefix = "hn_"
	secretBytes  = 32
	// maxTokens and maxTokensFile bound the file, which is read at each request that brings a token.
	maxTokens     = 256
	maxTokensFile = 128 << 10
	// usedEvery is how exactly the last use of a token is known: its file is written no more often.
	usedEvery = time.Minute
	// lockTime is how long a command waits for another one that changes the tokens.
	lockTime  = 10 * time.Second
	lockPause = 20 * time.Millisecond
)

// Token is what is known of a token; its secret is not.
type Token struct {
	Name    string    `json:"name"`
	Scope   Scope     `json:"scope"`
	Created time.Time `json:"created"`
	// Used is the last use, to the minute; zero: never.
	Used time.Time `json:"used,omitzero"`
}

// stored is a token in the file.
type stored struct {
	Token
	// SHA256 is the hash of the secret, in hex. The secret is random, so that no salt or slow hash is needed.
	SHA256 string `json:"sha256"`
}

// Tokens is the file of the tokens. Each question reads it again, so that a host knows at once what a command beside it
// has changed. Several processes may use the file at once.
type Tokens struct {
	path string
	now  func() time.Time
}

// In names the file of the tokens (datadir.Layout.Tokens).
func In(path string, now func() time.Time) Tokens { return Tokens{path, now} }

var (
	names  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	hashes = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// New makes a token, and returns its secret, which nobody can find out later. Errors: problem.ErrBadRequest,
// problem.ErrTokenExists, and those of the file.
func (t Tokens) New(ctx context.Context, name string, scope Scope) (secret string, err error) {
	made := stored{Token: Token{Name: name, Scope: scope, Created: t.now().UTC().Truncate(time.Second)}}
	if err := made.check(); err != nil {
		return "", fmt.Errorf("%w: %w", problem.ErrBadRequest, err)
	}
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // It never fails.
	secret = secretPrefix + base64.RawURLEncoding.EncodeToString(random)
	made.SHA256 = hashOf(secret)
	return secret, t.change(ctx, func(all []stored) ([]stored, error) {
		switch {
		case slices.ContainsFunc(all, func(s stored) bool { return s.Name == name }):
			return nil, fmt.Errorf("%w: %s", problem.ErrTokenExists, name)
		case len(all) == maxTokens:
			return nil, fmt.Errorf("%w: there are %d tokens, and no more are possible; revoke one first",
				problem.ErrBadRequest, maxTokens)
		}
		return append(all, made), nil
	})
}

// List returns all tokens, the oldest first.
func (t Tokens) List() ([]Token, error) {
	all, err := t.read()
	list := make([]Token, len(all))
	for i, s := range all {
		list[i] = s.Token
	}
	return list, err
}

// Revoke removes a token: the next request with it is refused. problem.ErrNoToken: there is none of the name.
func (t Tokens) Revoke(ctx context.Context, name string) error {
	return t.change(ctx, func(all []stored) ([]stored, error) {
		rest := slices.DeleteFunc(slices.Clone(all), func(s stored) bool { return s.Name == name })
		if len(rest) == len(all) {
			return nil, fmt.Errorf("%w: %.64q", problem.ErrNoToken, name)
		}
		return rest, nil
	})
}

// Check says whose a secret is, and notes its use. problem.ErrUnauthorized: of no token.
func (t Tokens) Check(secret string) (Principal, error) {
	all, err := t.read()
	if err != nil {
		return Principal{}, err
	}
	hash, found := hashOf(secret), -1
	for i, s := range all { // Through all of them, so that the time says nothing of the hashes.
		if subtle.ConstantTimeCompare([]byte(s.SHA256), []byte(hash)) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Principal{}, fmt.Errorf("%w: it is none of this host, or was revoked", problem.ErrUnauthorized)
	}
	if t.now().Sub(all[found].Used) >= usedEvery {
		_ = t.noteUse(hash) // A request is not refused because its time cannot be written.
	}
	return Principal{all[found].Name, all[found].Scope}, nil
}

// noteUse writes when a token was used last, unless another process or request changes the file now.
func (t Tokens) noteUse(hash string) error {
	lock := t.lock()
	if free, err := lock.TryLock(); err != nil || !free {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	all, err := t.read() // Again: a command may have revoked the token meanwhile.
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(s stored) bool { return s.SHA256 == hash })
	if i < 0 {
		return nil
	}
	all[i].Used = t.now().UTC().Truncate(usedEvery)
	return t.write(all)
}

// lock is that of the changes. It is a file of its own, because the other one is replaced.
func (t Tokens) lock() *flock.Flock { return flock.New(t.path+".lock", flock.SetPermissions(0o600)) }

func (t Tokens) change(ctx context.Context, do func([]stored) ([]stored, error)) error {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	lock := t.lock()
	if _, err := lock.TryLockContext(ctx, lockPause); err != nil {
		return fmt.Errorf("wait for other changes of the tokens: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	all, err := t.read()
	if err == nil {
		all, err = do(all)
	}
	if err != nil {
		return err
	}
	return t.write(all)
}

func (t Tokens) read() ([]stored, error) {
	text, err := config.ReadPrivate(t.path, maxTokensFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	all, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", problem.ErrTokensDamaged, t.path, err)
	}
	return all, nil
}

func (t Tokens) write(all []stored) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = durable.Replace(t.path, text, []byte("\n"))
	}
	if err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	return nil
}

// parse reads the file, and refuses what New would not have written: a typo must not make a token mean something else.
func parse(text []byte) (all []stored, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the list")
	}
	if len(all) > maxTokens {
		return nil, fmt.Errorf("there are %d tokens, at most %d are possible", len(all), maxTokens)
	}
	for i, s := range all {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("token %d: %w", i+1, err)
		}
		if !hashes.MatchString(s.SHA256) {
			return nil, fmt.Errorf("token %s: no hash of 64 hex digits", s.Name)
		}
		for _, other := range all[:i] {
			if other.Name == s.Name || other.SHA256 == s.SHA256 {
				return nil, fmt.Errorf("token %s: its name or its hash is there twice", s.Name)
			}
		}
	}
	return all, nil
}

func (s stored) check() error {
	if !names.MatchString(s.Name) {
		return fmt.Errorf("%.80q is no name of a token; write 1 to 64 letters, digits, dots, dashes and underscores",
			s.Name)
	}
	if s.Scope != Read && s.Scope != Operate {
		return fmt.Errorf("%.40q is no scope; write %s or %s", s.Scope, Read, Operate)
	}
	return nil
}

func hashOf(secret string) string {
	hash := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(hash[:])
}
