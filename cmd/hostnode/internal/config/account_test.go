package config

import (
	"errors"
	"strings"
	"testing"
)

func TestEitherAKeyFileSignsOrASigner(t *testing.T) {
	const account = "0x00000000000000000000000000000000000000cc"
	at := func(signer string) func(*Config) {
		return func(c *Config) { c.Account.Signer, c.Account.Address = signer, account }
	}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string // empty: it is allowed
	}{
		"on this machine":          {at("http://127.0.0.1:8550"), ""},
		"on this machine, by name": {at("http://localhost:8550"), ""},
		"on another machine":       {at("https://signer.example.org"), ""},
		"at a socket":              {at("/run/clef.ipc"), ""},
		"in a member": {func(c *Config) {
			at("/run/clef.ipc")(c)
			c.Cluster = member(func(*Config) {}).Cluster
			c.Chain, c.EventStore = member(func(*Config) {}).Chain, member(func(*Config) {}).EventStore
		}, ""},

		"in plain text":   {at("http://10.0.0.7:8550"), "plain http is only allowed to this machine"},
		"by another name": {at("http://localhost.example.org:8550"), "plain http is only allowed to this machine"},
		"a password":      {at("https://me:secret@signer.example.org"), "passwords do not belong in the configuration"},
		"a websocket":     {at("ws://127.0.0.1:8550"), "not a URL; write for example http://"},
		"no path":         {at("clef.ipc"), "absolute path of an IPC socket"},
		"no host":         {at("http://"), "not a URL"},
		"no account":      {func(c *Config) { c.Account.Signer = "/run/clef.ipc" }, `account.address = "": with account.signer`},
		"another account": {func(c *Config) {
			c.Account.Signer, c.Account.Address = "/run/clef.ipc", "0x12"
		}, "account.address = \"0x12\": not an address"},
		"a key file": {func(c *Config) {
			at("/run/clef.ipc")(c)
			c.Account.KeyFile = "/k"
		}, "either a key file signs or a signer"},
		"in a member that sends nothing": {func(c *Config) {
			at("/run/clef.ipc")(c)
			c.Account.Transactions = false
		}, "this member signs nothing"},
		"an account without a signer": {func(c *Config) { c.Account.Address = account }, "processes that have no key"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Default()
			c.change(&cfg)
			err := cfg.Validate()
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("got %v, want %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Fatalf("%v shows the password", err)
			}
		})
	}
}
