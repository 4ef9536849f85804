package wire_test

import (
	"crypto/tls"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/wire"
)

// put appends to the store itself, without checks of rights.
func put(t *testing.T, s *served, stream, kind, data string) {
	t.Helper()
	id := events.NewEventID(stream, t.Name()+data, 0)
	_, err := s.store.Append(t.Context(), stream, events.Any(),
		[]events.NewEvent{{ID: id, Type: kind, Data: []byte(data)}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRolesMayWhatTheyMay(t *testing.T) {
	s := serveTLS(t, func(cfg *wire.Config) { cfg.Guarded = []string{"sale"} })
	for _, stream := range []string{"free-1", "sale-1", "$own-1", "$$free-1"} {
		data := "{}"
		put(t, s, stream, map[bool]string{true: events.TypeMetadata, false: "x"}[stream == "$$free-1"], data)
	}
	const (
		yes    = esdb.ErrorCode(-1)
		no     = esdb.ErrorCodeAccessDenied
		refuse = esdb.ErrorCodeUnauthenticated
	)
	type try func(c *esdb.Client) error
	read := func(stream string) try {
		return func(c *esdb.Client) error {
			_, err := readAll(c.ReadStream(soon(t), stream, esdb.ReadStreamOptions{}, 1))
			return err
		}
	}
	write := func(stream, kind string) try {
		return func(c *esdb.Client) error {
			_, err := c.AppendToStream(soon(t), stream, esdb.AppendToStreamOptions{}, event(kind, "{}"))
			return err
		}
	}
	remove := func(stream string, forever bool) try {
		return func(c *esdb.Client) (err error) {
			put(t, s, stream, "x", time.Now().String())
			if forever {
				_, err = c.TombstoneStream(soon(t), stream, esdb.TombstoneStreamOptions{})
			} else {
				_, err = c.DeleteStream(soon(t), stream, esdb.DeleteStreamOptions{})
			}
			return err
		}
	}
	readLog := func(c *esdb.Client) error {
		_, err := readAll(c.ReadAll(soon(t), esdb.ReadAllOptions{}, 1))
		return err
	}
	callers := []string{"", "nobody", "auditor", "operator", "admin", "stranger"}
	for _, c := range []struct {
		name string
		try  try
		want []esdb.ErrorCode // By caller.
	}{
		{"read a stream", read("free-1"), []esdb.ErrorCode{no, no, yes, yes, yes, refuse}},
		{"read the host's own", read("sale-1"), []esdb.ErrorCode{no, no, yes, yes, yes, refuse}},
		{"read the system's own", read("$own-1"), []esdb.ErrorCode{no, no, yes, yes, yes, refuse}},
		{"read metadata", read("$$free-1"), []esdb.ErrorCode{no, no, yes, yes, yes, refuse}},
		{"read a category", read("$ce-free"), []esdb.ErrorCode{no, no, yes, yes, yes, refuse}},
		{"read the log", readLog, []esdb.ErrorCode{no, no, yes, yes, yes, refuse}},
		{"append", write("free-1", "x"), []esdb.ErrorCode{no, no, no, yes, yes, refuse}},
		{"append to the host's own", write("sale-1", "x"), []esdb.ErrorCode{no, no, no, no, no, refuse}},
		{"append to the system's own", write("$own-1", "x"), []esdb.ErrorCode{no, no, no, no, yes, refuse}},
		{"set metadata", write("$$free-1", "$metadata"), []esdb.ErrorCode{no, no, no, no, yes, refuse}},
		{"set metadata of the host's own", write("$$sale-1", "$metadata"), []esdb.ErrorCode{no, no, no, no, no, refuse}},
		{"and of that metadata", write("$$$$sale-1", "$metadata"), []esdb.ErrorCode{no, no, no, no, no, refuse}},
		{"set metadata of an index", write("$$$ce-free", "$metadata"), []esdb.ErrorCode{no, no, no, no, no, refuse}},
		{"append to an index", write("$ce-free", "x"), []esdb.ErrorCode{no, no, no, no, no, refuse}},
		{"delete", remove("free-2", false), []esdb.ErrorCode{no, no, no, yes, yes, refuse}},
		{"delete the host's own", remove("sale-2", false), []esdb.ErrorCode{no, no, no, no, no, refuse}},
		{"tombstone the host's own", remove("sale-2", true), []esdb.ErrorCode{no, no, no, no, no, refuse}},
		{"delete the system's own", remove("$own-2", false), []esdb.ErrorCode{no, no, no, no, yes, refuse}},
	} {
		for i, caller := range callers {
			t.Run(c.name+"/"+caller, func(t *testing.T) {
				if got := codeOf(c.try(s.client(t, caller))); got != c.want[i] {
					t.Fatalf("code %d, want %d", got, c.want[i])
				}
			})
		}
	}
}

func TestAccessControlListsTakeRightsFromOperators(t *testing.T) {
	s := serveTLS(t, nil)
	put(t, s, "$$secret-1", events.TypeMetadata, `{"$acl":{"$r":"other","$w":["operator","$admins"],"$d":[],"$mr":"operator","$mw":"$ops"}}`)
	put(t, s, "$$operated-1", events.TypeMetadata, `{"$acl":{"$r":"$ops"}}`)
	put(t, s, "operated-1", "x", "{}")
	put(t, s, "secret-1", "x", "{}")
	put(t, s, "open-1", "x", "{}")
	read := func(user, stream string) error {
		_, err := readAll(s.client(t, user).ReadStream(soon(t), stream, esdb.ReadStreamOptions{}, 1))
		return err
	}
	write := func(user string) error {
		_, err := s.client(t, user).AppendToStream(soon(t), "secret-1", esdb.AppendToStreamOptions{}, event("x", "{}"))
		return err
	}
	remove := func(user string) error {
		_, err := s.client(t, user).DeleteStream(soon(t), "secret-1", esdb.DeleteStreamOptions{})
		return err
	}
	for _, c := range []struct {
		name string
		err  error
		ok   bool
	}{
		{"operator reads what is other's", read("operator", "secret-1"), false},
		{"other reads it", read("other", "secret-1"), true},
		{"auditor reads it", read("auditor", "secret-1"), true},
		{"admin reads it", read("admin", "secret-1"), true},
		{"operator reads what is open", read("operator", "open-1"), true},
		{"operator reads its metadata", read("operator", "$$secret-1"), true},
		{"operator reads what is for $ops, which nobody is", read("operator", "operated-1"), false},
		{"admin reads what is for $ops", read("admin", "operated-1"), true},
		{"operator appends", write("operator"), true},
		{"other appends", write("other"), false},
		{"auditor appends", write("auditor"), false},
		{"operator deletes", remove("operator"), false},
		{"admin deletes", remove("admin"), true},
	} {
		if c.ok != (c.err == nil) || !c.ok && codeOf(c.err) != esdb.ErrorCodeAccessDenied {
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
}

// TestDefaultAccessControlListsAreRefused: they would be kept and protect nothing.
func TestDefaultAccessControlListsAreRefused(t *testing.T) {
	s := serve(t, nil)
	_, err := s.client(t, "").AppendToStream(soon(t), "$settings", esdb.AppendToStreamOptions{},
		event("update-default-acl", `{"$userStreamAcl":{"$r":"$admins"}}`))
	wantCode(t, err, esdb.ErrorCodeAccessDenied)
	if !strings.Contains(err.Error(), "no default access control lists") {
		t.Errorf("the reason is %v", err)
	}
}

func TestTheLogAndIndexesShowNobodyWhatItsStreamDoesNot(t *testing.T) {
	s := serveTLS(t, nil)
	put(t, s, "$$secret-1", events.TypeMetadata, `{"$acl":{"$r":"other"}}`)
	put(t, s, "secret-1", "x", `{"n":1}`)
	put(t, s, "secret-2", "x", `{"n":2}`)
	put(t, s, "picked-1", events.TypeLink, "0@secret-1")
	for user, sees := range map[string]bool{"operator": false, "other": true, "auditor": true, "admin": true} {
		c := s.client(t, user)
		has := func(all []*esdb.ResolvedEvent) bool {
			return slices.ContainsFunc(all, func(e *esdb.ResolvedEvent) bool {
				return e.Event != nil && e.Event.StreamID == "secret-1"
			})
		}
		log, err := readAll(c.ReadAll(soon(t), esdb.ReadAllOptions{}, 100))
		if err != nil || has(log) != sees {
			t.Errorf("%s: the log shows %t, want %t (%v)", user, has(log), sees, err)
		}
		for _, stream := range []string{"$ce-secret", "picked-1"} {
			all, err := readAll(c.ReadStream(soon(t), stream, esdb.ReadStreamOptions{ResolveLinkTos: true}, 100))
			if err != nil || has(all) != sees {
				t.Errorf("%s: %s shows %t, want %t (%v)", user, stream, has(all), sees, err)
			}
		}
		sub := followAll(t, c, esdb.SubscribeToAllOptions{From: esdb.Start{}})
		shown := false
		for e := sub.next(); e != "live"; e = sub.next() {
			shown = shown || e == "0@secret-1"
		}
		if shown != sees {
			t.Errorf("%s: a subscription shows %t, want %t", user, shown, sees)
		}
	}
}

// TestTheEndOfAStreamDoesNotShowWhatItsListHid: its list can no longer be read then.
func TestTheEndOfAStreamDoesNotShowWhatItsListHid(t *testing.T) {
	s := serveTLS(t, nil)
	put(t, s, "$$secret-1", events.TypeMetadata, `{"$acl":{"$r":"other"}}`)
	put(t, s, "secret-1", "x", `{"n":1}`)
	if _, err := s.store.Delete(t.Context(), "secret-1", events.Any(), true); err != nil {
		t.Fatal(err)
	}
	for user, sees := range map[string]int{"operator": 0, "other": 0, "auditor": 2, "admin": 2} {
		c, shown := s.client(t, user), 0
		log, err := readAll(c.ReadAll(soon(t), esdb.ReadAllOptions{}, 100))
		for _, e := range log {
			if e.Event.StreamID == "secret-1" {
				shown++
			}
		}
		if err != nil || shown != sees {
			t.Errorf("%s: the log shows %d events, %v, want %d", user, shown, err, sees)
		}
		_, err = readAll(c.ReadStream(soon(t), "secret-1", esdb.ReadStreamOptions{}, 1))
		wantCode(t, err, esdb.ErrorCodeStreamDeleted)
	}
}

func TestWrongCredentialsAreRefused(t *testing.T) {
	s := serveTLS(t, nil)
	for name, c := range map[string]*esdb.Client{
		"wrong password": s.clientWith(t, "admin", "changeit"),
		"unknown user":   s.clientWith(t, "root", password),
		"no password":    s.clientWith(t, "admin", ""),
	} {
		_, err := c.AppendToStream(soon(t), "a-1", esdb.AppendToStreamOptions{}, numbers(1)...)
		if codeOf(err) != esdb.ErrorCodeUnauthenticated && name != "no password" {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			t.Errorf("%s: let in", name)
		}
	}
	if got := s.Stats().RefusedLogins; got < 2 {
		t.Errorf("%d logins were refused, want 2 or more", got)
	}
}

func TestARefusedAppendIsAnsweredWithTheReasonHoweverLargeItIs(t *testing.T) {
	s := serveTLS(t, nil)
	large := numbers(500)
	for i := range large {
		large[i].Data = make([]byte, 20<<10)
	}
	for _, c := range []struct {
		client *esdb.Client
		stream string
		want   esdb.ErrorCode
	}{
		{s.client(t, "auditor"), "a-1", esdb.ErrorCodeAccessDenied},
		{s.client(t, "admin"), "$ce-a", esdb.ErrorCodeAccessDenied},
		{s.clientWith(t, "admin", "changeit"), "a-1", esdb.ErrorCodeUnauthenticated},
	} {
		_, err := c.client.AppendToStream(soon(t), c.stream, esdb.AppendToStreamOptions{}, large...)
		wantCode(t, err, c.want)
	}
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
}

func TestAuthorizationThatIsNotBasicIsRefused(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) { cfg.Users = users() }) // Plain text, so that the test can send anything.
	c := streams.NewStreamsClient(s.raw(t))
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	read := func(headers ...string) error {
		ctx := soon(t)
		for _, h := range headers {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", h)
		}
		r, err := c.Read(ctx, &streams.ReadReq{Options: request("$users")})
		if err == nil {
			_, err = r.Recv()
		}
		return err
	}
	for name, headers := range map[string][]string{
		"bearer":     {"Bearer abc"},
		"no base64":  {"Basic %%%"},
		"no colon":   {basic("admin")},
		"two":        {basic("admin:" + password), basic("admin:" + password)},
		"empty":      {""},
		"very long":  {basic("admin:" + strings.Repeat("x", 5000))},
		"long by 1":  {basic("admin:" + strings.Repeat("x", wire.MaxPasswordBytes+1))},
		"wrong case": {basic("Admin:" + password)},
	} {
		if got := status.Code(read(headers...)); got != codes.Unauthenticated {
			t.Errorf("%s: %v, want Unauthenticated", name, got)
		}
	}
	for name, header := range map[string]string{
		"as usual":   basic("admin:" + password),
		"lower case": "basic" + strings.TrimPrefix(basic("auditor:"+password), "Basic"),
	} {
		if err := read(header); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAConnectionThatGuessesPasswordsGetsNoFurther(t *testing.T) {
	s := serveTLS(t, func(cfg *wire.Config) { cfg.Limits.FailedLogins = 3 })
	c := s.client(t, "operator")
	try := func(password string) error {
		_, err := c.AppendToStream(soon(t), "a-1", esdb.AppendToStreamOptions{
			Authenticated: &esdb.Credentials{Login: "admin", Password: password},
		}, numbers(1)...)
		return err
	}
	appendTo(t, c, "a-1", numbers(1)...)
	for range 3 {
		wantCode(t, try("guess"), esdb.ErrorCodeUnauthenticated)
	}
	err := try(password)
	wantCode(t, err, esdb.ErrorCodeUnauthenticated)
	if !strings.Contains(err.Error(), "too many wrong passwords") {
		t.Errorf("the right password after many wrong ones: %v", err)
	}
	appendTo(t, c, "a-1", numbers(1)...) // A caller who was known before goes on.
	if _, err := s.client(t, "admin").AppendToStream(soon(t), "a-1", esdb.AppendToStreamOptions{}, numbers(1)...); err != nil {
		t.Errorf("another connection: %v", err)
	}
}

func TestServerWithAnExpiredCertificateIsNotTrusted(t *testing.T) {
	a := newAuthority(t)
	s := serve(t, func(cfg *wire.Config) { cfg.TLS = a.server(t, time.Now().Add(-time.Minute)) })
	s.pool = a.pool()
	_, err := s.client(t, "admin").AppendToStream(soon(t), "a-1", esdb.AppendToStreamOptions{}, numbers(1)...)
	if err == nil || !strings.Contains(err.Error(), "expired") {
		t.Fatalf("the client says %v, want that the certificate has expired", err)
	}
}

func TestClientsOfTheWrongKindDoNotHarmAServerWithTLS(t *testing.T) {
	s := serveTLS(t, nil)
	plain := *s
	plain.pool = nil
	if _, err := plain.client(t, "").AppendToStream(soon(t), "a-1", esdb.AppendToStreamOptions{}, numbers(1)...); err == nil {
		t.Fatal("a plain client was served")
	}
	hasty := serveTLS(t, func(cfg *wire.Config) { cfg.Limits.HandshakeTime = time.Millisecond })
	silent := dial(t, hasty.address)
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Fatal("a silent connection was answered")
	}
	conn, err := tls.Dial("tcp", s.address, &tls.Config{RootCAs: s.pool, ServerName: "localhost", MaxVersion: tls.VersionTLS11})
	if err == nil {
		conn.Close()
		t.Fatal("TLS 1.1 was served")
	}
	appendTo(t, s.client(t, "operator"), "a-1", numbers(1)...)
}

func TestGossipAndFeaturesNeedNoLogin(t *testing.T) {
	s := serveTLS(t, func(cfg *wire.Config) { cfg.Advertise = "events.example:2113" })
	conn := s.rawTLS(t)
	members, err := gossipOf(soon(t), conn)
	if err != nil || len(members) != 1 {
		t.Fatalf("gossip names %v, %v", members, err)
	}
	if e := members[0].GetHttpEndPoint(); e.GetAddress() != "events.example" || e.GetPort() != 2113 {
		t.Errorf("gossip names %v, want the advertised address", e)
	}
	_, err = streams.NewStreamsClient(conn).Delete(soon(t), &streams.DeleteReq{Options: &streams.DeleteReq_Options{
		StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("a-1")},
		ExpectedStreamRevision: &streams.DeleteReq_Options_Any{Any: &shared.Empty{}},
	}})
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("a call without credentials: %v", err)
	}
}

func TestGossipNamesTheAddressThatTheClientUsed(t *testing.T) {
	s := serve(t, nil)
	members, err := gossipOf(soon(t), s.raw(t))
	if err != nil {
		t.Fatal(err)
	}
	e := members[0].GetHttpEndPoint()
	if got := joinAddress(e); got != s.address {
		t.Errorf("gossip names %s, want %s", got, s.address)
	}
}
