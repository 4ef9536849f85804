package certs

import (
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

// authority signs the certificates of one cluster.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// authorityName is what the certificate of a cluster's authority is called.
func authorityName(cluster string) string { return "hostnode cluster " + cluster }

func newAuthority(o Order, now time.Time) (authority, error) {
	cert := &x509.Certificate{
		Subject:   pkix.Name{CommonName: authorityName(o.Cluster)},
		NotBefore: now.Add(-skew), NotAfter: now.AddDate(caYears, 0, 0).UTC().Truncate(time.Second),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if err := write(cert, cert, nil, filepath.Join(o.Dir, caFile), filepath.Join(o.Dir, caKeyFile)); err != nil {
		return authority{}, err
	}
	return loadAuthority(o, now)
}

// loadAuthority reads the authority in the directory. fs.ErrNotExist: there is none.
func loadAuthority(o Order, now time.Time) (a authority, err error) {
	certPath, keyPath := filepath.Join(o.Dir, caFile), filepath.Join(o.Dir, caKeyFile)
	_, noCert := os.Lstat(certPath)
	_, noKey := os.Lstat(keyPath)
	switch {
	case errors.Is(noCert, fs.ErrNotExist) && errors.Is(noKey, fs.ErrNotExist):
		return a, noCert
	case errors.Is(noCert, fs.ErrNotExist) || errors.Is(noKey, fs.ErrNotExist):
		return a, fmt.Errorf("%w: %s and %s belong together, and one is missing; name the directory that has both",
			ErrAuthority, certPath, keyPath)
	}
	der, err := block(certPath, "CERTIFICATE")
	if err != nil {
		return a, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return a, fmt.Errorf("%w: %s: %w", ErrAuthority, certPath, err)
	}
	if der, err = block(keyPath, "PRIVATE KEY"); err != nil {
		return a, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return a, fmt.Errorf("%w: %s: %w", ErrAuthority, keyPath, err)
	}
	signer, known := key.(*ecdsa.PrivateKey)
	switch name := a.cert.Subject.CommonName; {
	case !known || !signer.PublicKey.Equal(a.cert.PublicKey):
		return a, fmt.Errorf("%w: %s is not the key of %s", ErrAuthority, keyPath, certPath)
	case name != authorityName(o.Cluster) || !a.cert.IsCA:
		return a, fmt.Errorf("%w: %s is of %q, not of cluster %s; choose another directory",
			ErrAuthority, certPath, name, o.Cluster)
	case !now.Before(a.cert.NotAfter):
		return a, fmt.Errorf("%w: %s has expired at %s; make new certificates for all members in another directory",
			ErrAuthority, certPath, a.cert.NotAfter.UTC().Format(time.RFC3339))
	}
	a.key = signer
	return a, nil
}

// block reads a file with one PEM block of a kind.
func block(path, kind string) ([]byte, error) {
	text, err := config.ReadPrivate(path, maxFile)
	if err != nil {
		return nil, err
	}
	b, rest := pem.Decode(text)
	if b == nil || b.Type != kind || len(rest) > 0 {
		return nil, fmt.Errorf("%w: %s has no %s in PEM", ErrAuthority, path, kind)
	}
	return b.Bytes, nil
}
