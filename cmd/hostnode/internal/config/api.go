package config

import (
	"fmt"
	"net"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// API serves the HTTP API over TCP. Orders need a token there, which hostnode token new makes.
type API struct {
	// Listen is an address such as 127.0.0.1:8090. Empty: the API is not served over TCP. On an address that
	// other machines can reach it needs certFile and keyFile, and questions need a token, too.
	Listen string `key:"listen"`
	// CertFile is a certificate with its chain (PEM); it is read again when it changes. Empty: plain text,
	// which is only allowed on a loopback address.
	CertFile string `key:"certFile"`
	// KeyFile is the private key of the certificate, readable only by its owner (mode 0600).
	KeyFile string `key:"keyFile"`
	// Hosts are names and addresses, without ports, by which clients may ask for the host, beside that of
	// listen, localhost and 127.0.0.1: for example that of a proxy in front.
	Hosts []string `key:"hosts" max:"64"`
	// Codex serves the REST API of Codex as well, below /api/codex and /api/storage, for its SDK.
	Codex bool `key:"codex" def:"false"`
	// Pprof serves profiles of the process below /debug/pprof, to this machine and to who has a token of scope
	// operate. They show what is in its memory.
	Pprof bool `key:"pprof" def:"false"`
	// RequestsPerSecond is how many requests an address may make in a second, in the long run.
	RequestsPerSecond int `key:"requestsPerSecond" def:"50" min:"1" max:"100000"`
	// Burst is how many requests it may make at once.
	Burst int `key:"burst" def:"200" min:"1" max:"100000"`
	// FailuresPerMinute is how many requests with a wrong token are answered to an address in a minute, and logged.
	FailuresPerMinute int `key:"failuresPerMinute" def:"10" min:"1" max:"1000"`
	// Connections is how many clients may be connected at the same time; further ones wait.
	Connections int `key:"connections" def:"1024" min:"1" max:"65536"`
	// MaxBody is the most bytes of a request's body; uploads have limits of their own.
	MaxBody events.Bytes `key:"maxBody" def:"1MiB" min:"1KiB" max:"64MiB"`
	// MaxUpload is the most bytes of an upload through Codex's API.
	MaxUpload events.Bytes `key:"maxUpload" def:"10GiB" min:"64KiB" max:"1TiB"`
}

// Public reports whether other machines can reach the API.
func (a API) Public() bool {
	host, _, _ := splitAddress(a.Listen)
	return !Loopback(host)
}

func (c Config) checkAPI() error {
	a := c.API
	for i, host := range a.Hosts {
		if net.ParseIP(host) == nil && (host == "" || strings.ContainsAny(host, "/:@* ")) {
			return refuse(fmt.Sprintf("api.hosts[%d]", i), host, "write a name or an address, without scheme and port")
		}
	}
	_, _, err := splitAddress(a.Listen)
	switch {
	case a.Listen == "":
		return nil
	case err != nil:
		return refuse("api.listen", a.Listen, "write host:port, for example 127.0.0.1:8090")
	case (a.CertFile == "") != (a.KeyFile == ""):
		return refuse("api.certFile", a.CertFile, "certFile and keyFile belong together")
	case a.Public() && a.CertFile == "":
		return refuse("api.listen", a.Listen, "other machines are only answered with certFile and keyFile; or listen "+
			"on 127.0.0.1, behind a proxy that has a certificate")
	}
	return nil
}
