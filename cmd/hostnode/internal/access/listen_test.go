package access

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/eventserver"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/internal/durable"
)

// pipes is a listener whose connections are in memory, and wait for each byte to be read.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// settings are those of a test: no limit of requests is reached.
func settings(change func(*config.API)) config.API {
	c := config.Default().API
	c.Listen, c.RequestsPerSecond, c.Burst = "127.0.0.1:0", 1e6, 1e6
	if change != nil {
		change(&c)
	}
	return c
}

// inMemory serves a handler in a bubble of synctest, and returns a token for orders.
func inMemory(t *testing.T, change func(*config.API), next http.HandlerFunc) (connect func() net.Conn, secret string) {
	tokens, _ := some(t)
	logger, _ := test.NewNullLogger()
	p := make(pipes)
	s := &Server{
		config: Config{settings(change), tokens, logrus.NewEntry(logger)}, listener: p,
		served: make(chan error, 1), failed: make(chan error, 1),
	}
	s.Serve(next)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return func() net.Conn {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close() })
		go func() { p <- theirs }()
		return ours
	}, made(t, tokens, "test", Operate)
}

func head(method, secret, more string) string {
	return method + " / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + secret + "\r\n" + more + "\r\n"
}

func say(to io.Writer, text string) { _, _ = io.WriteString(to, text) }

func discard(from io.Reader) { _, _ = io.Copy(io.Discard, from) }

// drip writes a byte in each second until the other side has enough.
func drip(to io.Writer, text string) error {
	for i := range text {
		if _, err := io.WriteString(to, text[i:i+1]); err != nil {
			return err
		}
		time.Sleep(time.Second)
	}
	return nil
}

func TestASlowHeadIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect, secret := inMemory(t, nil, func(http.ResponseWriter, *http.Request) { t.Error("it was served") })
		begun, c := time.Now(), connect()
		go discard(c)
		if err := drip(c, head("POST", secret, "")); err == nil || time.Since(begun) > headerTime+time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		silent := connect()
		begun = time.Now()
		if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(begun) > idleTime {
			t.Errorf("a client that says nothing: after %s %v", time.Since(begun), err)
		}
	})
}

func TestASlowBodyIsCutOff(t *testing.T) {
	for _, form := range []string{"Content-Length: 1000\r\n", "Transfer-Encoding: chunked\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			failed := make(chan error, 1)
			connect, secret := inMemory(t, nil, func(_ http.ResponseWriter, r *http.Request) {
				_, err := io.Copy(io.Discard, r.Body)
				failed <- err
			})
			begun, c := time.Now(), connect()
			go discard(c)
			var client sync.WaitGroup
			defer client.Wait()
			client.Go(func() { // The head at once, and then the body byte by byte.
				_, _ = io.WriteString(c, head("POST", secret, form))
				_ = drip(c, strings.Repeat("1\r\nx\r\n", 200))
			})
			if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != readTime {
				t.Errorf("%s after %s: %v", form, time.Since(begun), err)
			}
		})
	}
}

func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		own  time.Duration
		want time.Duration
	}{"the limit of all": {0, writeTime}, "shorter": {2 * time.Second, 2 * time.Second}, "longer": {time.Hour, time.Hour}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failed := make(chan error, 1)
				connect, secret := inMemory(t, nil, func(w http.ResponseWriter, _ *http.Request) {
					if c.own != 0 {
						if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(c.own)); err != nil {
							t.Error(err)
						}
					}
					_, err := w.Write(make([]byte, 1<<20))
					failed <- err
				})
				begun := time.Now()
				go say(connect(), head("GET", secret, ""))
				if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != c.want {
					t.Errorf("after %s: %v, want %s", time.Since(begun), err, c.want)
				}
			})
		})
	}
}

func TestALongAnswerAndALongComputationAreNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connect, secret := inMemory(t, nil, func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(w, r.Body)
			select {
			case <-time.After(time.Hour):
			case <-r.Context().Done():
				t.Error("the request ended while it was computed")
			}
			for range 10 { // A client that takes 20 s for each piece.
				if _, err := w.Write(make([]byte, writeBytes)); err != nil {
					t.Error(err)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
		c := connect()
		go say(c, head("POST", secret, "Content-Length: 4\r\n")+"body")
		answer, err := http.ReadResponse(bufio.NewReaderSize(c, writeBytes), nil)
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for into := make([]byte, writeBytes); ; time.Sleep(20 * time.Second) {
			n, err := io.ReadFull(answer.Body, into)
			if read += n; err != nil {
				break
			}
		}
		if want := 4 + 10*writeBytes; answer.StatusCode != http.StatusOK || read != want {
			t.Errorf("%d with %d bytes, want %d", answer.StatusCode, read, want)
		}
	})
}

func TestALargeBodyIsRefusedUnlessItIsAnUpload(t *testing.T) {
	const most = 1 << 10
	for name, c := range map[string]struct {
		size   int
		upload int64
		fits   bool
	}{
		"as much as is allowed": {most, 0, true}, "one byte more": {most + 1, 0, false},
		"an upload": {100 << 10, 100 << 10, true}, "a larger one": {100<<10 + 1, 100 << 10, false},
	} {
		for _, chunked := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan error, 1)
				connect, secret := inMemory(t, func(c *config.API) { c.MaxBody = most }, func(w http.ResponseWriter, r *http.Request) {
					if c.upload != 0 {
						if err := Upload(w, r, c.upload, time.Hour); err != nil {
							t.Error(err)
						}
					}
					n, err := io.Copy(io.Discard, r.Body)
					if (err == nil) != (n == int64(c.size)) {
						t.Errorf("%d bytes and %v", n, err)
					}
					got <- err
				})
				client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
					return connect(), nil
				}}}
				defer client.CloseIdleConnections()
				body := io.Reader(bytes.NewReader(make([]byte, c.size)))
				if chunked {
					body = io.MultiReader(body) // Its length is not known.
				}
				r, err := http.NewRequest(http.MethodPost, "http://localhost/", body)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+secret)
				answer, err := client.Do(r)
				var large *http.MaxBytesError
				if read := <-got; (read == nil) != c.fits || read != nil && !errors.As(read, &large) {
					t.Errorf("%s: %v", name, read)
				}
				if err == nil {
					answer.Body.Close()
				} else if c.fits {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
	}
}

func TestNoMoreClientsAreConnectedThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside, gate := make(chan struct{}, 5), make(chan struct{})
		connect, _ := inMemory(t, func(c *config.API) { c.Connections = 2 }, func(http.ResponseWriter, *http.Request) {
			inside <- struct{}{}
			<-gate
		})
		for range 5 {
			c := connect()
			go discard(c)
			go say(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		}
		synctest.Wait()
		if n := len(inside); n != 2 {
			t.Errorf("%d are served at once", n)
		}
		close(gate)
		synctest.Wait()
		if n := len(inside); n != 5 {
			t.Errorf("%d were served", n)
		}
	})
}

// A smuggled request is one that this server finds where another program sees the body of a request, or the reverse.
func TestRequestsCannotBeSmuggled(t *testing.T) {
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
	both := "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
	for name, c := range map[string]struct{ more, body, want string }{
		"a length beside chunks":         {both, "0\r\n\r\n" + smuggled, "200"},
		"chunks beside a length":         {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n" + smuggled, "200"},
		"two lengths":                    {"Content-Length: 0\r\nContent-Length: 43\r\n", smuggled, "400"},
		"a list of lengths":              {"Content-Length: 0, 43\r\n", smuggled, "400"},
		"a length with a sign":           {"Content-Length: +0\r\n", smuggled, "400"},
		"a negative length":              {"Content-Length: -1\r\n", smuggled, "400"},
		"a length in hex":                {"Content-Length: 0x0\r\n", smuggled, "400"},
		"a space before the colon":       {"Content-Length : 43\r\n", smuggled, "400"},
		"a name with a tab":              {"Content-Length\t: 43\r\n", smuggled, "400"},
		"an encoding nobody knows":       {"Transfer-Encoding: xchunked\r\n", smuggled, "501"},
		"two encodings":                  {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n" + smuggled, "501"},
		"a list of encodings":            {"Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n" + smuggled, "501"},
		"an encoding with another byte":  {"Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n" + smuggled, "400"},
		"a zero byte":                    {"X: a\x00b\r\n", smuggled, "400"},
		"two hosts":                      {"Host: evil.example\r\n", smuggled, "400"},
		"a size of a chunk with a sign":  {"Transfer-Encoding: chunked\r\n", "+0\r\n\r\n" + smuggled, "200"},
		"a chunk that is longer":         {"Transfer-Encoding: chunked\r\n", "1\r\nxx\r\n0\r\n\r\n" + smuggled, "200"},
		"a size of a chunk with bare LF": {"Transfer-Encoding: chunked\r\n", "1;\nx\r\n0\r\n\r\n" + smuggled, "200"},
		"a body that is another request": {"Content-Length: 43\r\n", smuggled, "200"},
		"a folded line hides nothing":    {"X: a\r\n Content-Length: 0\r\nContent-Length: 43\r\n", smuggled, "200"},
		"a bare LF hides nothing":        {"X: a\nContent-Length: 43\r\n", smuggled, "200"},
		"a bare CR is no end of a line":  {"X: a\rContent-Length: 43\r\n", smuggled, "400"},
		"a folded token is another one":  {" X: a\r\n", "", "401"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				connect, secret := inMemory(t, nil, func(_ http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/" {
						t.Error("it was served")
					}
					_, _ = io.Copy(io.Discard, r.Body)
				})
				to := connect()
				go say(to, head("POST", secret, c.more)+c.body)
				answer, _ := io.ReadAll(to)
				if !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.want+" ") || strings.Count(string(answer), "HTTP/1.1 ") != 1 {
					t.Errorf("%.300q, want one answer, %s", answer, c.want)
				}
			})
		})
	}
}

func TestWhatIsNoRequestOfHTTP1IsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n": "421",
		"GET / HTTP/1.1\r\n\r\n":                                                              "400",
		"GET / HTTP/1.0\r\n\r\n":                                                              "421",
		"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n":                                           "505",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                    "421",
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n":                                       "405",
		"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n":                             "400",
		"GET /healthz/%2e%2e%2fv1 HTTP/1.1\r\nHost: localhost\r\n\r\n":                        "400",
		"GET /a%2f..%2fb HTTP/1.1\r\nHost: localhost\r\n\r\n":                                 "400",
		"GET / HTTP/1.1\r\nHost: a b\r\n\r\n":                                                 "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n": "431",
	} {
		synctest.Test(t, func(t *testing.T) {
			connect, _ := inMemory(t, nil, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%q was served", r.URL) })
			c := connect()
			go say(c, text)
			if answer, _ := io.ReadAll(c); !strings.HasPrefix(strings.TrimLeft(string(answer), "HTP/1.0"), " "+want+" ") {
				t.Errorf("%.60q: %.60q, want %s", text, answer, want)
			}
		})
	}
}

func TestATokenIsNeverLoggedNorRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, _ := some(t)
		var logged bytes.Buffer
		logger := logrus.New()
		logger.SetOutput(&logged)
		logger.SetLevel(logrus.TraceLevel)
		p := make(pipes)
		s := &Server{
			config: Config{settings(nil), tokens, logrus.NewEntry(logger)}, listener: p,
			served: make(chan error, 1), failed: make(chan error, 1),
		}
		s.Serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { panic(fmt.Sprintf("%+v", r)) }))
		good, wrong := made(t, tokens, "test", Operate), secretPrefix+strings.Repeat("w", 43)
		var answers []byte
		send := func(text string) {
			ours, theirs := net.Pipe()
			p <- theirs
			go say(ours, text)
			answer, _ := io.ReadAll(ours)
			answers = append(answers, answer...)
		}
		for _, secret := range []string{good, wrong} {
			send(head("POST", secret, ""))
			send(head("GET", secret, "Authorization: Bearer "+secret+"\r\n"))
			send(head("POST", secret, "Content-Length: x\r\n"))
			send(head("POST", secret, "Sec-Fetch-Site: cross-site\r\n"))
			send("POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + secret + "\r\n\r\n")
			send(head("POST", secret+"\x00", ""))
		}
		if err := os.WriteFile(tokens.path, []byte(good), 0o600); err != nil { // A damaged file.
			t.Fatal(err)
		}
		send(head("POST", good, ""))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		said := logged.String() + string(answers)
		for what, secret := range map[string]string{"a token": good, "a wrong token": wrong} {
			if strings.Contains(said, strings.TrimPrefix(secret, secretPrefix)) {
				t.Errorf("%s is in:\n%s", what, said)
			}
		}
		for _, want := range []string{"answering POST", "wrong token", "tokens.json", "401", "403", "500"} {
			if !strings.Contains(said, want) {
				t.Errorf("the test has not come to %q:\n%s", want, said)
			}
		}
		if strings.Contains(string(answers), "tokens.json") {
			t.Errorf("an answer says where the tokens are:\n%s", answers)
		}
	})
}

// listening serves on a port of this machine, with a certificate if a directory is named.
func listening(t *testing.T, dir string) (s *Server, made eventserver.Certificates, log *test.Hook) {
	t.Helper()
	tokens, _ := some(t)
	logger, log := test.NewNullLogger()
	c := Config{settings(nil), tokens, logrus.NewEntry(logger)}
	var err error
	if dir != "" {
		if made, err = eventserver.MakeCertificates(dir, []string{"127.0.0.1"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		c.API.CertFile, c.API.KeyFile = made.Cert, made.Key
	}
	if s, err = Listen(c); err != nil {
		t.Fatal(err)
	}
	s.Serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, made, log
}

func TestAnAddressThatIsTakenIsSaidSo(t *testing.T) {
	s, _, log := listening(t, "")
	c := s.config
	c.API.Listen = s.listener.Addr().String()
	if _, err := Listen(c); !errors.Is(err, problem.ErrAPIAddress) {
		t.Errorf("listening twice: %v", err)
	}
	if said := log.LastEntry().Message; said != "the API is at "+s.URL() || !strings.HasPrefix(s.URL(), "http://127.0.0.1:") {
		t.Errorf("the log says %q", said)
	}
	answer, err := http.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "fine" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWithoutAnAddressNothingIsServed(t *testing.T) {
	s, err := Listen(Config{})
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(nil)
	if err := s.Close(); err != nil || s.Failed() != nil {
		t.Error(err)
	}
}

func TestAServerForOtherMachinesWithoutATokenIsWarnedOf(t *testing.T) {
	tokens, _ := some(t)
	made1, err := eventserver.MakeCertificates(filepath.Join(t.TempDir(), "c"), []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for want := 1; want >= 0; want-- {
		logger, log := test.NewNullLogger()
		api := settings(func(c *config.API) { c.Listen, c.CertFile, c.KeyFile = "0.0.0.0:0", made1.Cert, made1.Key })
		s, err := Listen(Config{api, tokens, logrus.NewEntry(logger)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil || len(log.AllEntries()) != want {
			t.Errorf("%d lines, want %d; %v", len(log.AllEntries()), want, err)
		}
		if want == 1 {
			made(t, tokens, "page", Read)
		}
	}
}

// peer connects with TLS and returns the server's certificate.
func peer(t *testing.T, s *Server, ca string, most uint16) (*x509.Certificate, error) {
	t.Helper()
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	c, err := tls.Dial("tcp", s.listener.Addr().String(), &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: most, //nolint:gosec // What the server refuses.
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0], nil
}

func TestTLSIsAtLeast12AndANewCertificateNeedsNoRestart(t *testing.T) {
	s, old, log := listening(t, filepath.Join(t.TempDir(), "old"))
	if !strings.HasPrefix(s.URL(), "https://") {
		t.Errorf("the API is at %s", s.URL())
	}
	if _, err := peer(t, s, old.CA, tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	first, err := peer(t, s, old.CA, tls.VersionTLS12)
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := eventserver.MakeCertificates(filepath.Join(t.TempDir(), "new"), []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	replace := func(path, by string) {
		t.Helper()
		text, err := os.ReadFile(by)
		if err == nil {
			err = durable.Replace(path, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	replace(old.Cert, renewed.Cert) // Without its key it cannot be used yet.
	before := len(log.AllEntries())
	for range 2 {
		if again, err := peer(t, s, old.CA, tls.VersionTLS13); err != nil || !again.Equal(first) {
			t.Errorf("with half of a certificate: %v", err)
		}
	}
	if n := len(log.AllEntries()); n != before+1 {
		t.Errorf("%d lines say that it cannot be used", n-before)
	}
	replace(old.Key, renewed.Key)
	if next, err := peer(t, s, renewed.CA, tls.VersionTLS13); err != nil || next.Equal(first) {
		t.Errorf("the new certificate: %v", err)
	}
}

func TestACertificateThatCannotBeUsedIsRefusedAtTheStart(t *testing.T) {
	tokens, _ := some(t)
	api := settings(func(c *config.API) { c.CertFile, c.KeyFile = "/none.crt", "/none.key" })
	if _, err := Listen(Config{api, tokens, nil}); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
