package esdb

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// hints say what to check when a connection cannot be made, by the texts of the
// libraries' errors. Those about settings, rather than the server, make Open
// fail at once.
var hints = []struct {
	part  string
	hint  string
	final bool
}{
	{
		"certificate signed by unknown authority",
		"check tlsCaFile: it must hold the authority that signed the server's certificate", true,
	},
	{
		"certificate has expired or is not yet valid",
		"check the validity of the server's certificate, and the clocks of both machines", true,
	},
	{
		"certificate is valid for", "check the host name: write one that the server's certificate is made for", true,
	},
	{"doesn't contain any IP SANs", "check the host: write the name that the server's certificate is made for", true},
	{"certificate is not valid for any names", "check the names in the server's certificate", true},
	{
		"certificate required",
		"the server wants a user certificate: check userCertFile and userKeyFile", true,
	},
	{"bad certificate", "the server refuses the user certificate: check userCertFile and userKeyFile", true},
	{"unknown certificate", "the server refuses the user certificate: check who signed userCertFile", true},
	{"expired certificate", "the user certificate has expired: check userCertFile", true},
	{
		"first record does not look like a TLS handshake",
		"the server does not speak TLS: check the port, or add tls=false for a server without TLS", true,
	},
	{
		"frame header looked like an HTTP/1.1 header",
		"something else than an event store answers there, or it wants TLS: check the port, and tls=false", true,
	},
	{"unknown service event_store", "something else than an event store answers there: check host and port", true},
	{
		"error reading server preface",
		"the connection ends at once: check the port, and whether the server wants TLS (tls=false in the URL)", false,
	},
	{"no such host", "check the host name", false},
	{"produced zero addresses", "check the host name", false},
	{"connection refused", "check that the server runs, and the port", false},
	{"no children to pick from", "check the host name", false},
	{
		"while waiting for connections to become ready",
		"something takes the connection and says nothing, or the address leads nowhere: check host and port", false,
	},
}

// ErrSettings marks an error of Open that goes away only when the settings, or
// the server's, are changed. It comes with events.ErrAway.
var ErrSettings = errors.New("the connection cannot be made with these settings")

// withHint adds what to check.
func withHint(text string) string {
	for _, h := range hints {
		if strings.Contains(text, h.part) {
			return text + " (" + h.hint + ")"
		}
	}
	return text
}

// markSettings wraps an error that waiting does not cure.
func markSettings(err error) error {
	text := err.Error()
	for _, h := range hints {
		if !h.final || !strings.Contains(text, h.part) {
			continue
		}
		if !strings.Contains(text, h.hint) {
			err = fmt.Errorf("%w (%s)", err, h.hint)
		}
		if !errors.Is(err, events.ErrAway) {
			err = away(err)
		}
		return fmt.Errorf("%w: %w", ErrSettings, err)
	}
	return err
}
