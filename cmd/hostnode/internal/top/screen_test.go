package top

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

// terminal is one of the kernel's: what is written to master is typed, and what is read there was drawn.
func terminal(t *testing.T) (master, inside *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no terminals for tests: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	inside, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inside.Close(); _ = master.Close() })
	return master, inside
}

func resize(t *testing.T, inside *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(inside.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
}

func modeOf(t *testing.T, inside *os.File) unix.Termios {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(inside.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *mode
}

// drawn reads what is drawn until a text is in it.
func drawn(t *testing.T, master io.Reader, text string) string {
	t.Helper()
	var all bytes.Buffer
	for some := make([]byte, 1); !strings.HasSuffix(all.String(), text); {
		if _, err := master.Read(some); err != nil {
			t.Fatalf("%v; drawn, without %q: %q", err, text, all.String())
		}
		all.Write(some)
	}
	return all.String()
}

// standIn is a host that answers what a test has it say.
type standIn struct {
	socket string
	server *http.Server
	reason atomic.Value
	hangs  atomic.Bool
	wakes  chan struct{}
}

func (h *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.hangs.Load() {
		<-r.Context().Done()
		return
	}
	var answer any = struct{}{}
	switch strings.TrimPrefix(r.URL.Path, api.Root) {
	case "status":
		answer = api.Status{Standing: api.Standing{Selling: true, Reason: h.reason.Load().(string)}}
	case api.Watch:
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case <-h.wakes:
				fmt.Fprint(w, "id: 7\ndata: {}\n\n")
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case "members":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"code": "host-starting", "title": "?", "status": 503, "detail": "the host is starting"}`)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (h *standIn) start(t *testing.T) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = h.server.Serve(l) }()
}

func serve(t *testing.T) *standIn {
	t.Helper()
	dir, err := os.MkdirTemp("", "top") // The path of a socket must be short.
	if err != nil {
		t.Fatal(err)
	}
	h := &standIn{socket: filepath.Join(dir, "s"), wakes: make(chan struct{})}
	h.reason.Store("at first")
	h.start(t)
	t.Cleanup(func() { _ = h.server.Close(); _ = os.RemoveAll(dir) })
	return h
}

func show(t *testing.T, every time.Duration) (h *standIn, master, inside *os.File, ended chan error) {
	t.Helper()
	h, ended = serve(t), make(chan error, 1)
	master, inside = terminal(t)
	resize(t, inside, 60, 10)
	s, is := newScreen(&cli.App{Stdin: inside, Stdout: inside, Now: time.Now, Terminal: true}, every)
	if !is {
		t.Fatal("the terminal is none")
	}
	go func() { ended <- s.run(t.Context(), api.NewClient(h.socket)) }()
	return h, master, inside, ended
}

// What the host records is seen without waiting; what it does not tell is said; a lost host is said with the age of what
// is shown, and when it is back it goes on. It is drawn for the size that the terminal has. In the end all is as it was.
func TestTheScreenFollowsAHostThatGoesAndComesBack(t *testing.T) {
	_, untouched := terminal(t)
	before := modeOf(t, untouched)
	h, master, inside, ended := show(t, time.Hour)
	if text := drawn(t, master, "at first"); !strings.HasPrefix(text, enter) || !strings.HasSuffix(text, "\x1b[32mSELLING\x1b[0m: at first") {
		t.Errorf("%q", text)
	}
	drawn(t, master, "not all is known: the host is starting")
	h.reason.Store("as recorded then")
	h.wakes <- struct{}{}
	drawn(t, master, "as recorded then")
	h.reason.Store(strings.Repeat("long ", 40))
	h.wakes <- struct{}{}
	drawn(t, master, "…\x1b[K")
	resize(t, inside, 30, 10)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	drawn(t, master, "SELLING\x1b[0m: long long long long\x1b[K\r\n")
	if _, err := master.WriteString("xq"); err != nil {
		t.Fatal(err)
	}
	drawn(t, master, leave)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, modeOf(t, inside)); diff != "" {
		t.Errorf("the terminal is another:\n%s", diff)
	}
}

func TestLostContactIsSaidWithinFiveSeconds(t *testing.T) {
	if mostEvery+patience > 5*time.Second {
		t.Errorf("a look at most every %s, and %s for an answer", mostEvery, patience)
	}
}

// A process that has ended, and one that hangs, are told, and it goes on by itself.
func TestTheScreenSaysThatContactIsLostAndGoesOn(t *testing.T) {
	h, master, _, ended := show(t, leastEvery)
	drawn(t, master, "at first")
	_ = h.server.Close()
	drawn(t, master, wordNoContact+"\x1b[0m, what follows is")
	h.start(t)
	h.reason.Store("back")
	drawn(t, master, "\x1b[H\x1b[32mSELLING\x1b[0m: back")
	h.hangs.Store(true)
	drawn(t, master, wordNoContact+"\x1b[0m, what follows is")
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	drawn(t, master, leave)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// A bug of ours, in whatever goroutine, does not leave a terminal in which nobody can type.
func TestAPanicLeavesTheTerminalAsItWas(t *testing.T) {
	h := serve(t)
	master, inside := terminal(t)
	before := modeOf(t, inside)
	s, _ := newScreen(&cli.App{Stdin: inside, Stdout: inside, Now: func() time.Time { panic("a bug") }}, leastEvery)
	said := make(chan any, 1)
	go func() {
		defer func() { said <- recover() }()
		_ = s.run(t.Context(), api.NewClient(h.socket))
	}()
	drawn(t, master, leave)
	if p := <-said; p != "a bug" {
		t.Errorf("it panicked with %v", p)
	}
	if diff := cmp.Diff(before, modeOf(t, inside)); diff != "" {
		t.Errorf("the terminal is another:\n%s", diff)
	}
}
