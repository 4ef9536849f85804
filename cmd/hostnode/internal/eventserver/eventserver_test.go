package eventserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

func TestUsersAreKeptInAPrivateFileWithoutTheirPasswords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	for _, u := range [][3]string{
		{"ann", "auditor", "correct horse"}, {"bob", "operator", "battery staple"}, {"ann", "admin", "another one"},
	} {
		if err := SetUser(path, u[0], u[1], "", u[2]); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, password := range []string{"correct horse", "battery staple", "another one"} {
		if strings.Contains(string(text), password) {
			t.Errorf("the file has the password %q", password)
		}
	}
	users, err := LoadUsers(path)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]wire.Role{}
	for _, u := range users {
		got[u.Name] = u.Role
	}
	want := map[string]wire.Role{"ann": wire.RoleAdmin, "bob": wire.RoleOperator}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("users (-want +got):\n%s", d)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadUsers(path); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("a file that others can read: %v", err)
	}
}

func TestAHostIsKeptWithItsAccount(t *testing.T) {
	path, account := filepath.Join(t.TempDir(), "users"), events.Address{1, 2, 3}
	if err := SetUser(path, "h7", "host", strings.ToUpper(account.String()), "correct horse"); err != nil {
		t.Fatal(err)
	}
	if err := SetUser(path, "ann", "auditor", "", "correct horse"); err != nil { // Writes the file again.
		t.Fatal(err)
	}
	users, err := LoadUsers(path)
	if err != nil || len(users) != 2 {
		t.Fatalf("%d users: %v", len(users), err)
	}
	if u := users[0]; u.Name != "h7" || u.Role != wire.RoleHost || u.Account != account {
		t.Errorf("the host is %+v", u)
	}
	for _, c := range [][2]string{{"host", ""}, {"host", "0x12"}, {"operator", account.String()}} {
		if err := SetUser(path, "x", c[0], c[1], "correct horse"); !errors.Is(err, config.ErrInvalid) {
			t.Errorf("a user of role %s with account %q: %v", c[0], c[1], err)
		}
	}
}

func TestTooLittleMemoryForClientsIsRefused(t *testing.T) {
	store := storetest.NewMemory()
	defer store.Close()
	o := Options{Listen: []string{"127.0.0.1:0"}, Memory: MinMemory - 1}
	if _, err := Start(store, o, nil); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("started: %v", err)
	}
}

func TestTheLeastMemoryIsTheLeastOfTheSetting(t *testing.T) {
	for memory, ok := range map[int]bool{MinMemory: true, MinMemory - 1: false} {
		environ := []string{"HOME=" + t.TempDir(), fmt.Sprintf("HOSTNODE_SERVE_EVENTS_MEMORY_BYTES=%d", memory)}
		if _, err := config.Load(config.Sources{Environ: environ}); (err == nil) != ok {
			t.Errorf("%d bytes: %v", memory, err)
		}
	}
}

func TestMessagesAndCollectorShareTheMemory(t *testing.T) {
	const cache = 64 << 20
	for memory, want := range map[int64]int64{
		MinMemory: 448 << 20, 1 << 30: 704 << 20, 4 << 30: 3776 << 20,
	} {
		if got := CollectorLimit(memory, cache); got != want {
			t.Errorf("of %d MiB the collector has %d MiB, want %d", memory>>20, got>>20, want>>20)
		}
		if most := messages(memory); most < 2*wire.MinMemory || most > want*3/4 {
			t.Errorf("of %d MiB messages have %d MiB and the collector %d", memory>>20, most>>20, want>>20)
		}
	}
	if got := CollectorLimit(MinMemory, 2<<30); got < 2*wire.MinMemory {
		t.Errorf("with a cache beyond the memory the collector has %d bytes", got)
	}
}

func TestUsersThatMakeNoSenseAreRefused(t *testing.T) {
	account, zero := events.Address{1}.String(), events.Address{}.String()
	path := filepath.Join(t.TempDir(), "users")
	for _, u := range [][3]string{
		{"", "auditor", "long enough"},
		{"a:b", "auditor", "long enough"},
		{"$admin", "auditor", "long enough"},
		{"ann", "king", "long enough"},
		{"ann", "auditor", ""},
		{"ann", "auditor", "x"},
	} {
		if err := SetUser(path, u[0], u[1], "", u[2]); !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%q as %q with %q: %v", u[0], u[1], u[2], err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused user left a file: %v", err)
	}
	for text, line := range map[string]string{
		"ann:auditor\n":                              "line 1",
		"# all\n\nann:king:hash\n":                   "line 3",
		"ann:auditor:hash\nann:admin:hash\n":         "line 2",
		"ann:auditor:hash\nb ob:admin:hash\n":        "line 2",
		"ann:host:hash\n":                            "line 1",
		"ann:host=0x12:hash\n":                       "line 1",
		"ann:auditor=" + account + ":hash\n":         "line 1",
		"ann:host=" + zero + ":hash\n":               "line 1",
		strings.Repeat("#", 1<<16) + "\nann:auditor": "",
	} {
		if _, err := parseUsers([]byte(text)); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%.40q: %v, want %s", text, err, line)
		}
	}
}

func FuzzParseUsers(f *testing.F) {
	f.Add([]byte("# users\nann:auditor:$2a$10$hash\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		users, err := parseUsers(text)
		if err != nil {
			return
		}
		for _, u := range users {
			if checkName(u.Name) != nil || roles[u.Role.String()] != u.Role {
				t.Fatalf("%q gives %+v", text, u)
			}
		}
	})
}

func TestCertificatesAreTrustedByTheirAuthorityForTheirHosts(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	made, err := MakeCertificates(dir, []string{"localhost", "127.0.0.1"}, now)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(made.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("the authority cannot be read")
	}
	pair, err := tls.LoadX509KeyPair(made.Cert, made.Key)
	if err != nil {
		t.Fatal(err)
	}
	for host, ok := range map[string]bool{"localhost": true, "127.0.0.1": true, "example.org": false} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now})
		if (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
	if info, err := os.Stat(made.Key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info.Mode(), err)
	}
	if _, err := MakeCertificates(dir, []string{"localhost"}, now); err == nil {
		t.Error("certificates were overwritten")
	}
}

func TestWithoutACertificateOnlyThisMachineIsServed(t *testing.T) {
	store := storetest.NewMemory()
	defer store.Close()
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "example.org:1"} {
		if _, err := Start(store, Options{Listen: []string{address}}, nil); !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%s: %v", address, err)
		}
	}
	s, err := Start(store, Options{Listen: []string{"127.0.0.1:0", "127.0.0.1:0"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Addresses()) != 2 || !strings.HasPrefix(s.ConnectionStrings(false), "esdb://127.0.0.1:") {
		t.Errorf("serving %s", s.ConnectionStrings(false))
	}
	if _, err := Start(store, Options{Listen: s.Addresses()}, nil); err == nil {
		t.Error("an address was taken twice")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAKeyThatOthersCanReadIsRefused(t *testing.T) {
	made, err := MakeCertificates(t.TempDir(), []string{"localhost"}, time.Now())
	if err == nil {
		err = os.Chmod(made.Key, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Listen: []string{"127.0.0.1:0"}, CertFile: made.Cert, KeyFile: made.Key}
	s, err := Start(storetest.NewMemory(), o, nil)
	if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("started with a key that everybody can read: %v, %v", s, err)
	}
}

func TestUsersWithoutACertificateAndCertificatesOutOfTheirTimeAreWarnedOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	if err := SetUser(path, "ann", "auditor", "", "correct horse"); err != nil {
		t.Fatal(err)
	}
	made, err := MakeCertificates(t.TempDir(), []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	old, err := MakeCertificates(t.TempDir(), []string{"localhost"}, time.Now().AddDate(-2, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	store := storetest.NewMemory()
	defer store.Close()
	for _, c := range []struct {
		o        Options
		warnings int
	}{
		{Options{UsersFile: path}, 1},
		{Options{}, 0},
		{Options{UsersFile: path, CertFile: made.Cert, KeyFile: made.Key}, 0},
		{Options{UsersFile: path, CertFile: old.Cert, KeyFile: old.Key}, 1},
	} {
		logger, hook := test.NewNullLogger()
		c.o.Listen = []string{"127.0.0.1:0"}
		s, err := Start(store, c.o, logrus.NewEntry(logger))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if n := len(hook.AllEntries()); n != c.warnings {
			t.Errorf("%+v: %d warnings, want %d", c.o, n, c.warnings)
		}
	}
}

func TestHostCategoriesCoverEveryStreamOfAHost(t *testing.T) {
	guarded := map[string]bool{}
	for _, category := range catalog.Streams().Categories() {
		guarded[category] = true
	}
	me, slot := events.Address{1}, events.SlotID{2}
	for _, stream := range []string{
		events.HostStream(me), events.MarketStream(1, me), events.CapacityStream(me), events.SlotQueueStream(me),
		events.SaleStream(me, slot), events.TxStream(me), events.ValidatorStream(me), events.SnapshotStream(events.SlotQueueStream(me)),
	} {
		if !guarded[events.Category(stream)] {
			t.Errorf("%s can be written by others", stream)
		}
	}
}

func TestAnAppendIsAsLargeAsTheSettingSays(t *testing.T) {
	const most = 1 << 20
	o := Options{Listen: []string{"127.0.0.1:0"}, Anonymous: wire.RoleAdmin, MaxAppendSize: most}
	s, err := Start(storetest.NewMemory(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := grpc.NewClient(s.Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for size, want := range map[int]codes.Code{most: codes.InvalidArgument, most - 1: codes.OK} {
		call, err := streams.NewStreamsClient(conn).BatchAppend(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id := &shared.UUID{Value: &shared.UUID_String_{String_: "00000000-0000-0000-0000-000000000001"}}
		if err := call.Send(&streams.BatchAppendReq{
			CorrelationId: id, IsFinal: true, Options: &streams.BatchAppendReq_Options{
				StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("a-1")},
				ExpectedStreamPosition: &streams.BatchAppendReq_Options_Any{Any: &emptypb.Empty{}},
			},
			ProposedMessages: []*streams.BatchAppendReq_ProposedMessage{{
				Id: id, Data: make([]byte, size), // And one byte for the type.
				Metadata: map[string]string{"type": "x", "content-type": "application/octet-stream"},
			}},
		}); err != nil {
			t.Fatal(err)
		}
		if r, err := call.Recv(); err != nil || codes.Code(r.GetError().GetCode()) != want {
			t.Errorf("an append of %d bytes: %v, %v, want %v", size+1, r, err, want)
		}
	}
}
