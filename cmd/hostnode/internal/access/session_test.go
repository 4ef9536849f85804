package access_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

const origin = "http://127.0.0.1:8090"

// post sends a form as a browser does that shows a page of an origin.
func (d *door) post(path, from string, cookie *http.Cookie, values ...string) *http.Response {
	form := url.Values{}
	for i := 0; i+1 < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Host, r.RemoteAddr = "127.0.0.1:8090", "127.0.0.1:50000"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if from != "" {
		r.Header.Set("Origin", from)
	}
	if cookie != nil {
		r.AddCookie(cookie)
	}
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, r)
	return answer.Result()
}

func cookieOf(t testing.TB, answer *http.Response) *http.Cookie {
	t.Helper()
	if len(answer.Cookies()) != 1 {
		t.Fatalf("%d with the cookies %v", answer.StatusCode, answer.Cookies())
	}
	return answer.Cookies()[0]
}

func TestABrowserSignsInGivesOrdersAndSignsOut(t *testing.T) {
	d := guarded(t, nil)
	answer := d.post("/page/login", origin, nil, "token", d.operate, "next", "/page/sales?state=Proving")
	c := cookieOf(t, answer)
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/page/sales?state=Proving" ||
		!c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/page/" || c.Secure {
		t.Fatalf("%d to %s with %+v", answer.StatusCode, answer.Header.Get("Location"), c)
	}
	if d.post("/page/overview", origin, c, "do", "pause"); !d.known || d.who != (access.Principal{Token: "operator", Scope: access.Operate}) {
		t.Fatalf("it is %+v", d.who)
	}
	before := d.let
	for name, answer := range map[string]*http.Response{
		"of another site":     d.post("/page/overview", "https://evil.example", c, "do", "pause"),
		"of nowhere":          d.post("/page/overview", "", c, "do", "pause"),
		"to the API":          d.post("/api/v1/queue/pause", origin, c),
		"a sign-in elsewhere": d.post("/page/login", "https://evil.example", nil, "token", d.operate),
	} {
		if d.let != before || answer.StatusCode < 400 || len(answer.Cookies()) != 0 {
			t.Errorf("%s: %d, let in: %v", name, answer.StatusCode, d.let != before)
		}
	}
	out := d.post("/page/logout", origin, c)
	if gone := cookieOf(t, out); gone.MaxAge >= 0 || gone.Value != "" {
		t.Fatalf("after signing out the browser keeps %+v", gone)
	}
}

func TestARevokedTokenLeadsToTheFormOnce(t *testing.T) {
	d := guarded(t, nil)
	c := cookieOf(t, d.post("/page/login", origin, nil, "token", d.operate))
	if err := d.tokens.Revoke(t.Context(), "operator"); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{c.Value, "nonsense", "<script>"} {
		answer := d.ask(http.MethodGet, "/page/sales", "Cookie", "hostnode="+value)
		if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther ||
			to != "/page/login?next=%2Fpage%2Fsales" || cookieOf(t, answer).MaxAge >= 0 {
			t.Fatalf("%d to %q with %v", answer.StatusCode, to, answer.Cookies())
		}
	}
	d.lets(t, http.MethodGet, "/page/login")
}

func TestWhoSeesPagesAndWhoIsLedToTheForm(t *testing.T) {
	d := guarded(t, func(c *config.API) { c.Hosts = []string{"node.example"} })
	far := []string{"Host", "node.example"}
	for _, path := range []string{"/", "/page/login", "/page/assets/page.css"} {
		d.lets(t, http.MethodGet, path, far...)
	}
	d.lets(t, http.MethodGet, "/page/sales") // On this machine.
	for path, to := range map[string]string{
		"/page/sales":       "/page/login?next=%2Fpage%2Fsales",
		"/page/sales?a=%26": "/page/login?next=%2Fpage%2Fsales%3Fa%3D%2526",
	} {
		answer := d.ask(http.MethodGet, path, far...)
		if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != to {
			t.Errorf("%s: %d to %s, want %s", path, answer.StatusCode, answer.Header.Get("Location"), to)
		}
	}
	reader := cookieOf(t, d.post("/page/login", origin, nil, "token", d.read))
	answer := d.post("/page/overview", origin, reader, "do", "pause")
	if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || !strings.Contains(to, "why=order") {
		t.Errorf("an order with a token that reads: %d to %q", answer.StatusCode, to)
	}
	d.refuses(t, "unauthorized", http.MethodGet, "/api/v1/status", append(far, "Cookie", "hostnode="+d.operate)...)
}

// After signing in, a browser is led to our own pages only, and told only what this program says.
func TestASignInLeadsNowhereElse(t *testing.T) {
	d := guarded(t, func(c *config.API) { c.FailuresPerMinute = 2 })
	for _, next := range []string{
		"https://evil.example/page/", "//evil.example/page/", "/page/../api/v1/status", "/page//evil", "javascript:alert(1)",
		"/api/v1/queue", "\\\\evil", "/page/\\evil", "",
	} {
		answer := d.post("/page/login", origin, nil, "token", d.operate, "next", next)
		if to := answer.Header.Get("Location"); to != "/page/" {
			t.Errorf("%q leads to %q", next, to)
		}
	}
	for i, want := range []string{"wrong", "wrong", "often"} {
		answer := d.post("/page/login", origin, nil, "token", "guess", "next", "https://evil.example")
		if to := answer.Header.Get("Location"); to != "/page/login?why="+want || len(answer.Cookies()) != 0 {
			t.Errorf("guess %d leads to %q", i, to)
		}
		if access.WhyNotIn(want) == "" {
			t.Errorf("%s says nothing", want)
		}
	}
	if access.WhyNotIn("<b>") != "" {
		t.Error("the address says what is told")
	}
	long := d.post("/page/login", origin, nil, "token", strings.Repeat("a", 1<<20))
	if _, err := io.Copy(io.Discard, long.Body); err != nil || long.StatusCode >= 500 || len(long.Cookies()) != 0 {
		t.Errorf("a token of a MiB: %d, %v", long.StatusCode, err)
	}
}
