package cluster_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// authority makes certificates for the members of a test, like hostnode cluster certs.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{dir: t.TempDir(), cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: "a test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	a.key = certificate(t, a.dir, "ca", a.cert, a.cert, nil)
	return a
}

// make writes the certificate of a member, for this machine too, and its key, also in place of an older pair.
func (a authority) make(t *testing.T, m events.Member) {
	t.Helper()
	name := string(m) + ".test.hostnode"
	certificate(t, a.dir, string(m), &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: a.cert.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, a.key)
}

// certificates makes an authority, and a certificate for each member.
func certificates(t *testing.T, members ...events.Member) (dir string) {
	t.Helper()
	a := newAuthority(t)
	for _, m := range members {
		a.make(t, m)
	}
	return a.dir
}

// bundle writes the certificates of several authorities into one file.
func bundle(t *testing.T, dirs ...string) (path string) {
	t.Helper()
	var all []byte
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	path = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate writes NAME.crt and NAME.key; without a signer it signs itself.
func certificate(t *testing.T, dir, name string, cert, by *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	key, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if signer == nil {
		signer = key
	}
	serial, err2 := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	cert.SerialNumber = serial
	der, err3 := x509.CreateCertificate(rand.Reader, cert, by, key.Public(), signer)
	keyDER, err4 := x509.MarshalPKCS8PrivateKey(key)
	write := func(ext, kind string, b []byte) error {
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})
		return os.WriteFile(filepath.Join(dir, name+ext), text, 0o600)
	}
	if err := errors.Join(err1, err2, err3, err4, write(".crt", "CERTIFICATE", der),
		write(".key", "PRIVATE KEY", keyDER)); err != nil {
		t.Fatal(err)
	}
	return key
}
