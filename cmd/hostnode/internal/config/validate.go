package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Validate checks what settings mean together. The limits of each one alone were
// checked when it was set.
func (c Config) Validate() error {
	checks := []func() error{c.checkChain, c.checkDevchain, c.checkContent}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func refuse(key, value, why string) error {
	return fmt.Errorf("%w: %s = %q: %s", ErrInvalid, key, value, why)
}

func (c Config) checkChain() error {
	endpoint, contract := c.Chain.Endpoint, c.Chain.Contract
	if endpoint == "" {
		if contract != "" {
			return refuse("chain.contract", contract, "the embedded development chain brings its own "+
				"contract; set chain.endpoint too, or remove it")
		}
		return nil
	}
	if scheme, _, isURL := strings.Cut(endpoint, "://"); isURL {
		u, err := url.Parse(endpoint)
		switch {
		case err != nil || u.Host == "":
			return refuse("chain.endpoint", endpoint, "not a URL")
		case scheme != "http" && scheme != "https" && scheme != "ws" && scheme != "wss":
			return refuse("chain.endpoint", endpoint, "unknown scheme; allowed: http, https, ws, wss, "+
				"or the path of an IPC socket")
		}
	} else if !filepath.IsAbs(endpoint) {
		return refuse("chain.endpoint", endpoint, "write a URL such as ws://127.0.0.1:8546, or the "+
			"absolute path of an IPC socket")
	}
	address, err := c.ContractAddress()
	if err != nil {
		return refuse("chain.contract", contract, "with chain.endpoint it must be the address of the "+
			"marketplace contract, 0x and 40 hex digits")
	}
	if address.Zero() {
		return refuse("chain.contract", contract, "the zero address is no contract")
	}
	return nil
}

// ContractAddress is chain.contract as an address.
func (c Config) ContractAddress() (events.Address, error) {
	return events.ParseAddress(c.Chain.Contract)
}

func (c Config) checkDevchain() error {
	d := c.Devchain
	for _, s := range []struct {
		key   string
		value time.Duration
	}{{"devchain.period", d.Period}, {"devchain.timeout", d.Timeout}} {
		if s.value%time.Second != 0 {
			return refuse(s.key, s.value.String(), "the contract counts whole seconds")
		}
	}
	if d.Timeout > d.Period {
		return refuse("devchain.timeout", d.Timeout.String(), fmt.Sprintf(
			"longer than devchain.period = %s", d.Period))
	}
	if d.HTTPPort != 0 && d.HTTPPort == d.WSPort {
		return refuse("devchain.wsPort", fmt.Sprint(d.WSPort), "devchain.httpPort has the same port")
	}
	return nil
}

func (c Config) checkContent() error {
	for i, source := range c.Content.Sources {
		u, err := url.Parse(source)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return refuse(fmt.Sprintf("content.sources[%d]", i), source,
				"not a URL; write for example http://10.0.0.7:8080")
		}
		if u.User != nil {
			return refuse(fmt.Sprintf("content.sources[%d]", i), u.Redacted(),
				"passwords do not belong into the configuration")
		}
	}
	return nil
}
