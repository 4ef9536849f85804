package rpc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestEndpointsAreToldWithoutTheirSecrets(t *testing.T) {
	cases := map[string]string{
		"/run/geth.ipc":                                        "/run/geth.ipc",
		"ws://127.0.0.1:8546":                                  "ws://127.0.0.1:8546",
		"https://node.example.org/rpc":                         "https://node.example.org/rpc",
		"https://me:pa%24s@node.example.org/":                  "https://me:***@node.example.org/",
		"wss://token@node.example.org":                         "wss://***@node.example.org",
		"https://node.example.org/v3/0123456789abcdef01234567": "https://node.example.org/v3/***",
		"https://node.example.org/rpc?key=abcdef&x=1":          "https://node.example.org/rpc?***",
		"https://a b:x@[::1":                                   "https://***",
	}
	for endpoint, want := range cases {
		if got := Redact(endpoint); got != want {
			t.Errorf("%s is told as %s, want %s", endpoint, got, want)
		}
	}
}

func TestErrorsShowNoSecretOfTheirEndpoint(t *testing.T) {
	inner := errors.New("inner")
	for endpoint, secrets := range map[string][]string{
		"https://me:pa%24s@node.example.org/":                  {"pa%24s", "pa$s"},
		"https://node.example.org/v3/0123456789abcdef01234567": {"0123456789abcdef01234567"},
		"https://node.example.org/rpc?key=abcdef":              {"abcdef"},
	} {
		e := newEndpoint(endpoint)
		err := e.hide(fmt.Errorf("Post %q (%s): %w", endpoint, strings.Join(secrets, " "), inner))
		for _, secret := range secrets {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q shows %s", err, secret)
			}
		}
		if !errors.Is(err, inner) {
			t.Errorf("%q lost its cause", err)
		}
	}
}
