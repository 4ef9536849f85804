package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// planted has values of each kind, with a secret in each place where such a value can have one.
var planted = map[string][]string{
	"url": {
		"https://me:planted-secret@a.example/", "wss://planted-secret@a.example", "https://a.example/?key=planted-secret",
		"https://a.example/v3/planted-secret-of-32-characters", "https://a.example/#planted-secret",
		"me:planted-secret@a.example", "ftp://me:planted-secret@a.example", "http://me:planted-secret@[::1",
	},
	"store": {
		"esdb://me:planted-secret@a.example:2113?tls=false", "esdb://a.example?key=planted-secret",
		"me:planted-secret@a.example", "http://me:planted-secret@a.example", "esdb://me:planted-secret@a:1,b:2",
	},
	"webhook": {
		"https://a.example/planted-secret", "https://me:planted-secret@a.example/x", "https://a.example/?planted-secret",
		"https://a.example/short/planted-secret", "ftp://a.example/planted-secret", "planted-secret@a.example",
	},
	"command": {"curl -H planted-secret https://a.example", "TOKEN=planted-secret page-me", "page --token=planted-secret"},
}

// plain are the texts among the settings that are no secrets: names, addresses and paths.
var plain = []string{
	"dataDir", "log.level", "log.format", "chain.contract", "chain.finality", "account.keyFile", "account.passwordFile",
	"account.rewardRecipient", "sales.maxCollateralAtRisk", "sales.dispersal", "prover.keysDir",
	"account.address", "cluster.name", "cluster.member", "cluster.listen", "cluster.advertise",
	"cluster.etcd.caFile", "cluster.etcd.certFile", "cluster.etcd.keyFile",
	"cluster.tls.caFile", "cluster.tls.certFile", "cluster.tls.keyFile",
	"eventStore.passwordFile", "serveEvents.listen", "serveEvents.certFile", "serveEvents.keyFile",
	"serveEvents.usersFile", "serveEvents.advertise", "sectors.sealer", "sectors.contract", "sectors.directory",
	"sectors.maxDeposits", "sectors.withdrawMin", "sectors.remote.tokenFile", "sectors.remote.proves",
	"sectors.remote.callbackListen", "nodes.probe.listen", "nodes.notes", "nodes.rules.set",
	"nodes.rules.disqualification", "aggregation.packer", "aggregation.keep", "aggregation.sources.roots",
	"aggregation.broker.kind", "aggregation.broker.tokenFile", "aggregation.broker.listen",
	"aggregation.broker.callbackTokenFile", "api.listen", "api.certFile", "api.keyFile", "api.hosts",
	"alerts.format", "alerts.keyFile",
}

// TestNoSecretOfASettingIsEverShown checks all settings: whoever adds one with text must say
// whether it is secret.
func TestNoSecretOfASettingIsEverShown(t *testing.T) {
	var c Config
	for _, s := range settings(&c) {
		kind := s.field.Tag.Get("secret")
		if k := s.field.Type.Kind(); k != reflect.String && k != reflect.Slice {
			continue
		}
		if kind == "" {
			if !slices.Contains(plain, s.key) {
				t.Errorf("is %s secret? Mark it, or say here that it is not", s.key)
			}
			continue
		}
		if len(planted[kind]) == 0 {
			t.Errorf("%s is secret as %q, which nobody knows", s.key, kind)
		}
		for _, value := range planted[kind] {
			loaded, err := Load(Sources{Environ: []string{"HOME=/home/me", s.variable() + "=" + value}})
			var outputs []string
			if err != nil {
				if !errors.Is(err, ErrInvalid) {
					t.Errorf("%s = %s: %v", s.key, value, err)
				}
				outputs = append(outputs, err.Error())
			}
			for _, shown := range loaded.Settings() {
				outputs = append(outputs, shown.Value, shown.Default)
			}
			for _, recorded := range loaded.Recorded([]byte("key")) {
				outputs = append(outputs, fmt.Sprintf("%+v", recorded))
				if err == nil && recorded.Key == s.key && (recorded.Seal == "" || recorded.Source != "environment") {
					t.Errorf("that %s = %s changes is not seen: %+v", s.key, value, recorded)
				}
			}
			for _, out := range outputs {
				if strings.Contains(out, "planted-secret") {
					t.Errorf("%s = %s is shown: %s", s.key, value, out)
				}
			}
			if err := s.set(value); err != nil {
				t.Fatal(err)
			}
			said := events.HideSecrets("cannot do it with "+value, c.Secrets())
			if strings.Contains(said, "planted-secret") {
				t.Errorf("%s = %s is said: %s", s.key, value, said)
			}
			if err := s.set(""); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWhatIsNoSecretIsShown(t *testing.T) {
	for kind, values := range map[string]map[string]string{
		"url":     {"ws://127.0.0.1:8546": "ws://127.0.0.1:8546", "/run/geth.ipc": "/run/geth.ipc", "": ""},
		"store":   {"esdb://me@a:1,b:2?tls=false": "esdb://me@a:1,b:2?tls=false"},
		"webhook": {"https://a.example/x": "https://a.example/***", "https://a.example": "https://a.example"},
		"command": {"/usr/local/bin/page-me": "/usr/local/bin/page-me", "mail -s x": "mail ***"},
	} {
		for text, want := range values {
			if got, _ := redact(kind, text); got != want {
				t.Errorf("%s %s is shown as %s, want %s", kind, text, got, want)
			}
		}
	}
}
