package page_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"golang.org/x/net/html"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

// nobody is a backend that knows nothing.
type nobody struct{ api.Backend }

// site serves pages behind the real guard, to a browser that has signed in with a token.
func site(t testing.TB, scope access.Scope, pages ...page.Page) *http.Client {
	t.Helper()
	logger, said := test.NewNullLogger()
	t.Cleanup(func() {
		for _, e := range said.AllEntries() {
			t.Errorf("the log says: %s", e.Message)
		}
	})
	s := page.New(pages, logrus.NewEntry(logger))
	s.Answer(nobody{})
	tokens := access.In(filepath.Join(t.TempDir(), "tokens.json"), time.Now)
	secret, err := tokens.New(t.Context(), "me", scope)
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default().API
	c.Listen, c.RequestsPerSecond, c.Burst = "127.0.0.1:8090", 1e6, 1e6
	guard := access.Guard(s, access.Config{API: c, Tokens: tokens, Log: logrus.NewEntry(logger)})
	server := httptest.NewServer(guard)
	t.Cleanup(server.Close)
	return &http.Client{Transport: browser{server.URL, secret}}
}

// browser sends what a browser does.
type browser struct{ server, token string }

func (b browser) RoundTrip(r *http.Request) (*http.Response, error) {
	at, err := url.Parse(b.server)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = at.Scheme, at.Host
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(&http.Cookie{Name: "hostnode", Value: b.token})
	return http.DefaultTransport.RoundTrip(r)
}

func get(t testing.TB, c *http.Client, path string) (status int, body string) {
	t.Helper()
	answer, err := c.Get("http://127.0.0.1" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// hostile are texts as they come from outside.
var hostile = []string{
	`<img src=x onerror=alert(1)>`, `"><script>alert(1)</script>`, `'-alert(1)-'`, "javascript:alert(1)",
	"\u202Etxt.exe", "a\x00b", "</textarea></style></title><b>", strings.Repeat("w", 10<<10), "\xff\xfe",
}

// all are all blocks with a text everywhere.
func all(text string) []page.Block {
	head := page.Head{ID: "b", Title: text, Note: text}
	cell := page.Cell{Text: text, To: text, Under: text, Level: page.Bad, Form: &page.Form{Do: "order", Button: text}}
	return []page.Block{
		page.Facts{Head: head, Rows: []page.Fact{{text, cell}}},
		page.Table{
			Head: head, Heads: []string{text}, Rows: [][]page.Cell{{cell}}, Next: &page.Link{Text: text, To: text},
			Filter: []page.Filter{{Text: text, To: text, Chosen: true}},
		},
		page.Table{Head: head, Empty: text},
		page.Table{Head: head, Heads: []string{text}, Rows: [][]page.Cell{{{
			Lines: page.Difference([]string{text, "a"}, []string{text, "b", text}),
		}}}},
		page.Notices{Head: head, Each: []page.Notice{{
			Level: page.Warn, Text: text, Since: time.Unix(1, 0), Until: time.Unix(2, 0), Do: text,
			More: []page.Link{{Text: text, To: text}}, Forms: []page.Form{{Do: "order", Button: text}},
		}}},
		page.Notices{Head: head, Well: text},
		page.Timeline{Head: head, Moments: []page.Moment{{time.Unix(1, 0), text, text, page.Bad, text}}},
		page.Strip{
			Head: head, Rows: []page.StripRow{{text, text, []page.Mark{{page.Good, text, text, text}}}},
			Legend: []page.Mark{{page.Good, text, text, ""}},
		},
		page.Bars{Head: head, Unit: text, Bars: []page.Bar{{text, 1, text, false}, {text, -2, text, true}}},
		page.Parts{Head: head, Whole: text, Parts: []page.Part{{text, text, 0.5, text, 3}}},
		page.Words{Head: head, Each: []string{text}, Links: []page.Link{{Text: text, To: text}}},
		page.Code{Head: head, Text: text},
		page.Code{Head: head, Text: text, Folded: true},
		page.Join{Each: []page.Block{page.Form{
			Head: head, Do: "order", Button: text, Confirm: text,
			Fields: []page.Field{
				{Name: "a", Label: text, Value: text, Hint: text},
				page.Hidden("h", text),
				{Name: "l", Label: text, Value: text, Hint: text, Long: true},
				{Name: "c", Label: text, Value: text, Choices: []string{text}},
				{Name: "t", Label: text, Checked: new(bool)},
			},
		}}},
	}
}

// The browser finds in a page with hostile texts the elements that it finds with harmless ones, and no link that leaves.
func TestWhatCameFromOutsideIsTextInEveryBlock(t *testing.T) {
	text := ""
	c := site(t, access.Operate, page.Page{
		Path: "p", Title: "P", Menu: "M",
		Show: func(context.Context, *page.Asked) (page.View, error) {
			return page.View{Title: text, Blocks: all(text)}, nil
		},
	})
	text = "harmless"
	_, body := get(t, c, "/page/p")
	want := elements(t, body)
	if len(want) < 150 {
		t.Fatalf("only %d elements:\n%s", len(want), body)
	}
	for _, text = range hostile {
		status, body := get(t, c, "/page/p")
		if got := elements(t, body); status != http.StatusOK || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%.30q changes the page: %d", text, status)
		}
		// What somebody typed stays in its field as it is, because it is sent again.
		body = regexp.MustCompile(`value="[^"]*"|<option.*</option>|(?s:<textarea.*?</textarea>)`).ReplaceAllString(body, "")
		if strings.ContainsAny(body, "\u202e\x00") || len(body) > 300<<10 {
			t.Errorf("%.30q: %d bytes", text, len(body))
		}
	}
}

// elements are the names of all elements, in their order; it fails if there is a script within, or a link of another kind.
func elements(t *testing.T, body string) (names []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		names = append(names, n.Data)
		if n.Data == "script" && n.FirstChild != nil {
			t.Errorf("there is a script: %s", n.FirstChild.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" ||
				(a.Key == "href" || a.Key == "src" || a.Key == "action") && strings.HasPrefix(strings.ToLower(a.Val), "javascript:") {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
	return names
}

func TestAFormGivesItsOrderOnceAndSaysSo(t *testing.T) {
	var given []string
	refused := errors.New("no room for <b>that</b>")
	p := page.Page{
		Path: "p/{of}", Title: "P",
		Show: func(_ context.Context, q *page.Asked) (v page.View, err error) {
			v.Add(page.Form{
				Head: page.Head{ID: "f"}, Do: "add", Button: "Add", Fields: []page.Field{
					{Name: "size", Label: "Size", Value: q.Typed("size", "1 GiB")},
				},
			})
			return v, nil
		},
		Orders: map[string]page.Order{"add": {Done: "It is added.", Do: func(_ context.Context, q *page.Asked) error {
			given = append(given, q.Path("of")+" "+q.Get("size")+" by "+q.By)
			if q.Get("size") == "none" {
				return refused
			}
			return nil
		}}},
	}
	c := site(t, access.Operate, p)
	post := func(values url.Values) (status int, at, body string) {
		t.Helper()
		answer, err := c.PostForm("http://127.0.0.1/page/p/x", values)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Request.URL.RequestURI(), string(text)
	}
	status, at, body := post(url.Values{"do": {"add"}, "size": {" 2 GiB"}})
	if status != http.StatusOK || at != "/page/p/x?done=add" || !strings.Contains(body, "It is added.") {
		t.Fatalf("%d at %s:\n%s", status, at, body)
	}
	status, at, body = post(url.Values{"do": {"add"}, "size": {"none"}})
	if status != http.StatusInternalServerError || at != "/page/p/x" || !strings.Contains(body, `value="none"`) ||
		!strings.Contains(body, "no room for &lt;b&gt;") {
		t.Fatalf("%d at %s:\n%s", status, at, body)
	}
	if status, _, _ = post(url.Values{"do": {"remove"}}); status != http.StatusBadRequest {
		t.Fatalf("an order that there is not: %d", status)
	}
	if strings.Join(given, "; ") != "x 2 GiB by me; x none by me" {
		t.Fatalf("the orders were %q", given)
	}
	if _, body := get(t, c, "/page/p/x?done=%3Cscript%3E"); strings.Contains(body, "told") {
		t.Error("the address says what is told")
	}
	if _, body := get(t, site(t, access.Read, p), "/page/p/x"); strings.Contains(body, `<button>Add`) {
		t.Error("a token that reads sees a form")
	}
}

func TestPagesAreNeitherKeptNorFramedAndRunNoForeignScript(t *testing.T) {
	c := site(t, access.Read, page.Page{
		Path: "p", Title: "P",
		Show: func(context.Context, *page.Asked) (v page.View, err error) { return v, problem.ErrBadRequest },
	})
	for path, want := range map[string]int{"/page/p": 400, "/page/none": 404, "/page/assets/none": 404, "/page/login": 200} {
		answer, err := c.Get("http://127.0.0.1" + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		h := answer.Header
		if answer.StatusCode != want || h.Get("Cache-Control") != "no-store" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'") ||
			!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s: %d, %v", path, answer.StatusCode, h)
		}
	}
	answer, err := c.Get("http://127.0.0.1/page/assets/page.js")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if h := answer.Header; !strings.Contains(h.Get("Cache-Control"), "immutable") || h.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("the script: %v", h)
	}
}

func TestABrowserIsToldAtOnceAndThenNowAndAgain(t *testing.T) {
	c := site(t, access.Read, page.Page{Path: "p", Title: "P"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/page/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for heard := 0; heard < 2; {
		if !lines.Scan() {
			t.Fatalf("it ended: %v", lines.Err())
		}
		if lines.Text() == `data: {"position":0}` {
			heard++
		}
	}
	if _, once := get(t, c, "/page/live?once=yes"); once != `{"position":0}`+"\n" {
		t.Fatalf("asked once it says %q", once)
	}
}

func TestADifferenceIsWhatWasRemovedAndAdded(t *testing.T) {
	for _, c := range [][3]string{
		{"4", "8", "-4 +8"},
		{"4", "4", "4"},
		{"a,b,c", "a,x,y,c", "a -b +x +y c"},
		{"a,b", "b,a", "-a -b +b +a"},
		{"a,a", "a", "a -a"},
		{"a", "a,a", "a +a"},
		{"a,b", "", "-a -b"},
		{"", "", ""},
	} {
		split := func(text string) []string {
			return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
		}
		var got []string
		for _, l := range page.Difference(split(c[0]), split(c[1])) {
			got = append(got, l.Sign+l.Text)
		}
		if strings.Join(got, " ") != c[2] {
			t.Errorf("from %s to %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestAChartHasABarForEachValueWithinIt(t *testing.T) {
	for _, values := range [][]float64{{}, {0}, {0, 0}, {3, -1}, {-2}, {1e300, 1}} {
		b := page.Bars{}
		for _, v := range values {
			b.Bars = append(b.Bars, page.Bar{Value: v})
		}
		for i, at := range b.Drawn() {
			if at.Y < 0 || at.Height < 0 || at.Y+at.Height > b.Height()+0.001 || at.X+at.Width > b.Width() {
				t.Errorf("bar %d of %v is at %+v", i, values, at)
			}
		}
	}
}
