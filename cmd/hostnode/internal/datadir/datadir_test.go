package datadir

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var someTime = time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC)

// must opens a directory and closes it with the test.
func must(t *testing.T, root string) *Dir {
	t.Helper()
	d, err := Open(root, someTime)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestANewDirectoryIsForItsOwnerAlone(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "b")
	must(t, root)
	info, err := os.Stat(root)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(filepath.Join(root, "format"))
	if err != nil || string(text) != "hostnode 1\n" {
		t.Fatalf("format %q, %v", text, err)
	}
}

func TestTheSecondUserIsToldWhoTheFirstIs(t *testing.T) {
	root := t.TempDir()
	must(t, root)
	_, err := Open(root, someTime)
	var inUse *InUseError
	if !errors.Is(err, ErrInUse) || !errors.As(err, &inUse) {
		t.Fatalf("got %v", err)
	}
	if inUse.PID != os.Getpid() || !inUse.Since.Equal(someTime) || !strings.Contains(err.Error(), root) {
		t.Fatalf("got %v", err)
	}
	if _, err := OpenExisting(root, someTime); !errors.Is(err, ErrInUse) {
		t.Fatalf("existing: %v", err)
	}
}

func TestACommandIsWaitedForAndAHostIsNot(t *testing.T) {
	root := t.TempDir()
	status, err := OpenBriefly(root, someTime, true)
	if err != nil {
		t.Fatal(err)
	}
	var inUse *InUseError
	_, err = open(root, someTime, use{patience: lockPause}) // Of a command that takes too long.
	if !errors.As(err, &inUse) || !inUse.Brief || !inUse.Since.Equal(someTime) || !strings.Contains(err.Error(), "ends by itself") {
		t.Fatalf("got %v", err)
	}
	waited := 0
	d, err := open(root, someTime, use{patience: time.Hour, pause: func() {
		if waited++; waited == 3 {
			if err := status.Close(); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil || waited != 3 {
		t.Fatalf("a host that starts while a command looks waits %d times: %v", waited, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	must(t, root)
	if _, err := OpenBriefly(root, someTime, false); !errors.As(err, &inUse) || inUse.Brief {
		t.Fatalf("a command beside a host: %v", err)
	}
}

func TestAfterCloseTheDirectoryIsFree(t *testing.T) {
	root := t.TempDir()
	for range 3 {
		d, err := Open(root, someTime)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestALockFileThatSaysNothingIsNoProblem(t *testing.T) {
	root := t.TempDir()
	must(t, root)
	for _, text := range []string{"", "x", "-5 never", "99999999999999999999 2031"} {
		if err := os.WriteFile(At(root).LockFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(root, someTime)
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "another process") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestForeignFormatsAreRefused(t *testing.T) {
	for text, want := range map[string]error{
		"hostnode 2\n": ErrNewerFormat, "hostnode 4000000000": ErrNewerFormat, "": ErrFormat, "hostnode": ErrFormat,
		"hostnode 0": ErrFormat, "hostnode -1": ErrFormat, "geth 1": ErrFormat, "hostnode 99999999999999999999": ErrFormat,
	} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "format"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func(string, time.Time) (*Dir, error){Open, OpenExisting} {
			if _, err := open(root, someTime); !errors.Is(err, want) {
				t.Errorf("%q: %v, want %v", text, err, want)
			}
		}
	}
}

// The development chain uses a part of a directory, again and again, and then a host does.
func TestAChainBeginsInADirectoryMoreThanOnceAndAHostBesideIt(t *testing.T) {
	l := At(filepath.Join(t.TempDir(), "new"))
	for range 2 {
		if err := l.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(l.Chain(), "devchain"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	must(t, l.Root)
	if err := l.Begin(); err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryWithoutAHostIsNotMadeByLooking(t *testing.T) {
	root := filepath.Join(t.TempDir(), "none")
	if _, err := OpenExisting(root, someTime); !errors.Is(err, ErrEmpty) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(root); err == nil {
		t.Fatal("the directory was made")
	}
}

func TestALongPathGetsAShortSocketThatCommandsFind(t *testing.T) {
	t.Setenv("TMPDIR", shortTemp(t))
	root := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	d := must(t, root)
	path, err := d.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if len(path) > maxSocketPath || At(root).Socket() != path {
		t.Fatalf("socket at %s, commands look at %s", path, At(root).Socket())
	}
	// Commands may have another TMPDIR than the host.
	t.Setenv("TMPDIR", "/var/tmp")
	if got := At(root).Socket(); got != path {
		t.Fatalf("commands look at %s, want %s", got, path)
	}
	listen(t, path)
}

// shortTemp is a directory with a short path.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestASocketThatAKilledProcessLeftIsReplaced(t *testing.T) {
	root := shortTemp(t)
	d := must(t, root)
	path, err := d.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if path != filepath.Join(root, "hostnode.sock") {
		t.Fatalf("socket at %s", path)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if path, err = d.Listen(); err != nil {
		t.Fatal(err)
	}
	listen(t, path)
}

func TestASharedDirectoryForSocketsIsRefused(t *testing.T) {
	temp := shortTemp(t)
	t.Setenv("TMPDIR", temp)
	l := At(filepath.Join("/", strings.Repeat("long/", 30)))
	if err := os.Mkdir(privateTemp(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(privateTemp(), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := l.SocketPath("x.sock"); !errors.Is(err, ErrSocketPath) {
		t.Fatalf("got %v", err)
	}
	t.Setenv("TMPDIR", filepath.Join(temp, strings.Repeat("x", 100)))
	if _, err := l.SocketPath("x.sock"); !errors.Is(err, ErrSocketPath) {
		t.Fatalf("got %v", err)
	}
}

func TestARecordThatIsElsewhereIsNotBegunAnew(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []string
		used  bool
		want  error
	}{
		{"an empty directory", nil, false, nil},
		{"an outbox that was never written to", []string{"outbox"}, false, nil},
		{"a host with the embedded store", []string{"events/pebble", "outbox/tx"}, true, nil},
		{"a host with another store", []string{"outbox/tx"}, true, ErrNoRecord},
	} {
		l := At(t.TempDir())
		for _, part := range c.parts {
			if err := os.MkdirAll(filepath.Join(l.Root, part), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if used, err := l.Used(); used != c.used || err != nil {
			t.Errorf("%s: used %v, %v", c.name, used, err)
		}
		if err := l.RecordIsHere(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestADirectoryThatWasUsedIsNotTakenForANewOne(t *testing.T) {
	put := func(t *testing.T, root, name string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, left := range []string{"events/FORMAT", "outbox/tx-0x01.outbox", "slots/FORMAT", "chain/genesis.json"} {
		root := t.TempDir()
		put(t, root, left)
		if _, err := Open(root, time.Now()); !errors.Is(err, ErrFormat) {
			t.Errorf("with %s and no format: %v", left, err)
		}
		if _, err := OpenExisting(root, time.Now()); !errors.Is(err, ErrFormat) {
			t.Errorf("existing, with %s and no format: %v", left, err)
		}
	}
	root := t.TempDir()
	put(t, root, "outbox/tx-0x01.outbox")
	l := At(root)
	if err := l.RecordIsHere(); !errors.Is(err, ErrNoRecord) {
		t.Errorf("without events: %v", err)
	}
	if err := os.Mkdir(l.Events(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := l.RecordIsHere(); !errors.Is(err, ErrNoRecord) {
		t.Errorf("with nothing in events: %v", err)
	}
}
