package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
)

//go:embed page.html page.css page.js icon.svg
var files embed.FS

// Limits of the site.
const (
	// showTime bounds the making of a page.
	showTime = 30 * time.Second
	// maxForm is the most bytes of a form.
	maxForm = 64 << 10
	// maxText is the most bytes of a text that came from outside that is shown.
	maxText = 2_000
)

// policy lets a page load only what this host serves, run no script within it, and be in no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Site serves pages. Safe for concurrent use.
type Site struct {
	pages   []Page
	log     *logrus.Entry
	mux     *http.ServeMux
	html    *template.Template
	backend atomic.Pointer[api.Backend]
	assets  map[string]asset
	live    atomic.Int64 // streams that are open

	mu    sync.Mutex
	token money.Token
}

type asset struct {
	kind, tag string
	content   []byte
}

// New makes a site of pages; the first one is where Root leads.
func New(pages []Page, log *logrus.Entry) *Site {
	s := &Site{pages: pages, log: log, mux: http.NewServeMux(), assets: map[string]asset{}}
	for name, kind := range map[string]string{
		"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		content, err := files.ReadFile(name)
		if err != nil {
			panic(err) // It is embedded.
		}
		sum := sha256.Sum256(content)
		s.assets[name] = asset{kind, hex.EncodeToString(sum[:8]), content}
	}
	s.html = template.New("").Funcs(template.FuncMap{
		"render": s.render, "t": shown, "when": when, "clock": cli.Clock, "asset": s.address, "args": args,
		"ticked": func(b *bool) bool { return *b },
	})
	template.Must(s.html.ParseFS(files, "page.html"))
	s.mux.HandleFunc("GET "+Root+"assets/{name}", s.asset)
	s.mux.HandleFunc("GET "+Root+"live", s.tellLive)
	s.mux.HandleFunc("GET "+access.SignInPath, s.signIn)
	for _, p := range pages {
		if p.File != nil {
			s.mux.HandleFunc("GET "+Root+p.Path, func(w http.ResponseWriter, r *http.Request) { s.file(w, r, p) })
			continue
		}
		s.mux.HandleFunc("GET "+Root+p.Path, func(w http.ResponseWriter, r *http.Request) { s.show(w, r, p) })
		s.mux.HandleFunc("POST "+Root+p.Path, func(w http.ResponseWriter, r *http.Request) { s.order(w, r, p) })
	}
	s.mux.HandleFunc("GET "+Root+"{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, Root+pages[0].Path, http.StatusSeeOther)
	})
	s.mux.HandleFunc(Root, func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, Page{Title: "Not found"}, fmt.Errorf("%w: %.200s", problem.ErrNoRoute, r.URL.Path))
	})
	return s
}

// Answer replaces the backend, as api.Server does.
func (s *Site) Answer(b api.Backend) { s.backend.Store(&b) }

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if s.backend.Load() == nil {
		http.Error(w, "the host is starting", http.StatusServiceUnavailable)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// asked is what a request asks.
func (s *Site) asked(ctx context.Context, r *http.Request) *Asked {
	who, _ := access.Of(r.Context())
	q := &Asked{
		Backend: *s.backend.Load(), By: who.Token, May: who.Scope == access.Operate, Now: time.Now(), request: r,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.token.Known() {
		if status, err := api.ShowStatus.Ask(ctx, q.Backend, api.Then{}); err == nil && status.Token != nil {
			s.token = *status.Token
		}
	}
	q.Token = s.token
	return q
}

func (s *Site) show(w http.ResponseWriter, r *http.Request, p Page) {
	ctx, cancel := context.WithTimeout(r.Context(), showTime)
	defer cancel()
	q := s.asked(ctx, r)
	v, err := p.Show(ctx, q)
	if err != nil {
		s.refuse(w, r, p, err)
		return
	}
	l := s.layout(q, p, v)
	if o, is := p.Orders[r.URL.Query().Get("done")]; is {
		l.Told = Notice{Level: Good, Text: o.Done}
	}
	s.write(w, r, http.StatusOK, l)
}

// file sends a file.
func (s *Site) file(w http.ResponseWriter, r *http.Request, p Page) {
	ctx, cancel := context.WithTimeout(r.Context(), showTime)
	defer cancel()
	f, err := p.File(ctx, s.asked(ctx, r))
	if err != nil {
		s.refuse(w, r, p, err)
		return
	}
	w.Header().Set("Content-Type", f.Kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	_, _ = w.Write(f.Content) // If the client has gone, there is nobody to tell.
}

// order does what a form says, and shows the page again: by a redirect, so that loading it anew orders nothing.
func (s *Site) order(w http.ResponseWriter, r *http.Request, p Page) {
	ctx, cancel := context.WithTimeout(r.Context(), showTime)
	defer cancel()
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.refuse(w, r, p, fmt.Errorf("%w: the form cannot be read: %w", problem.ErrBadRequest, err))
		return
	}
	name := r.PostForm.Get("do")
	o, is := p.Orders[name]
	q := s.asked(ctx, r)
	switch q.form = r.PostForm; {
	case !is:
		s.refuse(w, r, p, fmt.Errorf("%w: this page has no order %.40q", problem.ErrBadRequest, name))
		return
	case !q.May:
		s.refuse(w, r, p, fmt.Errorf("%w: sign in with a token that allows orders", problem.ErrForbidden))
		return
	}
	err := o.Do(ctx, q)
	if err == nil {
		http.Redirect(w, r, q.With("done", name), http.StatusSeeOther)
		return
	}
	v, again := p.Show(ctx, q)
	if again != nil {
		s.refuse(w, r, p, err)
		return
	}
	why := rows.All().Explain(err)
	l := s.layout(q, p, v)
	l.Told = Notice{Level: Bad, Text: why.Detail, Do: why.Hint}
	s.write(w, r, why.Status, l)
}

// refuse says why there is no page.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request, p Page, err error) {
	if r.Context().Err() != nil {
		return // Nobody waits for it.
	}
	why := rows.All().Explain(err)
	l := s.layout(s.asked(r.Context(), r), p, View{})
	l.Told = Notice{Level: Bad, Text: why.Detail, Do: why.Hint}
	s.write(w, r, why.Status, l)
}

// layout is all that the template of a page needs.
type layout struct {
	View
	Told     Notice
	Menu     []menu
	Path     string // of the page that is shown
	By       string
	May, Out bool // Out: nobody has signed in
	Now      time.Time
}

type menu struct {
	Title string
	Pages []Page
}

func (s *Site) layout(q *Asked, p Page, v View) *layout {
	if v.Title == "" {
		v.Title = p.Title
	}
	l := &layout{View: v, Path: p.Path, By: q.By, May: q.May, Out: q.By == "", Now: q.Now}
	for _, each := range s.pages {
		switch last := len(l.Menu) - 1; {
		case each.Menu == "":
		case last < 0 || l.Menu[last].Title != each.Menu:
			l.Menu = append(l.Menu, menu{each.Menu, []Page{each}})
		default:
			l.Menu[last].Pages = append(l.Menu[last].Pages, each)
		}
	}
	return l
}

// Here reports whether a page of the menu is the one that is shown, or above it.
func (l *layout) Here(p Page) bool { return l.Path == p.Path || strings.HasPrefix(l.Path, p.Path+"/") }

// write renders before it sends, so that what cannot be rendered is an error and not half a page.
func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, l *layout) {
	name := "page"
	if r.Header.Get("X-Fragment") != "" { // Asked by page.js, which has the rest.
		name = "main"
	}
	var body bytes.Buffer
	if err := s.html.ExecuteTemplate(&body, name, l); err != nil {
		s.log.Errorf("show %.200s: %v", r.URL.Path, err)
		http.Error(w, "the page cannot be shown; the host's log says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // If the client has gone, there is nobody to tell.
}

func (s *Site) signIn(w http.ResponseWriter, r *http.Request) {
	l := s.layout(s.asked(r.Context(), r), Page{Title: "Sign in"}, View{})
	if reason := access.WhyNotIn(r.URL.Query().Get("why")); reason != "" {
		l.Told = Notice{Level: Bad, Text: reason}
	}
	l.Add(Form{
		Head: Head{
			ID: "signin", Note: "A token is made on the host's machine, as the host's user, with its --config or " +
				"--data-dir: hostnode token new NAME --scope operate",
		},
		Of: access.SignInPath, Button: "Sign in", Asks: false,
		Fields: []Field{
			{Name: "token", Label: "Token", Required: true}, Hidden("next", r.URL.Query().Get("next")),
		},
	})
	l.May, l.Out = true, false
	s.write(w, r, http.StatusOK, l)
}

func (s *Site) asset(w http.ResponseWriter, r *http.Request) {
	a, is := s.assets[r.PathValue("name")]
	if !is {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}

// address is where an asset is; another version has another one.
func (s *Site) address(name string) string {
	return Root + "assets/" + name + "?v=" + s.assets[name].tag
}

// render renders a block by the template of its kind.
func (s *Site) render(b Block, l *layout) (template.HTML, error) {
	var out bytes.Buffer
	err := s.html.ExecuteTemplate(&out, b.template(), args(b, l))
	return template.HTML(out.String()), err //nolint:gosec // It is what the template has escaped.
}

// with is what a template of a block gets: the block, and the page that it is on.
type with struct {
	Of   any
	Page *layout
}

func args(of any, l *layout) with { return with{of, l} }

// shown is a text as it is shown: no invisible commands, and not longer than can be read.
func shown(text string) string {
	if len(text) > maxText {
		text = fmt.Sprintf("%s… (%d bytes more)", strings.ToValidUTF8(text[:maxText], ""), len(text)-maxText)
	}
	return cli.Harmless(text)
}

// when is a time seen from now: in 3 min, 2 d 4 h ago.
func when(t, now time.Time) string {
	d := t.Sub(now)
	ago := cli.Span(uint64(d.Abs() / time.Second)) //nolint:gosec // It is not negative.
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return ago + " ago"
	}
	return "in " + ago
}
