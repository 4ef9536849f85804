package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// member are the settings of a member that is complete, on one machine.
func member(change func(*Config)) Config {
	c := Default()
	c.Chain.Endpoint, c.Chain.Contract = "ws://127.0.0.1:8546", "0x00000000000000000000000000000000000000aa"
	c.EventStore.URL = "esdb://127.0.0.1:2113?tls=false"
	c.Cluster.Name, c.Cluster.Member, c.Cluster.Listen = "home", "north", "127.0.0.1:7946"
	c.Cluster.Etcd.Endpoints = []string{"http://127.0.0.1:2379"}
	change(&c)
	return c
}

func TestAMembersSettingsMustFitTogether(t *testing.T) {
	const account = "0x00000000000000000000000000000000000000cc"
	files := ClusterTLS{CAFile: "/c/ca.pem", CertFile: "/c/north.pem", KeyFile: "/c/north.key"}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string // empty: they do
	}{
		"one machine":          {func(*Config) {}, ""},
		"one machine, by name": {func(c *Config) { c.Cluster.Listen = "localhost:0" }, ""},
		"several machines": {func(c *Config) {
			c.Cluster.Listen, c.Cluster.TLS = "10.0.0.7:7946", files
			c.Cluster.Etcd.Endpoints = []string{"https://10.0.0.8:2379", "https://etcd.example.org:2379"}
		}, ""},
		"everywhere, told where": {func(c *Config) {
			c.Cluster.Listen, c.Cluster.Advertise, c.Cluster.TLS = ":7946", "north.example.org:7946", files
		}, ""},
		"without a key": {func(c *Config) { c.Account.Transactions, c.Account.Address = false, account }, ""},
		"with both":     {func(c *Config) { c.Account.Address = account }, ""},

		"no name":          {func(c *Config) { c.Cluster.Name = "" }, `cluster.name = "": cluster.member is set`},
		"no member":        {func(c *Config) { c.Cluster.Member = "" }, `cluster.member = "": cluster.name is set`},
		"a name like none": {func(c *Config) { c.Cluster.Name = "My home" }, `cluster.name = "My home": not a name`},
		"a long member": {
			func(c *Config) { c.Cluster.Member = strings.Repeat("n", 41) }, "not a name; write up to 40 lower-case letters",
		},
		"no event store":     {func(c *Config) { c.EventStore.URL = "" }, `eventStore.url = "": the members of a cluster share`},
		"an embedded chain":  {func(c *Config) { c.Chain = Default().Chain }, `chain.endpoint = "": the embedded`},
		"sectors":            {func(c *Config) { c.Sectors.Sealer, c.Sectors.Contract = "commd", account }, "cannot seal sectors yet"},
		"half a second":      {func(c *Config) { c.Cluster.Lease = 2500 * time.Millisecond }, "whole seconds"},
		"no key, no account": {func(c *Config) { c.Account.Transactions = false }, `account.address = "": with account.transactions`},
		"no address":         {func(c *Config) { c.Account.Address = "0x12" }, "not an address"},
		"the zero address": {func(c *Config) {
			c.Account.Address = "0x0000000000000000000000000000000000000000"
		}, "not the zero address"},
		"no listen":        {func(c *Config) { c.Cluster.Listen = "" }, "cluster.listen"},
		"no port":          {func(c *Config) { c.Cluster.Listen = "127.0.0.1" }, "write host:port"},
		"everywhere":       {func(c *Config) { c.Cluster.Listen = ":7946" }, "must be told where this one is"},
		"everywhere, by 0": {func(c *Config) { c.Cluster.Listen = "0.0.0.0:7946" }, "must be told where this one is"},
		"told nowhere":     {func(c *Config) { c.Cluster.Advertise = "[::]:7946" }, "must be told where this one is"},
		"told no port":     {func(c *Config) { c.Cluster.Advertise = "north.example.org:0" }, "must be told where"},
		"told what":        {func(c *Config) { c.Cluster.Advertise = "north" }, `cluster.advertise = "north": write host:port`},
		"plain text":       {func(c *Config) { c.Cluster.Listen = "10.0.0.7:7946" }, "only with cluster.tls.caFile"},
		"plain text, told": {func(c *Config) { c.Cluster.Advertise = "10.0.0.7:7946" }, "only with cluster.tls.caFile"},
		"half of TLS":      {func(c *Config) { c.Cluster.TLS.CAFile = "/c/ca.pem" }, "belong together"},
		"no etcd":          {func(c *Config) { c.Cluster.Etcd.Endpoints = nil }, "a cluster needs an etcd"},
		"an etcd like none": {
			func(c *Config) { c.Cluster.Etcd.Endpoints = []string{"http://127.0.0.1:2379", "10.0.0.8:2379"} },
			`cluster.etcd.endpoints[1] = "10.0.0.8:2379": not a URL`,
		},
		"a password of etcd": {
			func(c *Config) { c.Cluster.Etcd.Endpoints = []string{"https://me:hush@10.0.0.8:2379"} }, "passwords do not belong",
		},
		"plain etcd": {
			func(c *Config) { c.Cluster.Etcd.Endpoints = []string{"http://10.0.0.8:2379"} }, "plain http is only allowed",
		},
		"half an etcd": {func(c *Config) { c.Cluster.Etcd.KeyFile = "/c/k" }, "certFile and keyFile belong together"},
	} {
		t.Run(name, func(t *testing.T) {
			err := member(c.change).Validate()
			if c.want == "" && err == nil {
				return
			}
			if c.want == "" || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want ErrInvalid with %q", err, c.want)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Fatalf("%v repeats the password", err)
			}
		})
	}
}

func TestWithoutAClusterItsSettingsAreRefused(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"--cluster-listen=127.0.0.1:7946", `cluster.listen = "127.0.0.1:7946": it belongs to a cluster`},
		{"--cluster-etcd-endpoints=http://a:1,http://b:1", "cluster.etcd.endpoints"},
		{"--cluster-tls-key-file=/c/k", "cluster.tls.keyFile"},
		{"--cluster-lease=7s", "cluster.lease"},
		{"--account-transactions=false", "this process is the whole host"},
		{"--account-address=0x00000000000000000000000000000000000000cc", "processes that have no key"},
	} {
		if _, err := load(t, nil, c.arg); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.arg, err)
		}
	}
}

func TestAMemberIsWhatItsSettingsSay(t *testing.T) {
	c := member(func(c *Config) { c.Account.Address = "0x00000000000000000000000000000000000000cc" })
	address := c.AccountAddress()
	if !c.Clustered() || c.Member() != "north" || address.String() != c.Account.Address {
		t.Fatalf("%v, %q, %s", c.Clustered(), c.Member(), address)
	}
	one := Default()
	if address := one.AccountAddress(); one.Clustered() || one.Member() != "" || !address.Zero() {
		t.Fatalf("%v, %q, %s", one.Clustered(), one.Member(), address)
	}
}
