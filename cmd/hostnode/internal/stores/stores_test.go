package stores

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events/esdb"
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
