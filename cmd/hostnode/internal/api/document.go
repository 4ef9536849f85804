package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/docs"
)

// This file makes an API of calls, with huma, and the document of it.

// Document is the OpenAPI document of the calls of a host with these machines; docs/openapi.json is written from it.
func Document(machines []Machine) *huma.OpenAPI {
	api := newAPI(http.NewServeMux())
	none := &reader{Source: Source{Machines: machines}}
	for _, c := range calls(none) {
		c.register(api, nil)
	}
	return api.OpenAPI()
}

// document serves it, as it was checked in.
func document(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/openapi+json")
	if tagged(w, r, docs.OpenAPIHash()) {
		return
	}
	_, _ = io.WriteString(w, docs.OpenAPI) // If the client has gone, there is nobody to tell.
}

// newAPI is an API without calls. Its errors are problems with our codes, and it takes and gives nothing but JSON.
func newAPI(mux humago.Mux) huma.API {
	ourErrors()
	format := huma.DefaultJSONFormat
	schemas := huma.NewMapRegistry("#/components/schemas/", nameOf)
	// As they are written.
	schemas.RegisterTypeAlias(reflect.TypeFor[replay.Facts](), reflect.TypeFor[map[string]string]())
	return humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "hostnode", Version: "1",
				Description: "All that a host can be asked and told. Sizes are bytes, durations seconds, and amounts " +
					"decimal strings of token base units. Of an id in a path, a beginning is enough if no other id " +
					"has the same. Errors are application/problem+json with a stable code (docs/errors.md).",
			},
			Components: &huma.Components{Schemas: schemas},
		},
		Formats: map[string]huma.Format{"application/json": format, "json": format}, DefaultFormat: "application/json",
		RejectUnknownQueryParameters: true, // A typo must not silently mean the default.
	})
}

// nameOf names a type in the document: those of this package as they are, others after their package; what views have
// says so at its end.
func nameOf(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, hint)
	own := reflect.TypeFor[Status]().PkgPath()
	if t.PkgPath() == "" || t.PkgPath() == own {
		return name
	}
	dir, from := path.Split(t.PkgPath())
	if from != "projections" && !strings.HasPrefix(strings.ToLower(name), from) {
		name = strings.ToUpper(from[:1]) + from[1:] + name
	}
	if from == "projections" || path.Base(dir) == "projections" {
		name += "View"
	}
	return name
}

// ourErrors has huma make our problems.
var ourErrors = sync.OnceFunc(func() {
	huma.NewError = func(status int, text string, details ...error) huma.StatusError {
		code := problem.ErrBadRequest
		switch status {
		case http.StatusRequestEntityTooLarge:
			code = problem.ErrTooLarge
		case http.StatusUnsupportedMediaType:
			code = problem.ErrMediaType
		case http.StatusRequestTimeout:
			code = context.DeadlineExceeded
		case http.StatusInternalServerError:
			code = errInternal
		}
		for _, detail := range details {
			text += "; " + told(detail)
		}
		return explained(fmt.Errorf("%w: %s", code, text))
	}
})

var errInternal = errors.New("the answer could not be made")

// told is what is wrong with one value.
func told(err error) string {
	d, ok := err.(huma.ErrorDetailer)
	if !ok {
		return err.Error()
	}
	of := d.ErrorDetail()
	if of.Location == "" {
		return of.Message
	}
	value, _ := json.Marshal(of.Value) // It was read from JSON, or is text.
	return fmt.Sprintf("%s = %.60s: %s", of.Location, value, of.Message)
}

// explained is an error as huma sends it.
func explained(err error) huma.StatusError { return rows.All().Explain(err) }

// tagged answers that a client has what it asks for; tag is what the answer is known by.
func tagged(w http.ResponseWriter, r *http.Request, tag string) (has bool) {
	tag = `"` + tag + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if has = r.Header.Get("If-None-Match") == tag; has {
		w.WriteHeader(http.StatusNotModified)
	}
	return has
}
