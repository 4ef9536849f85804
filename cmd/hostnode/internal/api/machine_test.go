package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

// A further machine: notes, which are counted from the record and written by a running host.
type (
	noteReader interface {
		Notes(ctx context.Context, q aboutNotes) (notes, error)
	}
	noteTaker interface {
		Note(ctx context.Context, o newNote) (notes, error)
	}
	aboutNotes struct {
		api.Then
		Least int `query:"least" default:"3"`
	}
	newNote struct {
		Book string `path:"book"`
		Body struct {
			Text string `json:"text"`
			By   string `json:"by,omitempty"`
		}
	}
	notes struct {
		AsOf  api.AsOf `json:"asOf"`
		Least int      `json:"least"`
		Texts []string `json:"texts"`
	}
)

var (
	listNotes = api.Question("notes", "Notes", noteReader.Notes)
	writeNote = api.Order(http.MethodPost, "notes/{book}", "Write", noteTaker.Note)
)

func noted(book, text string) (o newNote) {
	o.Book, o.Body.Text = book, text
	return o
}

type notesRead struct{ api.Reading }

func (r notesRead) Notes(_ context.Context, q aboutNotes) (notes, error) {
	if r.Rows("note") != nil {
		return notes{}, errors.New("nobody ever wrote a note")
	}
	return notes{AsOf: r.AsOf, Least: q.Least}, nil
}

// notesTaken is an offline backend that takes notes, too.
type notesTaken struct{ *api.Offline }

func (notesTaken) Note(_ context.Context, o newNote) (notes, error) {
	return notes{Texts: []string{o.Book, o.Body.Text, o.Body.By}}, nil
}

func TestAMachineBringsItsCalls(t *testing.T) {
	machine := api.Machine{
		Calls: []api.Route{listNotes, writeNote},
		Reads: func(r api.Reading) any { return notesRead{r} },
	}
	direct, err := api.OpenOffline(t.Context(), api.OfflineConfig{
		Source: api.Source{DataDir: shortDir(t), Account: me, Now: fixed, Machines: []api.Machine{machine}},
		Quota:  10 << 20, Create: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	for range 2 { // So that there is a past.
		if _, err := direct.AddAvailability(t.Context(), offer()); err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range map[string]asking{"here": {direct}, "over the socket": served(t, direct)} {
		if n, err := listNotes.Ask(t.Context(), b.Backend, aboutNotes{Least: 7}); err != nil || n.Least != 7 {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
		past, err := b.At(t.Context(), api.When{Position: 2})
		if err != nil {
			t.Fatal(err)
		}
		n, err := listNotes.Ask(t.Context(), past.Backend, aboutNotes{})
		if err != nil || n.AsOf.Position != events.Position(2) {
			t.Errorf("%s, of the past: %+v, %v", name, n, err)
		}
		if _, err := writeNote.Ask(t.Context(), b.Backend, noted("a", "b")); !errors.Is(err, problem.ErrNotRunning) {
			t.Errorf("%s: an order without a host: %v", name, err)
		}
	}
	n, err := writeNote.Ask(t.Context(), served(t, notesTaken{direct}).Backend, noted("a/b", "x?"))
	if err != nil || len(n.Texts) != 3 || n.Texts[0] != "a/b" || n.Texts[1] != "x?" {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestAnOrderIsOfWhoseTokenItBrings(t *testing.T) {
	direct, err := api.OpenOffline(t.Context(), api.OfflineConfig{
		Source: api.Source{
			DataDir: shortDir(t), Account: me, Now: fixed, Machines: []api.Machine{{Calls: []api.Route{writeNote}}},
		},
		Quota: 10 << 20, Create: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	set := config.Default().API
	set.Listen = "127.0.0.1:8090"
	tokens := access.In(filepath.Join(t.TempDir(), "tokens.json"), time.Now)
	secret, err := tokens.New(t.Context(), "anna", access.Operate)
	if err != nil {
		t.Fatal(err)
	}
	handler := api.Handler(notesTaken{direct}, silent())
	guard := access.Guard(handler, access.Config{API: set, Tokens: tokens, Log: silent()})
	for _, c := range []struct {
		over string
		by   http.Handler
		want string
	}{{"TCP", guard, "anna"}, {"the unix socket", handler, "bert"}} {
		r := httptest.NewRequest(http.MethodPost, api.Root+"notes/a", strings.NewReader(`{"text":"b","by":"bert"}`))
		r.Host, r.RemoteAddr = set.Listen, "127.0.0.1:50000"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+secret)
		w := httptest.NewRecorder()
		c.by.ServeHTTP(w, r)
		if want := fmt.Sprintf(`"texts":["a","b",%q]`, c.want); !strings.Contains(w.Body.String(), want) {
			t.Errorf("over %s: %d %s, want %s", c.over, w.Code, w.Body, want)
		}
	}
}
