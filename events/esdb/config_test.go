package esdb

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"pgregory.net/rapid"
)

func TestConnectionStringsAreReadAsTheClientDoes(t *testing.T) {
	for _, c := range []string{
		"kurrentdb://one:2113,two:2114?tls=false", "kurrentdb+discover://admin:changeit@cluster.example",
		"esdb://127.0.0.1?tls=false",
		"esdb://127.0.0.1:2114?tls=0",
		"esdb://one:2113,two:2114,three?tls=false",
		"esdb+discover://cluster.example?nodePreference=Leader",
		"esdb://admin:changeit@one.example:2113",
		"esdb://admin:changeit@one.example:2113,two.example:2113?tlsVerifyCert=false",
		"esdb://admin:p%40ss%3Aw%2Frd%25@one.example?TLS=true&nodepreference=leader",
		"esdb://one.example/?keepAliveInterval=20000&keepAliveTimeout=-1&gossipTimeout=3&defaultDeadline=500",
	} {
		want, err := esdb.ParseConnectionString(strings.Replace(c, "kurrentdb", "esdb", 1))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Config{URL: c}.parse()
		if err != nil {
			t.Errorf("%s: %v", c, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(esdb.Configuration{}, "Logger")); diff != "" {
			t.Errorf("%s (-client +ours):\n%s", c, diff)
		}
	}
}

func TestConnectionStringsThatCannotBeUsedSayWhatToWrite(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.crt")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ url, hint string }{
		{"", "is empty"},
		{"127.0.0.1:2113", "no scheme"},
		{"http://127.0.0.1:2113", `"http"`},
		{"kurrentdbs://127.0.0.1:2113", "write esdb://"},
		{"kurrentdb://", "kurrentdb://host:2113"},
		{"esdb://host:21l3?tls=false", "the port 21l3"},
		{"esdb://admin:changeit@host:21l3", "the port 21l3"},
		{"esdb://admin:changeit@host/path", `the path "path"`},
		{"esdb://ad/min:changeit@host", "a user's name with special characters"},
		{"esdb://admin:se:cret@host", "a password with special characters"},
		{"esdb://admin:se%zzcret@host", "a password with special characters"},
		{"esdb://", "names no host"},
		{"esdb://?tls=false", "names no host"},
		{"esdb://admin:changeit@?tls=true", "names no host"},
		{"esdb://:2113", "no host before the port"},
		{"esdb://admin:changeit@one,:2113", "no host before the port"},
		{"esdb://host:port", "port"},
		{"esdb://[::1]:2113", "IPv6"},
		{"esdb://host:99999", "99999, want 1 to 65535"},
		{"esdb://admin:changeit@one:2113,two:0", "want 1 to 65535"},
		{"esdb://host:2113/path", "path"},
		{"esdb://admin:changeit@host?tls=false", "only over TLS; write esdb://user:password@host:2113?tlsCaFile=ca.crt"},
		{"esdb://admin@host", "without a password"},
		{"esdb://host?tls=perhaps", "true or false"},
		{"esdb://admin:changeit@host?tls=perhaps", "true or false"},
		{"esdb://admin:changeit@host?tlsverifycert=maybe", `tlsverifycert is "maybe", want true or false`},
		{"esdb://admin:changeit@host?maxDiscoverAttempts=many", "want a number"},
		{"esdb://admin:changeit@host?discoveryInterval=1s", "want a number"},
		{"esdb://host?tlsCaFile=" + filepath.Join(dir, "none.crt"), "no such file"},
		{"esdb://host?tlsCaFile=" + empty, "BEGIN CERTIFICATE"},
		{"esdb://host?userCertFile=" + empty, "belong together"},
		{"esdb://host?userCertFile=" + empty + "&userKeyFile=" + empty, "userKeyFile"},
		{"esdb://host?tls=false&userCertFile=" + empty + "&userKeyFile=" + empty, "only over TLS"},
		{"esdb://host?defaultDeadline=soon", "positive number"},
		{"esdb://host?defaultDeadline=0", "positive number"},
		{"esdb://host?gossipTimeout=-1", "positive number"},
		{"esdb://host?keepAliveInterval=-2", "-1 for none"},
		{"esdb://host?nodePreference=best", "only leader"},
		{"esdb://host?nodePreference=follower", "may be behind"},
		{"esdb://host?tls=true&TLS=false", "given twice"},
		{"esdb://host?tls=%zz", "percent-encoded"},
		{"esdb://admin:se/cret@host", "percent-encoded"},
		{"esdb://admin:se?cret@host", "percent-encoded"},
	} {
		_, err := Config{URL: c.url}.parse()
		if !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: %v, want a refusal that says %q", c.url, err, c.hint)
		}
		if err != nil && (strings.Contains(err.Error(), "changeit") || strings.Contains(err.Error(), "cret")) {
			t.Errorf("%s: %v shows the password", c.url, err)
		}
	}
}

func TestSettingsThatTheClientDoesNotKnowAreNamedInTheLog(t *testing.T) {
	logger, hook := test.NewNullLogger()
	cfg := Config{URL: "esdb://host?connectionName=a&keepAliveInterval=5000", Log: logrus.NewEntry(logger)}
	conf, err := cfg.parse()
	if err != nil {
		t.Fatal(err)
	}
	if conf.KeepAliveInterval != 10*time.Second {
		t.Errorf("keepAliveInterval is %v, want the least there is", conf.KeepAliveInterval)
	}
	var lines []string
	for _, e := range hook.AllEntries() {
		lines = append(lines, e.Message)
		if e.Level != logrus.WarnLevel {
			t.Errorf("%q at level %v", e.Message, e.Level)
		}
	}
	if len(lines) != 2 {
		t.Errorf("log lines %q, want two", lines)
	}
}

func TestAPasswordIsNeverShown(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"esdb://host:2113", "esdb://host:2113"},
		{"esdb://admin:secret@host:2113?tls=true", "esdb://admin:***@host:2113?tls=true"},
		{"esdb+discover://admin:secret@host", "esdb+discover://admin:***@host"},
		{"esdb://admin:se@cr:et@host,other", "esdb://admin:***@host,other"},
		{"esdb://admin:se/cret@host", "esdb://***@host"},
		{"esdb://admin@host", "esdb://admin@host"},
		{"admin:secret@host", "admin:***@host"},
		{"", ""},
	} {
		if got := Redact(c.url); got != c.want {
			t.Errorf("Redact(%q) = %q, want %q", c.url, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		// Marked, so that it is found whatever surrounds it.
		secret := "S3" + rapid.String().Draw(t, "password") + "cr3t"
		written := secret
		if rapid.Bool().Draw(t, "encoded") {
			written = url.PathEscape(secret)
		}
		query := rapid.SampledFrom([]string{"", "?tls=false", "?tlsCaFile=/a@b", "?x=y", "/path"}).Draw(t, "rest")
		connection := rapid.SampledFrom([]string{"esdb", "esdb+discover", "http"}).Draw(t, "scheme") +
			"://admin:" + written + "@host:2113" + query
		logger, hook := test.NewNullLogger()
		_, err := Config{URL: connection, Log: logrus.NewEntry(logger)}.parse()
		shown := Redact(connection)
		if err != nil {
			shown += err.Error()
		}
		for _, e := range hook.AllEntries() {
			line, _ := e.String()
			shown += line
		}
		if strings.Contains(shown, "S3") || strings.Contains(shown, "cr3t") {
			t.Fatalf("%q shows a part of the password: %s", connection, shown)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"esdb://127.0.0.1:2113?tls=false", "esdb://a:b@c,d:1?tls=true", "esdb+discover://x", "esdb://%zz@", "esdb://,",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, connection string) {
		if strings.Contains(strings.ToLower(connection), "file") {
			t.Skip("reads files")
		}
		conf, err := Config{URL: connection}.parse()
		if err == nil && conf.Address == "" && len(conf.GossipSeeds) == 0 {
			t.Errorf("%q has no host and is taken", connection)
		}
		if err != nil && !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v is no ErrURL", connection, err)
		}
	})
}

func TestDefaultsAreTheClientsOwn(t *testing.T) {
	half := 500 * time.Millisecond
	got := Config{}.withDefaults(&esdb.Configuration{DefaultDeadline: &half})
	if got.CallTimeout != half {
		t.Errorf("CallTimeout is %v, want the URL's %v", got.CallTimeout, half)
	}
	got = Config{MinPause: time.Minute}.withDefaults(&esdb.Configuration{})
	if got.CallTimeout != 10*time.Second || got.MaxPause != time.Minute {
		t.Errorf("defaults: %+v", got)
	}
}
