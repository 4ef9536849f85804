package stores

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/esdb/standin"
	"github.com/hostnode/hostnode/events/storetest"
)

func passwordFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPasswordComesFromItsFile(t *testing.T) {
	spec := Spec{
		URL:          "esdb://host-7@a.example:2113,b.example:2113?tlsCaFile=/ca.crt",
		PasswordFile: passwordFile(t, "p:w@d/? +\n", 0o600),
	}
	got, err := spec.Connection()
	want := "esdb://host-7:p%3Aw%40d%2F%3F%20+@a.example:2113,b.example:2113?tlsCaFile=/ca.crt"
	if err != nil || got != want {
		t.Fatalf("%s, %v\nwant %s", got, err, want)
	}
	u, err := url.Parse(strings.Replace(got, "a.example:2113,", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	if password, _ := u.User.Password(); password != "p:w@d/? +" {
		t.Fatalf("a client reads the password as %q", password)
	}
	if shown := esdb.Redact(got); strings.Contains(shown, "w%40d") || !strings.Contains(shown, "host-7:***@a.example") {
		t.Fatalf("shown as %s", shown)
	}
}

func TestPasswordFileThatCannotBeMeantIsRefused(t *testing.T) {
	for _, c := range []struct{ name, url, path string }{
		{"others can read it", "esdb://u@h", passwordFile(t, "secret", 0o644)},
		{"it is empty", "esdb://u@h", passwordFile(t, "\n", 0o600)},
		{"it is a directory", "esdb://u@h", t.TempDir()},
		{"no user", "esdb://h", passwordFile(t, "secret", 0o600)},
		{"two passwords", "esdb://u:x@h", passwordFile(t, "secret", 0o600)},
	} {
		_, err := Spec{URL: c.url, PasswordFile: c.path}.Connection()
		if !errors.Is(err, config.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := (Spec{URL: "esdb://u@h", PasswordFile: "/does/not/exist"}).Connection(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestEmbeddedStoreIsOpenedInItsDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "events")
	s, err := Open(t.Context(), Spec{Dir: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Embedded == nil || !s.Report.Created || s.Name != dir {
		t.Errorf("opened %+v", s)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// denying is a store whose user may not write.
type denying struct{ events.Store }

func (denying) Append(
	context.Context, string, events.Expected, []events.NewEvent,
) (events.AppendResult, error) {
	return events.AppendResult{}, events.ErrDenied
}

func TestAUserWhoMayNotWriteIsToldThatTheLeaderIsNotKnown(t *testing.T) {
	log, hook := test.NewNullLogger()
	o := &Opened{Store: denying{storetest.NewMemory()}}
	if err := o.Confirm(t.Context(), events.Address{1}, logrus.NewEntry(log)); err != nil || len(hook.AllEntries()) != 1 {
		t.Errorf("%v; %d warnings", err, len(hook.AllEntries()))
	}
}

// TestWhatIsReadIsTheRecordOfWhoCommits has a leader that was stopped while another one took more events, and goes
// on: it answers from its old log until it knows better.
func TestWhatIsReadIsTheRecordOfWhoCommits(t *testing.T) {
	const all, believes = 6, 1500 * time.Millisecond
	c := standin.New(t, storetest.NewMemory(), 3)
	for n := range all {
		if n == all/2 {
			c.Freeze(0)
			c.Lead(1)
		}
		if _, err := c.Store.Append(t.Context(), "sale-1", events.ExpectNext(uint64(n)), []events.NewEvent{{
			ID: events.NewEventID("sale-1", "test", n), Type: "written", Data: []byte("{}"),
		}}); err != nil {
			t.Fatal(err)
		}
	}
	c.Thaw(0, believes)
	o, err := Open(t.Context(), Spec{URL: c.URLOf(0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if head, err := o.Head(t.Context()); err != nil || head != all/2 {
		t.Fatalf("it does not answer from its old log: %d, %v", head, err)
	}
	if err := o.Confirm(t.Context(), events.Address{}, nil); err != nil {
		t.Fatal(err)
	}
	if head, err := o.Head(t.Context()); err != nil || head != all {
		t.Errorf("read up to %d of %d, %v", head, all, err)
	}
}
