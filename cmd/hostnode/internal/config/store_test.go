package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events/esdb"
)

func TestPasswordOfAConnectionStringIsNeverShown(t *testing.T) {
	for given, want := range map[string]string{
		"esdb://a:2113":                          "esdb://a:2113",
		"esdb://u@a:2113":                        "esdb://u@a:2113",
		"kurrentdb+discover://u@a":               "kurrentdb+discover://u@a",
		"esdb://u:p@a:2113?tls=false":            "esdb://u:***@a:2113?tls=false",
		"esdb+discover://u:p:q@a.example/x":      "esdb+discover://u:***@a.example/x",
		"esdb://u:p@q@a:1,b:2?tlsCaFile=/x@y:z@": "esdb://***@", // Where the password begins is not clear here.
		"nonsense":                               "nonsense",
	} {
		if got := esdb.Redact(given); got != want {
			t.Errorf("%s is shown as %s, want %s", given, got, want)
		}
	}
	l, err := Load(Sources{Environ: []string{
		"HOME=" + t.TempDir(), "HOSTNODE_EVENT_STORE_URL=esdb://u:hush@a:2113",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range l.Settings() {
		if strings.Contains(s.Value, "hush") {
			t.Errorf("%s is shown as %s", s.Key, s.Value)
		}
	}
	_, err = Load(Sources{Environ: []string{
		"HOME=" + t.TempDir(), "HOSTNODE_EVENT_STORE_URL=http://u:hush@a:2113",
	}})
	if !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "hush") {
		t.Errorf("wrong scheme: %v", err)
	}
}

func TestEventsAreServedBeyondThisMachineOnlyWithCertificateAndUsers(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve ServeEvents
		url   string
		ok    bool
	}{
		{"not at all", ServeEvents{}, "", true},
		{"loopback", ServeEvents{Listen: "127.0.0.1:2113"}, "", true},
		{"loopback by name", ServeEvents{Listen: "localhost:2113"}, "", true},
		{"loopback, version 6", ServeEvents{Listen: "[::1]:2113"}, "", true},
		{"no port", ServeEvents{Listen: "127.0.0.1"}, "", false},
		{"no port there is", ServeEvents{Listen: "127.0.0.1:99999"}, "", false},
		{"a port by name", ServeEvents{Listen: "127.0.0.1:events"}, "", false},
		{"everywhere", ServeEvents{Listen: ":2113"}, "", false},
		{"everywhere by number", ServeEvents{Listen: "0.0.0.0:2113"}, "", false},
		{"with a certificate only", ServeEvents{Listen: "10.0.0.1:2113", CertFile: "c", KeyFile: "k"}, "", false},
		{"with both", ServeEvents{Listen: "10.0.0.1:2113", CertFile: "c", KeyFile: "k", UsersFile: "u"}, "", true},
		{"half a certificate", ServeEvents{Listen: "127.0.0.1:2113", CertFile: "c"}, "", false},
		{"no port", ServeEvents{Listen: "127.0.0.1"}, "", false},
		{"of another store", ServeEvents{Listen: "127.0.0.1:2113"}, "esdb://a:2113", false},
	} {
		cfg := Default()
		cfg.ServeEvents, cfg.EventStore.URL = c.serve, c.url
		if err := cfg.Validate(); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
