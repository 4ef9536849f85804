package events_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
)

func TestAURLIsShownWithoutItsSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"/run/geth.ipc":                        "/run/geth.ipc",
		"ws://127.0.0.1:8546":                  "ws://127.0.0.1:8546",
		"http://h/ipfs?x":                      "http://h/ipfs?***",
		"https://h/#planted":                   "https://h/",
		"https://h/a?b=planted":                "https://h/a?***",
		"wss://planted@h/":                     "wss://***@h/",
		"https://me:planted@h":                 "https://me:***@h",
		"https://h/v3/plantedplantedplanted/x": "https://h/v3/***/x",
		"https://h/v3/planted%24planted":       "https://h/v3/***",
		"https://me:plan@ted/planted@h":        "https://***@h",
		"https://pl anted:x@[::1":              "https://***",
	} {
		name, secrets := events.RedactURL(text)
		if name != want {
			t.Errorf("%s is shown as %s, want %s", text, name, want)
		}
		said := events.HideSecrets(fmt.Sprintf("Get %q: refused", text), secrets)
		if strings.Contains(said, "planted") && !strings.Contains(text, "pl anted") {
			t.Errorf("%s: an error shows %s", text, said)
		}
	}
	name, secrets := events.RedactURL("esdb://admin@a:1,b:2?TLS=true&userCertFile=planted&x=planted", "tls")
	if name != "esdb://admin@a:1,b:2?TLS=true&***" || len(secrets) == 0 {
		t.Errorf("%s, %v", name, secrets)
	}
}

func TestAnErrorWithoutItsSecretsIsStillTheError(t *testing.T) {
	err := events.WithoutSecrets(fmt.Errorf("dial %w at s3cret-and-more, s3cret, x", io.EOF), []string{"s3cret", "s3cret-and-more", "x"})
	if !errors.Is(err, io.EOF) || err.Error() != "dial EOF at ***, ***, x" {
		t.Fatal(err)
	}
}
