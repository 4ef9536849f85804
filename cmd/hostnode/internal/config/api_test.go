package config

import (
	"errors"
	"strings"
	"testing"
)

func TestTheAPIIsServedToOtherMachinesOnlyWithACertificate(t *testing.T) {
	for address, public := range map[string]bool{
		"127.0.0.1:8090": false, "localhost:0": false, "[::1]:8090": false,
		":8090": true, "0.0.0.0:8090": true, "[::]:8090": true, "10.0.0.7:8090": true, "host.example:8090": true,
	} {
		c := Config{API: API{Listen: address}}
		if c.API.Public() != public {
			t.Errorf("%s: other machines can reach it: %v", address, !public)
		}
		if err := c.checkAPI(); errors.Is(err, ErrInvalid) != public {
			t.Errorf("%s without a certificate: %v", address, err)
		}
		c.API.CertFile, c.API.KeyFile = "/a.crt", "/a.key"
		if err := c.checkAPI(); err != nil {
			t.Errorf("%s with one: %v", address, err)
		}
	}
}

func TestSettingsOfTheAPIThatCannotBe(t *testing.T) {
	for words, change := range map[string]func(a *API){
		"api.listen = \"here\"":            func(a *API) { a.Listen = "here" },
		"api.listen = \"localhost:99999\"": func(a *API) { a.Listen = "localhost:99999" },
		"belong together":                  func(a *API) { a.Listen, a.CertFile = "localhost:0", "/a.crt" },
		"api.hosts[1] = \"b:80\"":          func(a *API) { a.Hosts = []string{"a.example", "b:80"} },
		"api.hosts[0] = \"http://b\"":      func(a *API) { a.Hosts = []string{"http://b"} },
		"api.hosts[0] = \"*.b\"":           func(a *API) { a.Hosts = []string{"*.b"} },
		"api.hosts[0] = \"\"":              func(a *API) { a.Hosts = []string{""} },
	} {
		var a API
		change(&a)
		if err := (Config{API: a}).checkAPI(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: error %v", words, err)
		}
	}
	if err := (Config{API: API{Hosts: []string{"a.example", "10.0.0.7", "fd00::1"}}}).checkAPI(); err != nil {
		t.Error(err)
	}
}
