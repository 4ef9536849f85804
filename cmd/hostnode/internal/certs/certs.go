// Package certs makes certificates for operators without an authority of their own: a small
// authority for each cluster, and a certificate for each of its members. The certificate of an
// event store is made by package eventserver.
package certs

import (
	"cmp"
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
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
)

var (
	// ErrExists: a file that would be written is there already.
	ErrExists = errors.New("the file is there already")
	// ErrAuthority: the authority in the directory cannot sign for this cluster.
	ErrAuthority = errors.New("the authority cannot be used")
)

const (
	// Names of the authority's files in the directory.
	caFile    = "ca.crt"
	caKeyFile = "ca.key"
	// caYears and memberYears are how long certificates are valid. Members get new ones by running
	// the command again; a new authority means new certificates for all.
	caYears, memberYears = 10, 2
	// skew is how far the clock of another machine may be behind.
	skew = time.Hour
	// maxFile is the most bytes of a file of the authority; it has less than one KiB.
	maxFile = 64 << 10
)

// Order is what is wanted.
type Order struct {
	// Dir is made if it does not exist. If it has an authority, that signs.
	Dir string
	// Cluster is the name of the cluster, Members the names of those who get a certificate.
	Cluster string
	Members []string
	// Hosts are names and addresses of machines, for tools that check them; they are in the
	// certificate of each of these members. The members themselves only check ServerName.
	Hosts []string
}

// Made are the files of a cluster's members.
type Made struct {
	CA    string `json:"ca"`
	CAKey string `json:"caKey"`
	// NewCA says that there was no authority.
	NewCA   bool     `json:"newCa"`
	Members []Member `json:"members"`
}

// Member are the files of one member.
type Member struct {
	Name    string    `json:"name"`
	Cert    string    `json:"cert"`
	Key     string    `json:"key"`
	Expires time.Time `json:"expires"`
}

// ServerName is the DNS name that the certificate of a member has, by which the other members
// know it.
func ServerName(cluster, member string) string { return member + "." + cluster + ".hostnode" }

// Make makes certificates, and the authority that signs them unless the directory has one. Only
// the owner can read the files; no file is ever replaced. Errors besides those of the file system:
// config.ErrInvalid, ErrExists, ErrAuthority.
func Make(o Order, now time.Time) (Made, error) {
	made := Made{CA: filepath.Join(o.Dir, caFile), CAKey: filepath.Join(o.Dir, caKeyFile), Members: []Member{}}
	if err := o.check(); err != nil {
		return made, err
	}
	for _, name := range o.Members {
		m := Member{Name: name, Cert: filepath.Join(o.Dir, name+".crt"), Key: filepath.Join(o.Dir, name+".key")}
		for _, path := range []string{m.Cert, m.Key} {
			switch _, err := os.Lstat(path); {
			case err == nil:
				return made, fmt.Errorf("make certificates: %w: %s; move it away if the member gets a new certificate",
					ErrExists, path)
			case !errors.Is(err, fs.ErrNotExist):
				return made, fmt.Errorf("make certificates: %w", err)
			}
		}
		made.Members = append(made.Members, m)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return made, fmt.Errorf("make certificates: %w", err)
	}
	ca, err := loadAuthority(o, now)
	if errors.Is(err, fs.ErrNotExist) {
		made.NewCA = true
		ca, err = newAuthority(o, now)
	}
	if err != nil {
		return made, fmt.Errorf("make certificates: %w", err)
	}
	for i := range made.Members {
		if err := ca.sign(o, &made.Members[i], now); err != nil {
			return made, fmt.Errorf("make the certificate of %s: %w", made.Members[i].Name, err)
		}
	}
	return made, nil
}

func (o Order) check() error {
	if _, err := events.ParseMember(o.Cluster); err != nil {
		return fmt.Errorf("%w: %q is no name of a cluster; write what cluster.name has: up to 40 lower-case letters, "+
			"digits and dashes, beginning with a letter or a digit", config.ErrInvalid, events.Clip(o.Cluster, 50))
	}
	if len(o.Members) == 0 {
		return fmt.Errorf("%w: name at least one member", config.ErrInvalid)
	}
	for i, name := range o.Members {
		switch _, err := events.ParseMember(name); {
		case err != nil:
			return fmt.Errorf("%w: %w", config.ErrInvalid, err)
		case name == "ca":
			return fmt.Errorf("%w: a member named ca would have the files of the authority; choose another name",
				config.ErrInvalid)
		case slices.Contains(o.Members[:i], name):
			return fmt.Errorf("%w: member %s is named twice", config.ErrInvalid, name)
		}
	}
	return CheckHosts(o.Hosts)
}

// hostName is a host name as certificates have it: labels separated by dots, of
// which the first may be a star.
var hostName = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?` +
	`(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)

// CheckHosts refuses what is neither a host name nor an address: config.ErrInvalid.
func CheckHosts(hosts []string) error {
	for _, host := range hosts {
		if net.ParseIP(host) == nil && !hostName.MatchString(host) {
			return fmt.Errorf("%w: %q is neither a host name nor an address; write it without scheme and port",
				config.ErrInvalid, host)
		}
	}
	return nil
}

// AddHosts adds the names and addresses of machines to what a certificate is for.
func AddHosts(to *x509.Certificate, hosts []string) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			to.IPAddresses = append(to.IPAddresses, ip)
		} else {
			to.DNSNames = append(to.DNSNames, host)
		}
	}
}

// sign writes the key and the certificate of a member. A member is a server and a client.
func (a authority) sign(o Order, m *Member, now time.Time) error {
	m.Expires = now.AddDate(memberYears, 0, 0).UTC().Truncate(time.Second)
	if a.cert.NotAfter.Before(m.Expires) {
		m.Expires = a.cert.NotAfter.UTC()
	}
	cert := &x509.Certificate{
		Subject: pkix.Name{CommonName: m.Name}, DNSNames: []string{ServerName(o.Cluster, m.Name)},
		NotBefore: now.Add(-skew), NotAfter: m.Expires, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	AddHosts(cert, o.Hosts)
	return write(cert, a.cert, a.key, m.Cert, m.Key)
}

// write signs a certificate and writes it with its key, the key first, so that there is no
// certificate without one.
func write(cert, parent *x509.Certificate, signer *ecdsa.PrivateKey, certPath, keyPath string) error {
	_, signed, secret, err := Sign(cert, parent, signer)
	if err != nil {
		return err
	}
	if err := durable.Create(keyPath, secret); err != nil {
		return err
	}
	return durable.Create(certPath, signed)
}

// Sign makes a key and signs its certificate, with a random number; without a signer the key signs its own. It returns
// the key, and both as PEM.
func Sign(cert, parent *x509.Certificate, signer *ecdsa.PrivateKey) (
	key *ecdsa.PrivateKey, signed, secret []byte, err error,
) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), cmp.Or(signer, key))
	if err != nil {
		return nil, nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	return key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), err
}

// Load reads a certificate with its chain, and its key, which only its owner may read. Errors are config.ErrInvalid.
func Load(certFile, keyFile string) (tls.Certificate, error) {
	public, err := os.ReadFile(certFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%w: the certificate: %w", config.ErrInvalid, err)
	}
	private, err := config.ReadPrivate(keyFile, maxFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%w: the key of the certificate: %w", config.ErrInvalid, err)
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%w: the certificate %s with the key %s: %w", config.ErrInvalid,
			certFile, keyFile, err)
	}
	return pair, nil
}
