package sources

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/car"
	"github.com/hostnode/hostnode/storage/car/cartest"
)

func newSources(t testing.TB, cfg Config) *Sources {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func at(name string) events.ContentSource { return events.ContentSource{Key: name} }

func read(s *Sources, from events.ContentSource, offset uint64) ([]byte, error) {
	body, err := s.Open(context.Background(), from, offset)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// refused checks that a source is refused with an error, that Check says the same, and that the error has a text.
func refused(t *testing.T, s *Sources, from events.ContentSource, want error, text string) {
	t.Helper()
	_, err := read(s, from, 0)
	if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), text) || len(err.Error()) > 500 {
		t.Errorf("%.200q: %v, want %v, %q", from, err, want, text)
	}
}

// content answers with these bytes, or the range that is asked for.
func content(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.car", time.Time{}, bytes.NewReader(data))
	}
}

func TestASourceIsReadFromAnyByteOn(t *testing.T) {
	data := cartest.Random(rand.New(rand.NewPCG(1, 1)), 300_000)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.car")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	whole := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }
	s := newSources(t, Config{Roots: []string{"/nowhere", dir}, AllowPrivate: true})
	for name, from := range map[string]events.ContentSource{
		"ranges":          at(serve(t, content(data)) + "/a.car?signature=secret"),
		"no ranges":       at(serve(t, whole)),
		"a path":          at(file),
		"a file":          at("file://" + file),
		"a file's folder": {BucketURL: "file://" + dir, Key: "a.car"},
		"a folder":        {BucketURL: dir + "/", Key: "a.car"},
	} {
		for _, offset := range []uint64{0, 1, 100_000, uint64(len(data)) - 1} {
			if got, err := read(s, from, offset); err != nil || !bytes.Equal(got, data[offset:]) {
				t.Errorf("%s from %d: %d bytes, %v, want %d", name, offset, len(got), err, len(data)-int(offset))
			}
		}
		for _, offset := range []uint64{uint64(len(data)) + 1, 1 << 40} {
			if _, err := read(s, from, offset); !errors.Is(err, events.ErrSourceAway) {
				if offset < 1<<36 || !errors.Is(err, events.ErrForbiddenSource) {
					t.Errorf("%s from %d: %v", name, offset, err)
				}
			}
		}
		body, err := s.Open(t.Context(), from, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := car.Examine(t.Context(), body, cartest.Of(data), car.Options{}); err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		_ = body.Close()
	}
}

func TestTheKeyIsAppendedToTheBucket(t *testing.T) {
	var asked atomic.Value
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.RequestURI) })
	s := newSources(t, Config{AllowPrivate: true})
	for _, c := range []struct{ bucket, key, want string }{
		{"", "a.car", "/a.car"},
		{"/", "a.car", "/a.car"},
		{"/bucket", "folder/a.car", "/bucket/folder/a.car"},
		{"/bucket?sig=x%2By", "a b?#%.car", "/bucket/a%20b%3F%23%25.car?sig=x%2By"},
		{"/a%2Fb/", "c+d//e%2F..", "/a%2Fb/c%2Bd//e%252F.."},
		{"", "/a.car", "//a.car"},
	} {
		if _, err := read(s, events.ContentSource{BucketURL: url + c.bucket, Key: c.key}, 0); err != nil || asked.Load() != c.want {
			t.Errorf("%s and %s: %v, %v, want %s", c.bucket, c.key, asked.Load(), err, c.want)
		}
	}
}

func TestAnswersThatAreNotTheContentAreAway(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	with := func(code int, header, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(code)
			fmt.Fprint(w, "0123456789")
		}
	}
	s := newSources(t, Config{AllowPrivate: true})
	for _, c := range []struct {
		answer http.HandlerFunc
		offset uint64
		text   string
	}{
		{status(204), 0, "status 204"},
		{status(403), 0, "status 403, Forbidden"},
		{status(404), 0, "/path: the source does not answer: it answers with status 404"},
		{status(410), 1, "status 410"},
		{status(416), 1, "status 416"},
		{status(503), 0, "status 503"},
		{with(206, "Content-Range", "bytes 0-9/10"), 0, "status 206"},
		{with(206, "Content-Range", "bytes 2-10/11"), 1, `range "bytes 2-10/11"`},
		{with(206, "Content-Range", "bytes 1-5/11"), 1, "answers with range"},
		{with(206, "Content-Range", "bytes 1-9/*"), 1, "answers with range"},
		{with(206, "Content-Range", ""), 1, "answers with range"},
		{with(200, "Content-Encoding", "gzip"), 0, "Content-Encoding"},
		{with(200, "Content-Length", "100"), 0, "unexpected EOF"},
		{with(200, "A", "b"), 11, "ends after 10 bytes"},
		{func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "EOF"},
		{func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }, 0, "more than 3 times"},
		{with(200, "Big", strings.Repeat("x", 2*maxHead)), 0, "server response headers"},
	} {
		url := serve(t, c.answer)
		_, err := read(s, at(url+"/path?token=secret"), c.offset)
		if !errors.Is(err, events.ErrSourceAway) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %q", err, c.text)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	for _, name := range []string{gone.URL, tls.URL, "http://name.invalid/"} {
		if _, err := read(s, at(name), 0); !errors.Is(err, events.ErrSourceAway) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIdentityIsAskedFor(t *testing.T) {
	var asked atomic.Value
	s := newSources(t, Config{AllowPrivate: true})
	name := at(serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("Accept-Encoding") + " " + r.Header.Get("Range"))
		w.Header().Set("Content-Encoding", "Identity")
		fmt.Fprint(w, "0123456789")
	}))
	for offset, want := range map[uint64]string{0: "identity ", 7: "identity bytes=7-"} {
		if got, err := read(s, name, offset); err != nil || string(got) != "0123456789"[offset:] || asked.Load() != want {
			t.Errorf("%q, %v, asked for %q", got, err, asked.Load())
		}
	}
}

func TestWhatCanNeverBeReadIsRefusedAtOnce(t *testing.T) {
	s := newSources(t, Config{Roots: []string{"/srv/cars"}})
	for _, c := range []struct {
		from events.ContentSource
		want error
		text string
	}{
		{at(""), events.ErrMalformed, "want a key"},
		{events.ContentSource{BucketURL: "https://a.example"}, events.ErrMalformed, "want a key"},
		{at("a.car"), events.ErrForbiddenSource, "want http:, https: or file:"},
		{at("s3://bucket/a.car"), events.ErrForbiddenSource, `not "s3"`},
		{at("ftp://a.example/a.car"), events.ErrForbiddenSource, `not "ftp"`},
		{at("gopher:" + strings.Repeat("x", 1000)), events.ErrForbiddenSource, "gopher"},
		{at("http:///a.car"), events.ErrMalformed, "with a host"},
		{at("https:a.car"), events.ErrMalformed, "with a host"},
		{at("https://:80/a.car"), events.ErrMalformed, "with a host"},
		{at("https://me:secret@a.example/a.car"), events.ErrMalformed, "without user"},
		{at("https://me@a.example/a.car"), events.ErrMalformed, "without user"},
		{at("https://a.example/a.car#part"), events.ErrMalformed, "without #"},
		{at("https://[::1/a.car"), events.ErrMalformed, "want a key"},
		{at("https://a.example/" + strings.Repeat("x", maxName)), events.ErrMalformed, "at most 4096"},
		{events.ContentSource{Key: "https://a.example/", BucketName: strings.Repeat("x", maxName+1)}, events.ErrMalformed, "at most"},
		{at("https://a.example/\n"), events.ErrMalformed, "of text"},
		{at("/srv/cars/\x00"), events.ErrMalformed, "of text"},
		{at("/srv/cars/\xff"), events.ErrMalformed, "of text"},
		{events.ContentSource{BucketURL: "https://a.example/bucket", Key: "../other/a.car"}, events.ErrMalformed, ". and .."},
		{events.ContentSource{BucketURL: "/srv/cars", Key: "a/./b"}, events.ErrMalformed, ". and .."},
		{at("/etc/passwd"), events.ErrForbiddenSource, "aggregation.sources.roots"},
		{at("/srv/cars/../../etc/passwd"), events.ErrForbiddenSource, "aggregation.sources.roots"},
		{at("file:///srv/cars/%2e%2e/passwd"), events.ErrForbiddenSource, "aggregation.sources.roots"},
		{at("/srv/carsandmore/a.car"), events.ErrForbiddenSource, "aggregation.sources.roots"},
		{at("file:a.car"), events.ErrMalformed, "file:///PATH"},
		{at("file://a.example/srv/cars/a.car"), events.ErrMalformed, "file:///PATH"},
		{at("file:///srv/cars/a.car?x"), events.ErrMalformed, "file:///PATH"},
		{at("http://127.0.0.1/a.car"), events.ErrForbiddenSource, "aggregation.sources.private"},
		{at("http://[::1]:80/a.car"), events.ErrForbiddenSource, "aggregation.sources.private"},
		{at("http://169.254.169.254/latest/meta-data"), events.ErrForbiddenSource, "aggregation.sources.private"},
		{events.ContentSource{BucketURL: "https://10.0.0.1/b", Key: "a.car"}, events.ErrForbiddenSource, "aggregation.sources.private"},
	} {
		if err := s.Check(c.from); !errors.Is(err, c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.100q is checked: %v, want %v", c.from, err, c.want)
		}
		refused(t, s, c.from, c.want, c.text)
	}
	for _, good := range []events.ContentSource{
		at("https://a.example/a.car?signature=x"), at("/srv/cars/a.car"), at("file:///srv/cars/a.car"),
		at("file://localhost/srv/cars/a.car"),
		{BucketURL: "https://8.8.8.8:444/b", Key: "a/..b/c"},
		{BucketURL: "file:///srv/cars", Key: "a.car"},
		at("/srv/cars/x/../a.car"), at("http://name.invalid"),
	} {
		if err := s.Check(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if _, err := New(Config{Roots: []string{"cars"}}); !errors.Is(err, events.ErrMalformed) {
		t.Errorf("a root that is not absolute: %v", err)
	}
}

func TestOnlyRegularFilesBelowTheRootsAreRead(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	for _, name := range []string{secret, filepath.Join(dir, "good"), filepath.Join(dir, "unreadable")} {
		if err := os.WriteFile(name, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("good", "inside")
	link(secret, "absolute")
	link("../"+filepath.Base(outside)+"/secret", "relative")
	link(outside, "folder")
	link("nothing", "dangling")
	link("loop", "loop")
	link("/dev/zero", "device")
	link("fifo", "to-fifo")
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600), os.Mkdir(filepath.Join(dir, "sub"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s := newSources(t, Config{Roots: []string{dir}})
	for name, want := range map[string]error{
		"good": nil, "inside": nil, "sub/../good": nil, "./good": nil,
		"absolute": events.ErrForbiddenSource, "relative": events.ErrForbiddenSource, "folder/secret": events.ErrForbiddenSource,
		"device": events.ErrForbiddenSource, "fifo": events.ErrForbiddenSource, "to-fifo": events.ErrForbiddenSource,
		"sub": events.ErrForbiddenSource, "": events.ErrForbiddenSource, "folder/../good": nil,
		"nothing": events.ErrSourceAway, "dangling": events.ErrSourceAway, "loop": events.ErrSourceAway, "good/more": events.ErrSourceAway,
		strings.Repeat("x", 300): events.ErrSourceAway,
	} {
		got, err := read(s, at(dir+"/"+name), 0)
		if !errors.Is(err, want) || (string(got) == "content") != (want == nil) {
			t.Errorf("%.20s: %q, %v, want %v", name, got, err, want)
		}
	}
	gone := newSources(t, Config{Roots: []string{filepath.Join(dir, "gone")}})
	refused(t, gone, at(dir+"/gone/a.car"), events.ErrSourceAway, "gone")
}

func TestPrivateAddressesAreNotAsked(t *testing.T) {
	var asked atomic.Int64
	inside := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	s := newSources(t, Config{})
	local := strings.Replace(inside, "127.0.0.1", "localhost", 1)
	refused(t, s, at(local), events.ErrForbiddenSource, "aggregation.sources.private")

	// A redirect leads inside; then a name has a public address first and a private one later.
	to := inside
	outside := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	transport := s.client.Transport.(*http.Transport)
	checked, looks := transport.DialContext, 0
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "public.example:80" {
			return checked(ctx, network, address)
		}
		if looks++; looks == 2 {
			return checked(ctx, network, strings.TrimPrefix(inside, "http://"))
		}
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(outside, "http://"))
	}
	for _, to = range []string{inside, local, "http://public.example/again"} {
		looks = 0
		transport.CloseIdleConnections()
		transport.DisableKeepAlives = true
		refused(t, s, at("http://public.example/a.car"), events.ErrForbiddenSource, "aggregation.sources.private")
	}
	for _, to = range []string{"ftp://public.example/a.car", "file:///etc/passwd", "gopher://x"} {
		looks = 0
		refused(t, s, at("http://public.example/a.car"), events.ErrForbiddenSource, "want http:")
	}
	if asked.Load() != 0 {
		t.Errorf("a private address was asked %d times", asked.Load())
	}
}

func TestARedirectIsNotToldWhereItCameFrom(t *testing.T) {
	var referer atomic.Value
	there := serve(t, func(w http.ResponseWriter, r *http.Request) {
		referer.Store(r.Header.Get("Referer"))
		fmt.Fprint(w, "content")
	})
	from := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, there, http.StatusFound) })
	got, err := read(newSources(t, Config{AllowPrivate: true}), at(from+"?token=secret"), 0)
	if err != nil || string(got) != "content" || referer.Load() != "" {
		t.Errorf("%q, %v, referer %v", got, err, referer.Load())
	}
}

func TestASourceThatIsTooLargeIsRefused(t *testing.T) {
	dir := t.TempDir()
	long, exact := bytes.Repeat([]byte("x"), 1001), bytes.Repeat([]byte("x"), 1000)
	endless := func(data []byte) http.HandlerFunc { // without a length
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(data[:10])
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(data[10:])
		}
	}
	for name, data := range map[string][]byte{"long": long, "exact": exact} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newSources(t, Config{Roots: []string{dir}, AllowPrivate: true, MaxBytes: 1000})
	for _, offset := range []uint64{0, 500} {
		for _, name := range []string{serve(t, content(long)), serve(t, endless(long)), dir + "/long"} {
			if _, err := read(s, at(name), offset); !errors.Is(err, events.ErrForbiddenSource) || !strings.Contains(err.Error(), "maxBytes") {
				t.Errorf("%s from %d: %v", name, offset, err)
			}
		}
		for _, name := range []string{serve(t, content(exact)), serve(t, endless(exact)), dir + "/exact"} {
			if got, err := read(s, at(name), offset); err != nil || len(got) != 1000-int(offset) {
				t.Errorf("%s from %d: %d bytes, %v", name, offset, len(got), err)
			}
		}
	}
	if _, err := read(s, at(dir+"/exact"), 1001); !errors.Is(err, events.ErrForbiddenSource) {
		t.Errorf("beyond the limit: %v", err)
	}
}

// slow makes s ask a server in memory, which answers each request over its own pipe.
func slow(t *testing.T, s *Sources, answer func(net.Conn)) {
	var answering sync.WaitGroup
	t.Cleanup(answering.Wait)
	s.client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		answering.Go(func() {
			defer there.Close()
			if _, err := http.ReadRequest(bufio.NewReader(there)); err == nil {
				answer(there)
			}
		})
		return here, nil
	}
}

const head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\n"

func TestASourceThatStallsIsAwayAndASlowOneIsNot(t *testing.T) {
	until := func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) } // The client hangs up.
	for name, c := range map[string]struct {
		answer func(net.Conn)
		after  time.Duration
		text   string
	}{
		"it never answers": {until, 10 * time.Second, "nothing comes"},
		"it stops": {func(c net.Conn) {
			fmt.Fprint(c, head+"01234")
			until(c)
		}, 5 * time.Second, "nothing comes"},
		"it is slow and steady": {func(c net.Conn) {
			for _, b := range head[:20] {
				fmt.Fprintf(c, "%c", b)
			}
			time.Sleep(9 * time.Second)
			fmt.Fprint(c, head[20:])
			for i := range 10 {
				time.Sleep(4 * time.Second)
				fmt.Fprint(c, i)
			}
		}, 49 * time.Second, ""},
		"it never ends": {func(c net.Conn) {
			fmt.Fprint(c, strings.Replace(head, "10", "1000", 1))
			for {
				time.Sleep(4 * time.Second)
				if _, err := fmt.Fprint(c, "x"); err != nil {
					return
				}
			}
		}, time.Minute, "longer than 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSources(t, Config{FirstByte: 10 * time.Second, Idle: 5 * time.Second, Total: time.Minute})
				slow(t, s, c.answer)
				start := time.Now()
				got, err := read(s, at("http://a.example"), 0)
				if c.text == "" && (err != nil || string(got) != "0123456789") ||
					c.text != "" && (!errors.Is(err, events.ErrSourceAway) || !strings.Contains(err.Error(), c.text)) {
					t.Errorf("%q, %v, want %q", got, err, c.text)
				}
				if took := time.Since(start); took != c.after {
					t.Errorf("it took %s, want %s", took, c.after)
				}
			})
		})
	}
}

// Who reads slowly is not taken for a source that stalls.
func TestAPauseOfTheReaderIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSources(t, Config{FirstByte: time.Second, Idle: time.Second})
		slow(t, s, func(c net.Conn) { fmt.Fprint(c, head+"0123456789") })
		body, err := s.Open(t.Context(), at("http://a.example"), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		time.Sleep(time.Hour)
		if _, err := io.ReadFull(body, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if rest, err := io.ReadAll(body); err != nil || string(rest) != "56789" {
			t.Errorf("%q, %v", rest, err)
		}
	})
}

func TestTheCallersEndIsNoFaultOfTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSources(t, Config{})
		slow(t, s, func(c net.Conn) {
			fmt.Fprint(c, head+"01234")
			cancel()
			_, _ = c.Read(make([]byte, 1))
		})
		body, err := s.Open(ctx, at("http://a.example"), 0)
		if err == nil {
			_, err = io.ReadAll(body)
			_ = body.Close()
		}
		if !errors.Is(err, context.Canceled) || errors.Is(err, events.ErrSourceAway) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
	})
}

func TestAllReadersShareOneRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		data := bytes.Repeat([]byte("x"), 50_000)
		if err := os.WriteFile(filepath.Join(dir, "a"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := newSources(t, Config{Roots: []string{dir}, BytesPerSecond: 10_000})
		start, done := time.Now(), make(chan [32]byte)
		for range 2 {
			go func() {
				got, err := read(s, at(dir+"/a"), 0)
				if err != nil {
					t.Error(err)
				}
				done <- sha256.Sum256(got)
			}()
		}
		for range 2 {
			if <-done != sha256.Sum256(data) {
				t.Error("other bytes were read")
			}
		}
		// 100,000 bytes; those of the first second were there.
		if took := time.Since(start).Round(time.Second); took != 9*time.Second {
			t.Errorf("it took %s, want 9s", took)
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add("a.car", "https://a.example/bucket")
	f.Add("/srv/cars/../x", "")
	f.Add("%2e%2e/x", "file:///srv/cars")
	s := newSources(f, Config{Roots: []string{"/srv/cars"}})
	f.Fuzz(func(t *testing.T, key, bucket string) {
		u, err := s.locate(events.ContentSource{Key: key, BucketURL: bucket})
		if err != nil {
			if !errors.Is(err, events.ErrMalformed) && !errors.Is(err, events.ErrForbiddenSource) {
				t.Fatal(err)
			}
			return
		}
		if path := filepath.Clean(u.Path); u.Scheme == "file" && path != "/srv/cars" && !strings.HasPrefix(path, "/srv/cars/") {
			t.Fatalf("%s is outside", u)
		}
		if _, err := http.NewRequest(http.MethodGet, u.String(), nil); err != nil {
			t.Fatal(err)
		}
	})
}
