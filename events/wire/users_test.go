package wire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/metadata"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

func TestAnonymousCallersHaveTheRoleThatWasSet(t *testing.T) {
	for role, mayAppend := range map[wire.Role]bool{
		wire.RoleNone: false, wire.RoleAuditor: false, wire.RoleOperator: true, wire.RoleAdmin: true,
	} {
		s := serve(t, func(cfg *wire.Config) { cfg.Anonymous = role })
		_, err := s.client(t, "").AppendToStream(soon(t), "a-1", esdb.AppendToStreamOptions{}, numbers(1)...)
		if (err == nil) != mayAppend {
			t.Errorf("%v: append gave %v", role, err)
		}
	}
}

// TestWhereNobodyCanBeKnownCredentialsAreIgnored: KurrentDB's client sends them in plain text.
func TestWhereNobodyCanBeKnownCredentialsAreIgnored(t *testing.T) {
	s := serve(t, nil)
	c := streams.NewStreamsClient(s.raw(t))
	for _, header := range []string{"Basic YWRtaW46Y2hhbmdlaXQ=", "Basic %%%", "Bearer x"} {
		r, err := c.Read(metadata.AppendToOutgoingContext(soon(t), "authorization", header),
			&streams.ReadReq{Options: request("a-1")})
		if err == nil {
			_, err = r.Recv()
		}
		if err != nil {
			t.Errorf("%s: %v", header, err)
		}
	}
}

func TestEveryUserIsListedOnce(t *testing.T) {
	store := storetest.NewMemory()
	defer store.Close()
	list := func() (names []string) {
		for r, err := range store.ReadStream(t.Context(), "$users", events.ReadStream{}) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Type != "$User" {
				t.Errorf("an event of type %s", r.Type)
			}
			names = append(names, string(r.Data))
		}
		return names
	}
	make1 := func(users []wire.User) {
		s, err := wire.New(wire.Config{Store: store, Users: users})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	make1(users()[:2])
	make1(users()[:2])
	make1(users()[1:4])
	if got, want := list(), []string{"admin", "operator", "other", "auditor"}; !slices.Equal(got, want) {
		t.Fatalf("$users lists %v, want %v", got, want)
	}
}

func TestWhatCannotBeServedIsRefusedAtOnce(t *testing.T) {
	store := storetest.NewMemory()
	defer store.Close()
	user := users()[0]
	with := func(edit func(*wire.User)) []wire.User {
		u := user
		edit(&u)
		return []wire.User{u}
	}
	for name, cfg := range map[string]wire.Config{
		"no store":           {},
		"advertised address": {Store: store, Advertise: "somewhere"},
		"guarded":            {Store: store, Guarded: []string{"sale-1"}},
		"role":               {Store: store, Anonymous: 9},
		"anonymous host":     {Store: store, Anonymous: wire.RoleHost},
		"host's account":     {Store: store, Users: with(func(u *wire.User) { u.Role = wire.RoleHost })},
		"other's account":    {Store: store, Users: with(func(u *wire.User) { u.Account = events.Address{1} })},
		"user twice":         {Store: store, Users: []wire.User{user, user}},
		"user's role":        {Store: store, Users: with(func(u *wire.User) { u.Role = 9 })},
		"user's name":        {Store: store, Users: with(func(u *wire.User) { u.Name = "a:b" })},
		"group's name":       {Store: store, Users: with(func(u *wire.User) { u.Name = "$admins" })},
		"no name":            {Store: store, Users: with(func(u *wire.User) { u.Name = "" })},
		"no hash":            {Store: store, Users: with(func(u *wire.User) { u.PasswordHash = "secret" })},
		"empty password":     {Store: store, Users: with(func(u *wire.User) { u.PasswordHash = bcryptOf("") })},
	} {
		if s, err := wire.New(cfg); err == nil {
			s.Close()
			t.Errorf("%s: served", name)
		}
	}
}

func TestShortPasswordsAreNotHashed(t *testing.T) {
	for _, p := range []string{"", "short", strings.Repeat("x", 73)} {
		if _, err := wire.HashPassword(p); err == nil {
			t.Errorf("a password of %d bytes was hashed", len(p))
		}
	}
	h, err := wire.HashPassword("changeit")
	if err != nil || h == "changeit" {
		t.Fatalf("hash is %q, %v", h, err)
	}
}
