package cluster

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
)

const (
	// Largest is how many bytes a question or an answer has at most. The largest that members say to each other is a
	// transaction with proofs, some tens of kilobytes.
	Largest = 1 << 20
	// mostUnanswered is how many questions to one member may be without an answer, also of those
	// that were given up a short time ago: they are kept in memory while the member is stuck.
	mostUnanswered = 64
	// mostServed is how many questions a member works at; it is enough for three others that ask
	// all they may.
	mostServed = 256
	// mostWait is how long a call whose context has no deadline waits for its answer.
	mostWait = time.Minute
	// A lease shorter than two seconds is not granted by etcd; with a long one nobody is owner for
	// a long time.
	defaultLease, shortestLease, longestLease = 5 * time.Second, 2 * time.Second, 5 * time.Minute
)

// Config is what a member needs to join the others of its host.
type Config struct {
	// Name is the cluster's name, of the form of a member's. It is part of each member's name in
	// certificates, and of each key in etcd.
	Name string
	// Host is the host's account, part of each key in etcd.
	Host events.Address
	// Member is this member's name. It stays; two processes with one name are refused.
	Member events.Member
	// Version of the program, for people.
	Version string
	// MayOwn says that this member may take the term: it has the account's key.
	MayOwn bool
	// Facts must be equal between all members: chain, contract, proving key and the like.
	Facts map[string]string

	// Listen is the address and port for the questions of others. A port is required.
	Listen string
	// Advertise is where others reach Listen; empty: the same.
	Advertise string
	// TLS are the files with which members know each other. Without it everything is in plain text,
	// and Listen must be a loopback address. Certificate and key, also those of EtcdTLS, are read again when they
	// have changed; the authority is not.
	TLS Files

	// Etcd are etcd's end points, host:port or https://host:port.
	Etcd []string
	// EtcdTLS are the files with which etcd is asked: the authority that it has its certificate
	// from, and our certificate if it wants one. Without it end points are asked in plain text.
	EtcdTLS Files
	// Lease is how long a member that says nothing counts as alive, in whole seconds; 0: 5 s.
	Lease time.Duration
}

// checked is a Config that can be used.
type checked struct {
	Config
	listenHost string
	listenPort int
	tls        *tls.Config // nil: plain text
	etcdTLS    *tls.Config
	pairs      []*pair           // the certificates that this member has, of tls and of etcdTLS
	facts      map[string]string // with the host's address
	digest     string            // of the facts
	// authorities are those whose certificates this member believes: two members must have one in common.
	authorities []string
}

// ErrConfig: a setting cannot be used; the text says which and what to write instead.
var ErrConfig = errors.New("cluster settings")

func (c Config) check(log *logrus.Entry) (checked, error) {
	ok := checked{Config: c}
	wrong := func(format string, args ...any) (checked, error) {
		return checked{}, fmt.Errorf("%w: %w", ErrConfig, fmt.Errorf(format, args...))
	}
	if _, err := events.ParseMember(c.Name); err != nil {
		return wrong("the cluster's name: %w", err)
	}
	if _, err := events.ParseMember(string(c.Member)); err != nil {
		return wrong("the member's name: %w", err)
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err == nil {
		ok.listenHost = host
		ok.listenPort, err = strconv.Atoi(port)
	}
	if err != nil || ok.listenPort < 1 || ok.listenPort > 65535 {
		return wrong("listen address %q: write host:port with a port that is not 0, as others must know it", c.Listen)
	}
	ok.Advertise = cmp.Or(c.Advertise, c.Listen)
	host, port, err = net.SplitHostPort(ok.Advertise)
	if err != nil || host == "" || port == "" || net.ParseIP(host).IsUnspecified() {
		return wrong("others cannot reach this member at %q: set the advertised address to host:port", ok.Advertise)
	}
	if c.TLS.none() && !(isLoopback(ok.listenHost) && isLoopback(host)) {
		return wrong("members speak in plain text on a loopback address only, and %s is none: give the files of "+
			"their certificates (`hostnode cluster certs` makes them)", c.Listen)
	}
	var own, forEtcd *pair
	if ok.tls, own, err = c.TLS.members(addressOf(c.Name, c.Member), log); err != nil {
		return wrong("%w", err)
	}
	if ok.authorities, err = c.TLS.authorities(); err != nil {
		return wrong("%w", err)
	}
	if ok.etcdTLS, forEtcd, err = c.EtcdTLS.client("", log); err != nil {
		return wrong("for etcd: %w", err)
	}
	ok.pairs = slices.DeleteFunc([]*pair{own, forEtcd}, func(p *pair) bool { return p == nil })
	overTLS := func(endpoint string) bool { return strings.HasPrefix(endpoint, "https://") }
	if ok.etcdTLS == nil && slices.ContainsFunc(c.Etcd, overTLS) {
		ok.etcdTLS = &tls.Config{MinVersion: tls.VersionTLS12} // With the authorities of the system.
	}
	if len(c.Etcd) == 0 {
		return wrong("no end point of etcd")
	}
	ok.Lease = cmp.Or(ok.Lease, defaultLease)
	if ok.Lease%time.Second != 0 || ok.Lease < shortestLease || ok.Lease > longestLease {
		return wrong("a lease of %s: write whole seconds, from %s to %s", ok.Lease, shortestLease, longestLease)
	}
	ok.facts = map[string]string{}
	maps.Copy(ok.facts, c.Facts)
	ok.digest = digest(c.Host, ok.facts)
	return ok, nil
}

// digest is a short digest of a host's address and its facts.
func digest(host events.Address, facts map[string]string) string {
	d := sha256.New()
	fmt.Fprintf(d, "%s\n", host)
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		fmt.Fprintf(d, "%q=%q\n", name, facts[name])
	}
	return hex.EncodeToString(d.Sum(nil)[:16])
}

// differ says which facts of another member are not ours; empty: all are equal.
func differ(ours, theirs map[string]string) string {
	all := map[string]string{}
	maps.Copy(all, ours)
	maps.Copy(all, theirs)
	var text []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		our, here := ours[name]
		their, there := theirs[name]
		switch {
		case !there:
			text = append(text, fmt.Sprintf("%s is %q here and unknown there", name, our))
		case !here:
			text = append(text, fmt.Sprintf("%s is %q there and unknown here", name, their))
		case our != their:
			text = append(text, fmt.Sprintf("%s is %q here and %q there", name, our, their))
		}
	}
	return strings.Join(text, "; ")
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
