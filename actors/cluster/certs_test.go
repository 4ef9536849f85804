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
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// certificates makes an authority, and a certificate for each member, like hostnode cluster certs.
func certificates(t *testing.T, members ...events.Member) (dir string) {
	t.Helper()
	dir = t.TempDir()
	ca := &x509.Certificate{
		Subject: pkix.Name{CommonName: "a test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signer := certificate(t, dir, "ca", ca, ca, nil)
	for _, m := range members {
		name := string(m) + ".test.hostnode"
		certificate(t, dir, string(m), &x509.Certificate{
			Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: ca.NotAfter,
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}, ca, signer)
	}
	return dir
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
