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
	"sync"
	"sync/atomic"
	"time"

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

// Client is how a server such as etcd is asked with these files; nil: they name none.
func (f Files) Client(log *logrus.Entry) (*tls.Config, error) {
	c, _, err := f.client("", log)
	return c, err
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

// pair is a certificate with its key. Both files are read again when one of them has changed, so that nothing need be
// restarted to renew them: connections that begin later have the new certificate. While the new one cannot be
// used, the one before is. Safe for concurrent use.
type pair struct {
	files Files
	name  string         // that the certificate must be for; empty: any
	roots *x509.CertPool // of the authorities that it must be of; nil: any
	log   *logrus.Entry

	cert atomic.Pointer[tls.Certificate] // the newest that can be used

	mu     sync.Mutex // for reading the files:
	read   [2]stamp   // of those that cert was read from
	warned string     // why the new one cannot be used, if that was told
}

// stamp tells versions of a file apart.
type stamp struct {
	modified time.Time
	size     int64
}

func loadPair(f Files, name string, log *logrus.Entry) (*pair, error) {
	p := &pair{files: f, name: name, log: log}
	return p, p.load()
}

// load reads the files, if they are not those that were read before.
func (p *pair) load() error {
	var now [2]stamp
	for i, path := range []string{p.files.Cert, p.files.Key} {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("certificate %s with key %s: %w", p.files.Cert, p.files.Key, err)
		}
		now[i] = stamp{info.ModTime(), info.Size()}
	}
	if p.cert.Load() != nil && now == p.read {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(p.files.Cert, p.files.Key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", p.files.Cert, p.files.Key, err)
	}
	if p.name != "" {
		if err := cert.Leaf.VerifyHostname(p.name); err != nil {
			return fmt.Errorf("the certificate %s is for %s and not for %s: use the one of this member",
				p.files.Cert, strings.Join(cert.Leaf.DNSNames, ", "), p.name)
		}
	}
	if err := p.believed(&cert); err != nil {
		return err
	}
	p.cert.Store(&cert)
	p.read = now
	return nil
}

// believed says why no other member would believe a certificate; nil: it is of the authority, though perhaps not valid
// now.
func (p *pair) believed(cert *tls.Certificate) error {
	if p.roots == nil {
		return nil
	}
	between := x509.NewCertPool()
	for _, der := range cert.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	_, err := cert.Leaf.Verify(x509.VerifyOptions{
		Roots: p.roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	if err == nil || ok && invalid.Reason == x509.Expired {
		return nil
	}
	return fmt.Errorf("the certificate %s is not of the authority in %s, so no member would believe this one: %w",
		p.files.Cert, p.files.CA, err)
}

// now is the certificate to use now.
func (p *pair) now() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.cert.Load()
	if err := p.load(); err != nil {
		if text := err.Error(); text != p.warned {
			p.warned = text
			p.log.WithError(err).Warn("a certificate that has changed cannot be used, and the one before still is")
		}
		return before
	}
	p.warned = ""
	cert := p.cert.Load()
	if cert != before {
		p.log.WithField("certificate", p.files.Cert).WithField("until", cert.Leaf.NotAfter).
			Info("a renewed certificate is used for new connections")
	}
	return cert
}

// certificateLook is how often files are looked at, also when no connection begins.
const certificateLook = 10 * time.Second

// watchCertificates notices renewed certificates until Close.
func (c *Cluster) watchCertificates() {
	look := time.NewTicker(certificateLook)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			for _, p := range c.cfg.pairs {
				p.now()
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// CertificateEnds is the certificate of this member that ends first, for other members or for etcd, and when; an
// empty file: it has none. A renewed one is noticed within seconds.
func (c *Cluster) CertificateEnds() (file string, at time.Time) {
	for _, p := range c.cfg.pairs {
		if ends := p.cert.Load().Leaf.NotAfter; file == "" || ends.Before(at) {
			file, at = p.files.Cert, ends
		}
	}
	return file, at
}
