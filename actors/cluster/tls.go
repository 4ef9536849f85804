package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sirupsen/logrus"

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
func (f Files) members(name string, log *logrus.Entry) (*tls.Config, *pair, error) {
	if f.none() {
		return nil, nil, nil
	}
	if f.CA == "" || f.Cert == "" || f.Key == "" {
		return nil, nil, errors.New("members know each other by three files: the authority's certificate, " +
			"the member's certificate and its key; one is missing")
	}
	c, own, err := f.client(name, log)
	if err != nil {
		return nil, nil, err
	}
	c.ClientCAs, c.ClientAuth = c.RootCAs, tls.RequireAndVerifyClientCert
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own.now(), nil }
	return c, own, nil
}

// client is how a server is asked, with a certificate of this name; empty: of any. Nil without files; the pair is
// nil without a certificate.
func (f Files) client(name string, log *logrus.Entry) (c *tls.Config, own *pair, err error) {
	if f.none() {
		return nil, nil, nil
	}
	c = &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, nil, fmt.Errorf("the authority's certificate: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, nil, fmt.Errorf("the authority's certificate: no certificate (PEM) in %s", f.CA)
		}
	}
	if f.Cert != "" || f.Key != "" {
		if own, err = loadPair(f, name, log); err != nil {
			return nil, nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own.now(), nil }
	}
	return c, own, nil
}
