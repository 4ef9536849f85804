package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// Files name an authority's certificate, and a certificate with its key, as PEM.
type Files struct{ CA, Cert, Key string }

func (f Files) none() bool { return f == Files{} }

// domain ends the address of every member.
const domain = "hostnode"

// addressOf is the address of a member in the actor library, and its name in its certificate.
func addressOf(cluster string, m events.Member) string {
	return fmt.Sprintf("%s.%s.%s", m, cluster, domain)
}

// memberAt is the member that has an address.
func memberAt(cluster, address string) (events.Member, bool) {
	name, found := strings.CutSuffix(address, "."+cluster+"."+domain)
	m, err := events.ParseMember(name)
	return m, found && err == nil
}

// members is how members speak to each other: each shows a certificate of the authority that has
// its name. Nil without files.
func (f Files) members(name string) (*tls.Config, error) {
	if f.none() {
		return nil, nil
	}
	if f.CA == "" || f.Cert == "" || f.Key == "" {
		return nil, errors.New("members know each other by three files: the authority's certificate, " +
			"the member's certificate and its key; one is missing")
	}
	c, err := f.client()
	if err != nil {
		return nil, err
	}
	leaf := c.Certificates[0].Leaf
	if err := leaf.VerifyHostname(name); err != nil {
		return nil, fmt.Errorf("the certificate %s is for %s and not for %s: use the one of this member",
			f.Cert, strings.Join(leaf.DNSNames, ", "), name)
	}
	c.ClientCAs, c.ClientAuth = c.RootCAs, tls.RequireAndVerifyClientCert
	return c, nil
}

// client is how a server is asked. Nil without files.
func (f Files) client() (*tls.Config, error) {
	if f.none() {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("the authority's certificate: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("the authority's certificate: no certificate (PEM) in %s", f.CA)
		}
	}
	if f.Cert != "" || f.Key != "" {
		cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}
