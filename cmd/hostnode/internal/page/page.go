// Package page shows a host to people in a browser: pages without a build step, made on the server, each of which can
// be read and used without JavaScript. It is a client of the API (package api) and knows nothing else of the host.
//
// A Page is declared once: its path, its place in the menu, what it shows, and what its forms do. What it shows is a
// View, which is made of blocks (blocks.go): facts, tables, notices, timelines, strips of periods, charts, forms.
// There is one template for each kind of block and none for a page, so that all pages look and work alike, and text
// from outside is escaped in one place. The pages themselves are in package pages and in the folders of the machines.
//
// Site (site.go) serves pages: it renders, refuses, and says when something has changed (live.go). Who may see it is
// decided before, by package access.
package page

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
)

// Root is where pages are.
const Root = "/page/"

// Page is one page.
type Page struct {
	Path  string // below Root, as http.ServeMux has it: "sales", "sales/{slot}"
	Title string
	Menu  string // the part of the menu that it is in; empty: it is reached from other pages only
	Show  func(ctx context.Context, q *Asked) (View, error)
	// Orders are what its forms do, by name (Form.Do).
	Orders map[string]Order
	// File is what a browser saves instead of showing it; then the page needs no Show.
	File func(ctx context.Context, q *Asked) (File, error)
}

// File is a file that a page is asked for.
type File struct {
	Name, Kind string // such as text/csv
	Content    []byte
}

// Order is what a form does. An error is shown above the page, with what was typed still in the form.
type Order struct {
	Done string // said afterwards: "The alert is acknowledged."
	Do   func(ctx context.Context, q *Asked) error
}

// View is what a page shows.
type View struct {
	Title  string // empty: that of the page
	AsOf   api.AsOf
	Blocks []Block
}

// Add adds blocks.
func (v *View) Add(some ...Block) { v.Blocks = append(v.Blocks, some...) }

// Asked is what a page is asked, and whom it can ask.
type Asked struct {
	Backend api.Backend
	// Token is what the host is paid in.
	Token money.Token
	// By is who gives orders: the name of a token. May: that token allows orders.
	By  string
	May bool
	Now time.Time

	request *http.Request
	form    url.Values // what was typed, if the page is shown after an order that failed
}

// maxTyped is the most bytes of a value that is typed or in an address.
const maxTyped = 4 << 10

// Path is a part of the address.
func (q *Asked) Path(name string) string { return q.request.PathValue(name) }

// Get is a value of the address, or one that was typed.
func (q *Asked) Get(name string) string {
	value := q.request.URL.Query().Get(name)
	if q.form != nil && q.form.Has(name) {
		value = q.form.Get(name)
	}
	return strings.TrimSpace(value[:min(len(value), maxTyped)])
}

// Typed is what was typed into a field of a form that is shown again; else the value that it has.
func (q *Asked) Typed(name, value string) string {
	if q.form != nil && q.form.Has(name) {
		return q.form.Get(name)
	}
	return value
}

// Paging is the page of a list that the address asks for.
func (q *Asked) Paging() api.Paging {
	return api.Paging{Limit: api.DefaultPage, Cursor: q.Get("cursor")}
}

// With is the address of this page with some values changed; an empty value is left out.
func (q *Asked) With(pairs ...string) string {
	values := q.request.URL.Query()
	values.Del("done")
	for i := 0; i+1 < len(pairs); i += 2 {
		if values.Del(pairs[i]); pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	at := url.URL{Path: q.request.URL.Path, RawQuery: values.Encode()}
	return at.String()
}

// More is the link to the next page of a list; none: this was the last one.
func (q *Asked) More(next string) *Link {
	if next == "" {
		return nil
	}
	return &Link{"More", q.With("cursor", next)}
}

// To is the address of a page: its path below Root, part by part.
func To(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = url.PathEscape(p)
	}
	return Root + strings.Join(escaped, "/")
}
