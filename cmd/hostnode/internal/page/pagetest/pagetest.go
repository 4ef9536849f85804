// Package pagetest opens the pages of a recorded host, as a browser does that has signed in. It is for tests.
package pagetest

import (
	"bufio"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/pages"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
)

// Now is what the clock of recorded hosts says.
var Now = events.Unix(1_800_000_000)

// History names the first events of a history of testdata/history, below Root.
type History struct {
	Root, Name string
	Most       int                           // events; 0: all
	Change     func(key, text string) string // rewrites the texts in its events; nil: they stay
}

// Recorded is a host that does not run, with a history.
func Recorded(t testing.TB, h History) api.Backend {
	t.Helper()
	f, err := os.Open(filepath.Join(h.Root, "testdata", "history", "v1", h.Name+".jsonl"))
	check(t, err)
	defer f.Close()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"), Now)
	check(t, err)
	store, _, err := embedded.Open(dir.Events(), embedded.Config{Now: func() time.Time { return Now }})
	check(t, err)
	var host events.Address
	lines := bufio.NewScanner(f)
	n := 0
	for lines.Buffer(nil, 1<<22); lines.Scan() && (h.Most == 0 || n < h.Most); n++ {
		var e struct {
			Stream   string          `json:"stream"`
			Revision uint64          `json:"revision"`
			ID       string          `json:"id"`
			Type     string          `json:"type"`
			Meta     json.RawMessage `json:"meta"`
			Data     json.RawMessage `json:"data"`
		}
		check(t, json.Unmarshal(lines.Bytes(), &e))
		id, err := events.ParseEventID(e.ID)
		check(t, err)
		if parts := strings.Split(e.Stream, "-"); parts[0] != events.CategoryMarket && host.Zero() {
			host = events.Must(events.ParseAddress(parts[1]))
		}
		if h.Change != nil {
			var data any
			check(t, json.Unmarshal(e.Data, &data))
			e.Data, err = json.Marshal(changed(data, "", h.Change))
			check(t, err)
		}
		meta, foreign := events.DecodeMetadata(e.Meta)
		_, err = store.Append(t.Context(), e.Stream, events.ExpectNext(e.Revision), []events.NewEvent{{
			ID: id, Type: e.Type, Data: e.Data, Meta: meta, Foreign: foreign,
		}})
		check(t, err)
	}
	check(t, lines.Err())
	check(t, store.Close())
	check(t, dir.KeepToken(money.Of("TST", 18)))
	check(t, dir.Close())
	b, err := api.OpenOffline(t.Context(), api.OfflineConfig{Source: api.Source{
		DataDir: dir.Root, Account: host, Now: func() time.Time { return Now }, Machines: machines.API(),
	}})
	check(t, err)
	t.Cleanup(func() { check(t, b.Close()) })
	return b
}

func changed(data any, key string, change func(key, text string) string) any {
	switch of := data.(type) {
	case map[string]any:
		for k, v := range of {
			of[k] = changed(v, k, change)
		}
	case []any:
		for i, v := range of {
			of[i] = changed(v, key, change)
		}
	case string:
		return change(key, of)
	}
	return data
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Browser is one that has signed in with a token that allows orders.
type Browser struct {
	Handler http.Handler // the site behind its guard
	Secret  string       // of the token, whose name is "anna"
}

// Open opens the pages of a host.
func Open(t testing.TB, b api.Backend) Browser {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	site := page.New(pages.All(machines.Pages()), logrus.NewEntry(log))
	site.Answer(b)
	tokens := access.In(filepath.Join(t.TempDir(), "tokens.json"), time.Now)
	secret, err := tokens.New(t.Context(), "anna", access.Operate)
	check(t, err)
	set := config.Default().API
	set.Listen, set.RequestsPerSecond, set.Burst = "127.0.0.1:0", 1e6, 1e6
	return Browser{access.Guard(site, access.Config{API: set, Tokens: tokens, Log: logrus.NewEntry(log)}), secret}
}

// Get opens a page.
func (b Browser) Get(t testing.TB, path string) (status int, body string) {
	t.Helper()
	answer := b.Send(t, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}

// Shows opens a page, and is an error if it does not say what is wanted.
func (b Browser) Shows(t testing.TB, path string, want ...string) {
	t.Helper()
	status, body := b.Get(t, path)
	says := Text(body)
	if status != http.StatusOK {
		t.Errorf("%s: status %d", path, status)
	}
	for _, text := range want {
		if !strings.Contains(says, text) {
			t.Errorf("%s: no %q in\n%s", path, text, says)
		}
	}
}

// Post sends a form.
func (b Browser) Post(t testing.TB, path string, form url.Values) (status int, body string) {
	t.Helper()
	answer := b.Send(t, Form(path, form))
	return answer.Code, answer.Body.String()
}

// Ordered sends a form whose order must be done, opens the page that follows, and says what is read there.
func (b Browser) Ordered(t testing.TB, path string, form url.Values) string {
	t.Helper()
	answer := b.Send(t, Form(path, form))
	if answer.Code != http.StatusSeeOther {
		t.Fatalf("%s %v: %d %.400s", path, form, answer.Code, Text(answer.Body.String()))
	}
	_, body := b.Get(t, answer.Header().Get("Location"))
	return Text(body)
}

// Form is the request that sends a form.
func Form(path string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// Send sends a request as the browser does.
func (b Browser) Send(t testing.TB, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	r.Host = "127.0.0.1"
	r.Header.Set("Authorization", "Bearer "+b.Secret)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	b.Handler.ServeHTTP(w, r)
	return w
}

var (
	tags   = regexp.MustCompile(`<span class="ago">[^<]*</span>|<[^>]*>`) // How long ago something is depends on today.
	spaces = regexp.MustCompile(`\s+`)
)

// Text is what a person reads of a page, in one line.
func Text(body string) string {
	_, main, _ := strings.Cut(body, `<main`)
	return spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString("<"+main, " ")), " ")
}
