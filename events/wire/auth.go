package wire

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/hostnode/hostnode/events"
)

// caller is who makes a call.
type caller struct {
	name string // Empty for callers without credentials.
	role Role
	// account is that of a host.
	account events.Address
}

type callerKey struct{}

// callerOf returns who makes the call; outside of a call, nobody, with no rights.
func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// authenticator checks passwords. A check is slow on purpose. So a password
// that was right is remembered as a keyed hash, and wrong ones are limited per
// connection.
type authenticator struct {
	users     map[string]User
	anonymous Role
	failures  int64
	slots     chan struct{} // One per check that may run at the same time.
	log       *logrus.Entry
	key       []byte
	nobody    []byte // A hash to compare with when there is no such user.

	mu   sync.Mutex
	seen map[string][]byte // By user, the keyed hash of the right password.
}

func newAuthenticator(cfg Config) (*authenticator, error) {
	a := &authenticator{
		users: map[string]User{}, anonymous: cfg.Anonymous, failures: int64(cfg.Limits.FailedLogins),
		slots: make(chan struct{}, cfg.Limits.LoginsAtOnce), log: cfg.Log,
		key: make([]byte, sha256.Size), seen: map[string][]byte{},
	}
	for _, u := range cfg.Users {
		if err := u.check(); err != nil {
			return nil, err
		}
		if _, twice := a.users[u.Name]; twice {
			return nil, fmt.Errorf("user %q is configured twice", u.Name)
		}
		a.users[u.Name] = u
	}
	_, _ = rand.Read(a.key) // Never fails.
	if len(a.users) == 0 {
		return a, nil // Nobody can be found out.
	}
	var err error
	a.nobody, err = bcrypt.GenerateFromPassword([]byte(rand.Text()), passwordCost)
	if err != nil {
		return nil, fmt.Errorf("prepare the check of passwords: %w", err)
	}
	return a, nil
}

// caller finds out who makes a call.
func (a *authenticator) caller(ctx context.Context) (caller, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	headers := md.Get("authorization")
	if len(headers) == 0 || len(a.users) == 0 { // Without users nobody can log in; some clients try.
		return caller{role: a.anonymous}, nil
	}
	name, password, ok := parseBasic(headers)
	if !ok {
		return caller{}, refused(codes.Unauthenticated,
			"want one authorization of the kind Basic, with user and password")
	}
	return a.login(ctx, name, password)
}

// maxAuthorization is more than any user and password need.
const maxAuthorization = 1024

func parseBasic(headers []string) (name, password string, ok bool) {
	if len(headers) != 1 || len(headers[0]) > maxAuthorization {
		return "", "", false
	}
	kind, encoded, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(kind, "basic") {
		return "", "", false
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", "", false
	}
	name, password, ok = strings.Cut(string(plain), ":")
	return name, password, ok && len(password) <= MaxPasswordBytes
}

func (a *authenticator) login(ctx context.Context, name, password string) (caller, error) {
	mac := hmac.New(sha256.New, a.key)
	mac.Write([]byte(name + "\x00" + password))
	sum := mac.Sum(nil)
	user, exists := a.users[name]
	a.mu.Lock()
	known := a.seen[name]
	a.mu.Unlock()
	if exists && subtle.ConstantTimeCompare(known, sum) == 1 {
		return caller{user.Name, user.Role, user.Account}, nil
	}
	conn := connectionOf(ctx)
	if conn != nil && conn.failedLogins.Load() >= a.failures {
		return caller{}, refused(codes.Unauthenticated,
			"too many wrong passwords over this connection; connect again with the right one")
	}
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return caller{}, ctx.Err()
	}
	hash := a.nobody
	if exists {
		hash = []byte(user.PasswordHash)
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || !exists {
		if conn != nil && conn.failedLogins.Add(1) == 1 { // Only once per connection, or a log could be flooded.
			a.log.WithField("client", conn.Conn.RemoteAddr()).Warn("wrong user or password")
		}
		return caller{}, refused(codes.Unauthenticated, "wrong user or password") // A stranger is told no more.
	}
	a.mu.Lock()
	a.seen[name] = sum
	a.mu.Unlock()
	return caller{user.Name, user.Role, user.Account}, nil
}
