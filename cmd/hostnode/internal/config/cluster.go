package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Cluster makes this process a member of a host that several processes run together, over one
// EventStoreDB.
type Cluster struct {
	// Name is the same for all members of the host: up to 40 lower-case letters, digits and dashes.
	// Empty: this process is the whole host, and nothing else of cluster may be set.
	Name string `key:"name"`
	// Member is the name of this process among them. It belongs to the data directory, and must
	// never change.
	Member string `key:"member"`
	// Listen is the address at which the other members reach this one, such as 10.0.0.7:7946.
	Listen string `key:"listen"`
	// Advertise is the host:port that the other members are told. Empty: listen.
	Advertise string `key:"advertise"`
	// Etcd says which members seem to be alive.
	Etcd Etcd `key:"etcd"`
	// TLS protects what members say to each other. Without it they only talk on one machine.
	TLS ClusterTLS `key:"tls"`
	// Lease is after how long without a sign of life another member may take over what runs once
	// per host, whole seconds.
	Lease time.Duration `key:"lease" def:"5s" min:"2s" max:"1m"`
	// GiveWayAfter is how long the event store may not answer the member that runs what runs once per
	// host, before that is left to a member which the event store answers. While it answers none, nothing
	// changes.
	GiveWayAfter time.Duration `key:"giveWayAfter" def:"30s" min:"5s" max:"1h"`
}

// Etcd is the etcd of a cluster.
type Etcd struct {
	// Endpoints are URLs of etcd's nodes, such as https://10.0.0.8:2379. Plain http is only allowed
	// to this machine.
	Endpoints []string `key:"endpoints" max:"16" secret:"url"`
	// CAFile has the certificate that etcd's are signed with (PEM). Empty: those of the system.
	CAFile string `key:"caFile"`
	// CertFile is the certificate of this member for etcd (PEM). Empty: etcd wants none. It is read
	// again when it has changed.
	CertFile string `key:"certFile"`
	// KeyFile is the private key of that certificate.
	KeyFile string `key:"keyFile"`
}

// ClusterTLS has the certificates of the members; hostnode cluster certs makes them.
type ClusterTLS struct {
	// CAFile has the certificate that those of all members are signed with (PEM). While that is replaced, it
	// has both, the old and the new one; a member with none in common with the others is refused.
	CAFile string `key:"caFile"`
	// CertFile is the certificate of this member, for member.name.hostnode (PEM). It is read again
	// when it has changed.
	CertFile string `key:"certFile"`
	// KeyFile is the private key of that certificate.
	KeyFile string `key:"keyFile"`
	// WarnDays is how many days before its end a certificate of this member, also that for etcd, is
	// warned of. 0: never.
	WarnDays uint64 `key:"warnDays" def:"14" max:"3650"`
}

// Clustered reports whether this process is a member of a host of several.
func (c Config) Clustered() bool { return c.Cluster.Name != "" }

// Member is the name of this process among the members of its host; empty: it is the host.
func (c Config) Member() events.Member { return events.Member(c.Cluster.Member) }

func (c Config) checkCluster() error {
	if c.Cluster.Name == "" && c.Cluster.Member == "" {
		return c.checkAlone()
	}
	if err := c.checkMember(); err != nil {
		return err
	}
	switch {
	case c.EventStore.URL == "":
		return refuse("eventStore.url", "", "the members of a cluster share an EventStoreDB; set it, and copy the "+
			"events of a host that was one process there with hostnode export and import")
	case c.Embedded():
		return refuse("chain.endpoint", "", "the embedded development chain is in the data directory of one process; "+
			"set the endpoint of a node that all members of the cluster reach, such as hostnode devchain")
	case c.Seals():
		return refuse("sectors.sealer", c.Sectors.Sealer, "members of a cluster cannot seal sectors yet; remove it, "+
			"or run a host of its own for sectors, without cluster.name")
	case c.Cluster.Lease%time.Second != 0:
		return refuse("cluster.lease", c.Cluster.Lease.String(), "etcd counts whole seconds")
	}
	if err := c.checkAddress(); err != nil {
		return err
	}
	if err := c.Cluster.checkListen(); err != nil {
		return err
	}
	return c.Cluster.Etcd.check()
}

// checkAlone checks a process that is the whole host.
func (c Config) checkAlone() error {
	for key, value := range c.Changed() {
		if strings.HasPrefix(key, "cluster.") {
			return refuse(key, value, "it belongs to a cluster; set cluster.name and cluster.member too, or "+
				"remove it")
		}
	}
	switch {
	case !c.Account.Transactions:
		return refuse("account.transactions", "false", "without cluster.name this process is the whole host and must "+
			"send transactions; remove it")
	case c.Account.Address != "" && c.Account.Signer == "":
		return refuse("account.address", c.Account.Address, "it is for processes that have no key; remove it, or set "+
			"account.signer, or cluster.name, too")
	}
	return nil
}

func (c Config) checkMember() error {
	const form = "up to 40 lower-case letters, digits and dashes, beginning with a letter or a digit"
	for _, s := range []struct{ key, value, without, example string }{
		{"cluster.name", c.Cluster.Name, "cluster.member is set, and members need the name of their cluster", "home"},
		{"cluster.member", c.Cluster.Member, "cluster.name is set, and each member needs a name of its own", "north"},
	} {
		if s.value == "" {
			return refuse(s.key, "", s.without+"; write for example "+s.example)
		}
		if _, err := events.ParseMember(s.value); err != nil {
			return refuse(s.key, s.value, "not a name; write "+form)
		}
	}
	return nil
}

func (c Cluster) checkListen() error {
	host, _, err := splitAddress(c.Listen)
	if err != nil {
		return refuse("cluster.listen", c.Listen, "the other members must reach this one; write host:port, for "+
			"example 10.0.0.7:7946")
	}
	shown, port := host, uint64(1)
	if c.Advertise != "" {
		if shown, port, err = splitAddress(c.Advertise); err != nil {
			return refuse("cluster.advertise", c.Advertise, "write host:port, for example 10.0.0.7:7946")
		}
	}
	if ip := net.ParseIP(shown); shown == "" || ip.IsUnspecified() || port == 0 {
		return refuse("cluster.advertise", c.Advertise, "with cluster.listen = "+c.Listen+" the other members must be "+
			"told where this one is; write host:port, for example 10.0.0.7:7946")
	}
	files := []string{c.TLS.CAFile, c.TLS.CertFile, c.TLS.KeyFile}
	switch {
	case files[0] != "" && files[1] != "" && files[2] != "":
		return nil
	case strings.Join(files, "") != "":
		return refuse("cluster.tls.certFile", c.TLS.CertFile, "caFile, certFile and keyFile belong together; hostnode "+
			"cluster certs makes them")
	case Loopback(host) && Loopback(shown):
		return nil
	}
	return refuse("cluster.listen", c.Listen, "members talk to other machines only with cluster.tls.caFile, certFile "+
		"and keyFile; hostnode cluster certs makes them")
}

func (e Etcd) check() error {
	if len(e.Endpoints) == 0 {
		return refuse("cluster.etcd.endpoints", "", "a cluster needs an etcd; write for example https://10.0.0.8:2379")
	}
	for i, endpoint := range e.Endpoints {
		err := checkURL(fmt.Sprintf("cluster.etcd.endpoints[%d]", i), endpoint, "https://10.0.0.8:2379",
			"; use certFile and keyFile")
		if err != nil {
			return err
		}
	}
	if (e.CertFile == "") != (e.KeyFile == "") {
		return refuse("cluster.etcd.certFile", e.CertFile, "certFile and keyFile belong together")
	}
	return nil
}

// splitAddress takes host:port apart.
func splitAddress(address string) (host string, port uint64, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.ParseUint(text, 10, 16)
	return host, port, err
}

// Loopback reports whether a host leads to this machine.
func Loopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }
