package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Validate checks settings against each other. The limits of each were checked
// when it was set. What reads the text of a setting, such as ContractAddress, relies on it.
func (c Config) Validate() error {
	checks := []func() error{
		c.checkChain, c.checkDevchain, c.checkSigner, c.checkContent, c.checkEventStore, c.checkServeEvents,
		c.checkMoney, c.checkAlerts, c.checkValidator, c.checkSectors, c.checkRemoteProver, c.checkCluster,
		c.checkNodes,
		c.checkAggregation, c.checkAPI,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func refuse(key, value, why string) error {
	return fmt.Errorf("%w: %s = %q: %s", ErrInvalid, key, discreetly(key, value), why)
}

func (c Config) checkChain() error {
	endpoint, contract := c.Chain.Endpoint, c.Chain.Contract
	if endpoint == "" {
		if contract != "" {
			return refuse("chain.contract", contract, "the embedded development chain brings its own "+
				"contract; set chain.endpoint too, or remove it")
		}
		if len(c.Chain.Fallbacks) > 0 {
			return refuse("chain.fallbacks", c.Chain.Fallbacks[0], "the embedded development chain has no other "+
				"endpoint; set chain.endpoint too, or remove it")
		}
		return nil
	}
	if err := checkEndpoint("chain.endpoint", endpoint); err != nil {
		return err
	}
	for i, fallback := range c.Chain.Fallbacks {
		if err := checkEndpoint(fmt.Sprintf("chain.fallbacks[%d]", i), fallback); err != nil {
			return err
		}
	}
	address, err := events.ParseAddress(contract)
	if err != nil {
		return refuse("chain.contract", contract, "with chain.endpoint it must be the address of the "+
			"marketplace contract, 0x and 40 hex digits")
	}
	if address.Zero() {
		return refuse("chain.contract", contract, "the zero address is not a contract")
	}
	return nil
}

func checkEndpoint(key, endpoint string) error {
	scheme, _, isURL := strings.Cut(endpoint, "://")
	if !isURL {
		if !filepath.IsAbs(endpoint) {
			return refuse(key, endpoint, "write a URL such as ws://127.0.0.1:8546, or the "+
				"absolute path of an IPC socket")
		}
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "":
		return refuse(key, endpoint, "not a URL")
	case scheme != "http" && scheme != "https" && scheme != "ws" && scheme != "wss":
		return refuse(key, endpoint, "unknown scheme; allowed: http, https, ws, wss, or the "+
			"path of an IPC socket")
	}
	return nil
}

// ContractAddress is chain.contract as an address; zero: the embedded chain has its own.
func (c Config) ContractAddress() events.Address {
	return events.Must(optional(c.Chain.Contract, events.ParseAddress))
}

func (c Config) checkDevchain() error {
	const whole = "the contract counts whole seconds"
	switch d := c.Devchain; {
	case d.Period%time.Second != 0:
		return refuse("devchain.period", d.Period.String(), whole)
	case d.Timeout%time.Second != 0:
		return refuse("devchain.timeout", d.Timeout.String(), whole)
	case d.Timeout > d.Period:
		return refuse("devchain.timeout", d.Timeout.String(), fmt.Sprintf(
			"longer than devchain.period = %s", d.Period))
	case d.HTTPPort != 0 && d.HTTPPort == d.WSPort:
		return refuse("devchain.wsPort", fmt.Sprint(d.WSPort), "devchain.httpPort has the same port")
	}
	return nil
}

// checkEventStore checks only the form; the client reads the rest of a
// connection string (events/esdb).
func (c Config) checkEventStore() error {
	url := c.EventStore.URL
	if url == "" {
		if c.EventStore.PasswordFile != "" {
			return refuse("eventStore.passwordFile", c.EventStore.PasswordFile, "the embedded event store has no "+
				"password; set eventStore.url too, or remove it")
		}
		return nil
	}
	scheme, rest, _ := strings.Cut(url, "://")
	scheme = strings.TrimSuffix(scheme, "+discover")
	if rest == "" || scheme != "esdb" && scheme != "kurrentdb" {
		return refuse("eventStore.url", url, "not a connection string; write for example "+
			"esdb://user@eventstore.example.org:2113, or esdb://127.0.0.1:2113?tls=false")
	}
	return nil
}

func (c Config) checkServeEvents() error {
	s := c.ServeEvents
	if s.Listen == "" {
		return nil
	}
	host, _, err := splitAddress(s.Listen)
	switch {
	case err != nil:
		return refuse("serveEvents.listen", s.Listen, "write host:port, for example 127.0.0.1:2113")
	case c.EventStore.URL != "":
		return refuse("serveEvents.listen", s.Listen, "the events are in the EventStoreDB of eventStore.url; "+
			"let tools connect there")
	case (s.CertFile == "") != (s.KeyFile == ""):
		return refuse("serveEvents.certFile", s.CertFile, "certFile and keyFile belong together")
	case !Loopback(host) && (s.CertFile == "" || s.UsersFile == ""):
		return refuse("serveEvents.listen", s.Listen, "events are served to other machines only with "+
			"certFile, keyFile and usersFile; hostnode eventstore certificate and user make them")
	}
	return nil
}

// overHTTP reports whether a text is a URL for HTTP.
func overHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// checkURL refuses what is no URL for HTTP, one with a password, and plain HTTP to another machine.
func checkURL(key, text, example, instead string) error {
	u, _ := url.Parse(text)
	switch {
	case !overHTTP(text):
		return refuse(key, text, "not a URL; write for example "+example)
	case u.User != nil:
		return refuse(key, text, "passwords do not belong in the configuration"+instead)
	case u.Scheme == "http" && !Loopback(u.Hostname()):
		return refuse(key, text, "plain http is only allowed to this machine; write https://")
	}
	return nil
}

func (c Config) checkContent() error {
	for i, source := range c.Content.Sources {
		key := fmt.Sprintf("content.sources[%d]", i)
		if !overHTTP(source) {
			return refuse(key, source, "not a URL; write for example http://10.0.0.7:8080")
		}
		if u, _ := url.Parse(source); u.User != nil {
			return refuse(key, source, "passwords do not belong in the configuration")
		}
	}
	return nil
}

// RewardRecipient is account.rewardRecipient as an address; zero: the account.
func (c Config) RewardRecipient() events.Address {
	return events.Must(optional(c.Account.RewardRecipient, events.ParseAddress))
}

// MaxCollateralAtRisk is sales.maxCollateralAtRisk as an amount; nil: no limit.
func (c Config) MaxCollateralAtRisk() *events.Amount { return limitOf(c.Sales.MaxCollateralAtRisk) }

// limitOf reads an amount that limits others; nil: no limit.
func limitOf(text string) *events.Amount {
	if text == "" {
		return nil
	}
	return new(events.Must(events.ParseAmount(text)))
}

func (c Config) checkMoney() error {
	recipient := c.Account.RewardRecipient
	if to, err := optional(recipient, events.ParseAddress); err != nil || recipient != "" && to.Zero() {
		return refuse("account.rewardRecipient", recipient, "not an address; write 0x and 40 hex "+
			"digits, and not the zero address")
	}
	return checkAmount("sales.maxCollateralAtRisk", c.Sales.MaxCollateralAtRisk)
}

func checkAmount(key, text string) error {
	if _, err := optional(text, events.ParseAmount); err != nil {
		return refuse(key, text, "not an amount; write a whole number of the token's base units")
	}
	return nil
}

// optional reads the text of a setting that may be empty.
func optional[V any](text string, parse func(string) (V, error)) (v V, err error) {
	if text == "" {
		return v, nil
	}
	return parse(text)
}

func (c Config) checkAlerts() error {
	if hook := c.Alerts.Webhook; hook != "" && !overHTTP(hook) {
		return refuse("alerts.webhook", hook, "not a URL; write for example "+
			"https://alerts.example.org/hostnode")
	}
	return nil
}

func (c Config) checkValidator() error {
	v := c.Validator
	switch {
	case v.Groups == 1:
		return refuse("validator.groups", "1", "one group is all slots; write 0, or 2 to 65535")
	case v.GroupIndex > 0 && v.GroupIndex >= v.Groups:
		return refuse("validator.groupIndex", fmt.Sprint(v.GroupIndex), fmt.Sprintf(
			"there are validator.groups = %d, counted from 0", v.Groups))
	}
	return nil
}
