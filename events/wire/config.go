package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
)

// serverVersion is the release of EventStoreDB that the server behaves like, as clients are told. They take three
// numbers; a suffix breaks the one for Go.
const serverVersion = "24.10.0"

// Config says what a Server serves, and to whom.
type Config struct {
	// Store is what is served. The server does not close it. Required.
	Store events.Store
	// TLS encrypts; nil means plain text. Clients send no passwords over plain
	// text, so Users need TLS, or clients that send them all the same.
	TLS *tls.Config
	// Users may log in. There is none by default, and no default password.
	Users []User
	// Anonymous is what a caller without credentials may do; by default nothing.
	Anonymous Role
	// Advertise is the host:port in gossip answers; empty means the address that
	// the client has connected to.
	Advertise string
	// Streams say what users of RoleHost may do with which streams.
	Streams events.Streams
	// Guarded are the categories of the host's own streams. They are read-only
	// over the wire, for every role.
	Guarded []string
	// Log takes what an operator may want to know; nil drops it.
	Log *logrus.Entry
	// AcceptPersistentSubscriptions lets the creation of a persistent
	// subscription succeed without any effect. The official client's test suite
	// waits for that before it begins; nothing else may set it.
	AcceptPersistentSubscriptions bool
	// Limits bound what clients can cost; zero fields have the defaults.
	Limits Limits
}

// checked returns the configuration with defaults filled in, or what is wrong with it.
func (c Config) checked() (Config, error) {
	if c.Store == nil {
		return c, errors.New("event server without a store")
	}
	if c.Advertise != "" {
		if _, _, err := splitAddress(c.Advertise); err != nil {
			return c, fmt.Errorf("advertised address %q: %w", c.Advertise, err)
		}
	}
	for _, category := range c.Guarded {
		if category == "" || strings.Contains(category, "-") {
			return c, fmt.Errorf("guarded category %q: want a name without dashes", category)
		}
	}
	if !c.Anonymous.valid() {
		return c, fmt.Errorf("anonymous callers: unknown role %d", c.Anonymous)
	}
	if c.Anonymous == RoleHost {
		return c, errors.New("an anonymous caller cannot be a host, which has a name and an account")
	}
	if c.Log == nil {
		c.Log = logrus.NewEntry(&logrus.Logger{Out: io.Discard})
	}
	c.Limits = c.Limits.withDefaults()
	return c, nil
}

func splitAddress(address string) (host string, port uint32, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	n, err := net.LookupPort("tcp", text)
	if err != nil {
		return "", 0, err
	}
	if host == "" {
		return "", 0, errors.New("no host")
	}
	return host, uint32(n), nil
}
