package cluster

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
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
	own.roots = c.RootCAs
	if err := own.believed(own.cert.Load()); err != nil {
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

// authorities are fingerprints of the keys of the authorities that a member believes, sorted; plainText without
// files.
func (f Files) authorities() ([]string, error) {
	if f.none() {
		return []string{plainText}, nil
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("the authority's certificate: %w", err)
	}
	var all []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the authority's certificate: %s: %w", f.CA, err)
		}
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo) // It stays when the certificate is renewed.
		all = append(all, hex.EncodeToString(sum[:8]))
	}
	if slices.Sort(all); len(slices.Compact(all)) > mostAuthorities {
		return nil, fmt.Errorf("the authority's certificate: %s has %d, and members believe %d at most",
			f.CA, len(all), mostAuthorities)
	}
	return slices.Compact(all), nil
}

const (
	// mostAuthorities is how many a member believes: two while one is replaced, each with some below it.
	mostAuthorities = 8
	// plainText stands for the authority of members that have none.
	plainText = "none: plain text"
)

// strangers says that two members have no authority in common, so that neither would believe the other; empty: they
// have one, or an older version does not say which it has.
func strangers(ours, theirs []string) string {
	if len(theirs) == 0 || slices.ContainsFunc(ours, func(one string) bool { return slices.Contains(theirs, one) }) {
		return ""
	}
	return fmt.Sprintf("the authority of the certificates (cluster.tls.caFile) is %s here and %s there",
		strings.Join(ours, " or "), strings.Join(theirs, " or "))
}
