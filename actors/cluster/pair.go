package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

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
