package eventserver

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/certs"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/internal/durable"
)

// Names of the files that MakeCertificates writes.
const (
	caFile   = "ca.crt"
	certFile = "server.crt"
	keyFile  = "server.key"
	// validFor is how long certificates are valid: long enough for a trial,
	// short enough that nobody forgets who made them.
	validFor = 397 * 24 * time.Hour
)

// Certificates are the files that MakeCertificates wrote.
type Certificates struct {
	CA      string    `json:"ca"`
	Cert    string    `json:"cert"`
	Key     string    `json:"key"`
	Expires time.Time `json:"expires"`
}

// MakeCertificates makes a certificate authority, and a certificate for these
// host names and addresses, at least one, for operators without an authority.
// The authority's key is deleted: it signs nothing else. Existing files are
// never overwritten.
func MakeCertificates(dir string, hosts []string, now time.Time) (Certificates, error) {
	if len(hosts) == 0 {
		return Certificates{}, fmt.Errorf("%w: a certificate is for at least one host name or address",
			config.ErrInvalid)
	}
	if err := certs.CheckHosts(hosts); err != nil {
		return Certificates{}, err
	}
	made := Certificates{
		CA: filepath.Join(dir, caFile), Cert: filepath.Join(dir, certFile), Key: filepath.Join(dir, keyFile),
		Expires: now.Add(validFor).UTC().Truncate(time.Second),
	}
	for _, path := range []string{made.CA, made.Cert, made.Key} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return made, fmt.Errorf("make certificates: %w: %s; choose another directory", certs.ErrExists, path)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return made, fmt.Errorf("make certificates: %w", err)
	}
	ca, cert, key, err := sign(hosts, now, made.Expires)
	if err != nil {
		return made, fmt.Errorf("make certificates: %w", err)
	}
	return made, errors.Join(
		durable.Replace(made.CA, ca), durable.Replace(made.Cert, cert), durable.Replace(made.Key, key))
}

// sign makes the authority and the certificate.
func sign(hosts []string, now, expires time.Time) (ca, cert, key []byte, err error) {
	const skew = time.Hour // of the clients' clocks
	authority := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "hostnode event store authority"},
		NotBefore: now.Add(-skew), NotAfter: expires, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "hostnode event store"},
		NotBefore: now.Add(-skew), NotAfter: expires,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certs.AddHosts(server, hosts)
	signer, ca, _, err := certs.Sign(authority, authority, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	_, cert, key, err = certs.Sign(server, authority, signer)
	return ca, cert, key, err
}
