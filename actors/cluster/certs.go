package cluster

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

const (
	caCert, caKey = "ca.crt", "ca.key"
	// certsValid is how long certificates are valid. Members are few and known by name; one that
	// expires at night costs more than it protects from.
	certsValid = 10 * 365 * 24 * time.Hour
	clockSkew  = time.Hour // between the members
)

// MakeCA makes an authority for the members of a cluster: ca.crt, which each member needs, and
// ca.key, which none does, so that it can be kept elsewhere. Files that exist are never
// overwritten.
func MakeCA(dir, cluster string, now time.Time) error {
	if _, err := events.ParseMember(cluster); err != nil {
		return fmt.Errorf("make an authority: the cluster's name: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "hostnode cluster " + cluster},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certsValid),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	return writePair(dir, caCert, caKey, ca, ca, key, key)
}

// MakeMember makes a certificate for a member with the authority in dir: <member>.crt and
// <member>.key. Others know the member by its name in it; names and addresses of its machine may
// be added. Files that exist are never overwritten.
func MakeMember(dir, cluster string, m events.Member, hosts []string, now time.Time) error {
	for _, name := range []string{cluster, string(m)} {
		if _, err := events.ParseMember(name); err != nil {
			return fmt.Errorf("make a certificate: %w", err)
		}
	}
	authority, err := tls.LoadX509KeyPair(filepath.Join(dir, caCert), filepath.Join(dir, caKey))
	if err != nil {
		return fmt.Errorf("make a certificate for member %s: the authority: %w", m, err)
	}
	signer, ok := authority.PrivateKey.(crypto.Signer)
	if want := "hostnode cluster " + cluster; !ok || authority.Leaf.Subject.CommonName != want {
		return fmt.Errorf("make a certificate for member %s: the authority in %s is for %q, not for %q",
			m, dir, authority.Leaf.Subject.CommonName, want)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	name := addressOf(cluster, m)
	cert := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-clockSkew), NotAfter: authority.Leaf.NotAfter, DNSNames: []string{name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else if _, other := memberAt(cluster, host); host == "" || other || strings.ContainsAny(host, ":/* ") {
			return fmt.Errorf("make a certificate for member %s: %q is neither a machine's name nor its address", m, host)
		} else {
			cert.DNSNames = append(cert.DNSNames, host)
		}
	}
	return writePair(dir, string(m)+".crt", string(m)+".key", cert, authority.Leaf, key, signer)
}

// writePair signs a certificate and writes it with its key.
func writePair(dir, certName, keyName string, cert, by *x509.Certificate, key, signer crypto.Signer) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	cert.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, cert, by, key.Public(), signer)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files := []struct {
		name, kind string
		der        []byte
	}{
		{certName, "CERTIFICATE", der}, {keyName, "PRIVATE KEY", keyDER},
	}
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already and is not overwritten; remove it, or choose another directory",
				filepath.Join(dir, f.name))
		}
	}
	for _, f := range files {
		var text bytes.Buffer
		if err := pem.Encode(&text, &pem.Block{Type: f.kind, Bytes: f.der}); err != nil {
			return err
		}
		if err := writeNew(filepath.Join(dir, f.name), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// writeNew writes a file that only its owner may read.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
