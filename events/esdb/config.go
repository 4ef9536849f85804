package esdb

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	_ "github.com/hostnode/hostnode/events/protoconflict" // the client registers gossip.proto
)

// Config says which server to use, and how long to wait for it. Only URL is required.
type Config struct {
	// URL is a connection string as EventStoreDB's clients have it:
	// esdb://user:password@host:2113?tlsCaFile=ca.crt, several hosts separated by
	// commas, or esdb+discover://host; kurrentdb:// and kurrentdb+discover:// are the same
	// under the names of newer clients. Its maxDiscoverAttempts and
	// discoveryInterval have no effect: the store looks for a node for ever, with
	// pauses from MinPause to MaxPause. Only the leader of a cluster is used, for
	// reads too; any other nodePreference is refused.
	URL string
	// Renew returns the connection string again after the server has refused the user,
	// because the password may have changed; nil: the string stays. It is called by one
	// goroutine.
	Renew func() (string, error)
	// Log takes what an operator may want to know; nil drops it.
	Log *logrus.Entry
	// CallTimeout is how long one attempt of a call may take, and how long a
	// read may wait for an answer. 0: the URL's defaultDeadline, or 10 s.
	CallTimeout time.Duration
	// Patience is how long a call keeps trying while the server does not
	// answer, before it fails with events.ErrAway. Subscriptions never give up.
	// 0: 30 s.
	Patience time.Duration
	// OpenTimeout is how long Open waits for the first answer. 0: 15 s.
	OpenTimeout time.Duration
	// ProbeEvery is the pause between two checks that a quiet server still
	// answers. 0: 10 s.
	ProbeEvery time.Duration
	// MinPause and MaxPause bound the pauses between attempts to reach the
	// server, which grow with the length of the outage. 0: 10 ms and 5 s.
	MinPause, MaxPause time.Duration
	// MaxCalls is the most calls, reads and subscriptions at a time, including
	// abandoned ones until they end; further ones wait. 0: 4096.
	MaxCalls int
	// NoBatch does without BatchAppend, as for a server that lacks it.
	NoBatch bool
}

// minKeepAlive is the shortest interval of pings that gRPC accepts.
const minKeepAlive = 10 * time.Second

// withDefaults sets the defaults, each the client's own where it has one.
func (c Config) withDefaults(conf *esdb.Configuration) Config {
	if c.CallTimeout <= 0 && conf.DefaultDeadline != nil {
		c.CallTimeout = *conf.DefaultDeadline
	}
	c.CallTimeout = cmp.Or(max(c.CallTimeout, 0), 10*time.Second)
	c.Patience = cmp.Or(max(c.Patience, 0), 30*time.Second)
	c.OpenTimeout = cmp.Or(max(c.OpenTimeout, 0), 15*time.Second)
	c.ProbeEvery = cmp.Or(max(c.ProbeEvery, 0), 10*time.Second)
	c.MinPause = cmp.Or(max(c.MinPause, 0), 10*time.Millisecond)
	c.MaxPause = cmp.Or(max(c.MaxPause, 0), 5*time.Second)
	c.MaxPause = max(c.MaxPause, c.MinPause)
	c.MaxCalls = cmp.Or(max(c.MaxCalls, 0), 4096)
	return c
}

func (c Config) log() *logrus.Entry {
	return cmp.Or(c.Log, logrus.NewEntry(&logrus.Logger{Out: io.Discard}))
}

// ErrURL means that the connection string, or a file that it names, cannot be
// used. The error that wraps it says what to write.
var ErrURL = errors.New("connection string of the event store")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrURL}, args...)...)
}

// Schemes of connection strings. KurrentDB's clients have their own names for the same.
const (
	schemeOne      = "esdb"
	schemeDiscover = "esdb+discover"
	newerScheme    = "kurrentdb"
)

// IsConnection reports whether a text begins like a connection string.
func IsConnection(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	scheme = schemeOf(scheme)
	return ok && (scheme == schemeOne || scheme == schemeDiscover)
}

// schemeOf is what this client calls a scheme.
func schemeOf(written string) string {
	if rest, newer := strings.CutPrefix(written, newerScheme); newer {
		return schemeOne + rest
	}
	return written
}

// settings are the keys that the client knows, in lower case.
var settings = map[string]bool{
	"tls": true, "tlsverifycert": true, "tlscafile": true, "usercertfile": true, "userkeyfile": true,
	"nodepreference": true, "maxdiscoverattempts": true, "discoveryinterval": true, "gossiptimeout": true,
	"keepaliveinterval": true, "keepalivetimeout": true, "defaultdeadline": true,
}

// parse reads the connection string as the client does, but refuses what the
// client would silently ignore, and never shows the password.
func (c Config) parse() (*esdb.Configuration, error) {
	written, rest, ok := strings.Cut(c.URL, "://")
	scheme := schemeOf(written)
	switch {
	case c.URL == "":
		return nil, refuse("is empty; write for example esdb://127.0.0.1:2113?tls=false")
	case !ok:
		return nil, refuse("has no scheme; write for example esdb://127.0.0.1:2113?tls=false")
	case scheme != schemeOne && scheme != schemeDiscover:
		return nil, refuse("has the unknown scheme %q; write esdb:// for one node or a list of nodes, "+
			"esdb+discover:// for the DNS name of a cluster", clip(written))
	}
	base, query, _ := strings.Cut(rest, "?")
	query, err := c.checkSettings(query)
	if err != nil {
		return nil, err
	}
	at := strings.LastIndexByte(base, '@')
	if err := checkHosts(written, base[at+1:]); err != nil {
		if _, asked, _ := strings.Cut(c.URL, "?"); strings.Contains(asked, "@") {
			return nil, c.parseError(err) // What stands for the host may be a part of a password.
		}
		return nil, err
	}
	if err := checkUser(base[:max(at, 0)]); err != nil {
		return nil, err
	}
	conf, err := esdb.ParseConnectionString(scheme + "://" + base + "?" + query)
	if err != nil {
		return nil, c.parseError(err)
	}
	if err := checkCredentials(conf); err != nil {
		return nil, err
	}
	return conf, nil
}

// checkUser refuses a user and a password with characters that end them in a URL. It shows neither.
func checkUser(text string) error {
	for i, part := range strings.SplitN(text, ":", 2) {
		name := []string{"user's name", "password"}[i]
		if _, err := url.PathUnescape(part); err != nil || strings.ContainsAny(part, ":@/?#[]") {
			return refuse("has a %s with special characters, which are written percent-encoded "+
				"(@ as %%40, : as %%3A, / as %%2F, %% as %%25)", name)
		}
	}
	return nil
}

// checkHosts refuses what the client would take for another host or port: it
// takes a missing name for this machine, and truncates large numbers.
func checkHosts(scheme, hosts string) error {
	if strings.Trim(hosts, "/") == "" {
		return refuse("names no host; write for example %s://host:2113", scheme)
	}
	if _, path, _ := strings.Cut(hosts, "/"); path != "" {
		return refuse("has the path %q behind the host, where only settings may be: write %s://host:2113?key=value",
			clip(path), scheme)
	}
	for host := range strings.SplitSeq(strings.TrimSuffix(hosts, "/"), ",") {
		name, port, _ := strings.Cut(host, ":")
		if strings.Contains(port, ":") {
			return refuse("has an IPv6 address or a host that is not name:port; the client of EventStoreDB takes no " +
				"IPv6 addresses, so write a host name that leads there")
		}
		if name == "" && port != "" {
			return refuse("names no host before the port; write for example %s://host:%s", scheme, clip(port))
		}
		if n, err := strconv.ParseUint(port, 10, 64); port != "" && (err != nil || n < 1 || n > math.MaxUint16) {
			return refuse("has the port %s, want 1 to %d", clip(port), math.MaxUint16)
		}
	}
	return nil
}

// parseError returns the client's error without any part of a password: the
// error may quote any part of a string that cannot be parsed.
func (c Config) parseError(err error) error {
	if strings.Contains(c.URL, "@") {
		return refuse("cannot be read; special characters in a user's name or password are written "+
			"percent-encoded (@ as %%40, : as %%3A, / as %%2F, %% as %%25), a host as name:port; check %s",
			Redact(c.URL))
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return refuse("%s: %w", clip(c.URL), err)
}

// checkSettings returns the query without the settings that the client does not know.
func (c Config) checkSettings(query string) (string, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", refuse("settings after the question mark cannot be read; write key=value&key=value, " +
			"with special characters percent-encoded")
	}
	known := url.Values{}
	for key, all := range values {
		lower, value := strings.ToLower(key), all[0]
		if !settings[lower] {
			c.log().WithField("setting", plainKey(key)).Warn("the connection string of the event store has a setting " +
				"that the client does not know; it has no effect")
			continue
		}
		if _, twice := known[lower]; twice || len(all) > 1 {
			return "", refuse("setting %s is given twice", lower)
		}
		if value, err = c.checkSetting(lower, value); err != nil {
			return "", err
		}
		known.Set(lower, value)
	}
	return known.Encode(), nil
}

// maxMillis keeps a number of milliseconds from overflowing as a Duration.
const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// checkSetting refuses settings that the client would accept although they are
// wrong, or would refuse without saying what is right.
func (c Config) checkSetting(key, value string) (string, error) {
	switch key {
	case "tlscafile":
		return value, checkAuthorities(value)
	case "tls", "tlsverifycert":
		if _, err := strconv.ParseBool(strings.ToLower(value)); err != nil {
			return "", refuse("setting %s is %q, want true or false", key, clip(value))
		}
	case "maxdiscoverattempts", "discoveryinterval":
		if _, err := strconv.Atoi(value); err != nil {
			return "", refuse("setting %s is %q, want a number", key, clip(value))
		}
	case "defaultdeadline", "gossiptimeout":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 || n > maxMillis/1000 {
			return "", refuse("setting %s is %q, want a positive number", key, clip(value))
		}
	case "keepaliveinterval", "keepalivetimeout":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < -1 || n > maxMillis {
			return "", refuse("setting %s is %q, want milliseconds, or -1 for none", key, clip(value))
		}
		if least := minKeepAlive.Milliseconds(); key == "keepaliveinterval" && n >= 0 && n < least {
			c.log().Warnf("keepAliveInterval=%d of the event store is raised to %d ms, the least there is", n, least)
			return strconv.FormatInt(least, 10), nil
		}
	case "nodepreference":
		if !strings.EqualFold(value, "leader") {
			return "", refuse("setting nodePreference is %q; only leader is possible, because any other node may be "+
				"behind without saying so, and money is decided by what is read: remove the setting", clip(value))
		}
	}
	return value, nil
}

func checkAuthorities(file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return refuse("setting tlsCaFile: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return refuse("setting tlsCaFile: %s has no certificate in PEM form (-----BEGIN CERTIFICATE-----)", file)
	}
	return nil
}

// checkCredentials refuses credentials that the client would not send.
func checkCredentials(conf *esdb.Configuration) error {
	switch {
	case conf.DisableTLS && conf.Username != "":
		return refuse("has a user and tls=false, and credentials are sent only over TLS; write "+
			"%s://user:password@host:2113?tlsCaFile=ca.crt for a server with TLS (without tlsCaFile if the machine "+
			"knows its authority), or %s://host:2113?tls=false, without a user, for one that takes anybody",
			schemeOne, schemeOne)
	case conf.Username != "" && conf.Password == "":
		return refuse("has a user without a password; write %s://user:password@host, or name a file with the "+
			"password in eventStore.passwordFile", schemeOne)
	case conf.DisableTLS && conf.UserCertFile+conf.UserKeyFile != "":
		return refuse("has userCertFile or userKeyFile and tls=false; certificates are shown only over TLS")
	case conf.UserCertFile == "" && conf.UserKeyFile == "":
		return nil
	case conf.UserCertFile == "" || conf.UserKeyFile == "":
		return refuse("has only one of userCertFile and userKeyFile; they belong together")
	}
	if _, err := tls.LoadX509KeyPair(conf.UserCertFile, conf.UserKeyFile); err != nil {
		return refuse("userCertFile %s with userKeyFile %s: %w", conf.UserCertFile, conf.UserKeyFile, err)
	}
	return nil
}

// plainKey returns a key to be shown, unless it could be a part of a password
// that contains a question mark.
func plainKey(key string) string {
	for _, r := range key {
		if r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' {
			return "(unreadable)"
		}
	}
	return clip(key)
}

// clip shortens foreign text for an error.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// Redact returns a connection string to be shown: without the password and, if
// it is malformed, without anything that could be a part of it.
func Redact(connection string) string {
	name, _ := RedactSecrets(connection)
	return name
}

// RedactSecrets is Redact, and also returns what was left out.
func RedactSecrets(connection string) (name string, secrets []string) {
	return events.RedactURL(connection, slices.Collect(maps.Keys(settings))...)
}
