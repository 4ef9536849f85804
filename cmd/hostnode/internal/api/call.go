package api

import (
	"cmp"
	"context"
	"encoding"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

// Call is one question to a host, or one order: where it is in the API, and who answers it. All that the server and its
// clients know of it is here. R is what somebody must be able to do to answer, Q the question and A its answer. Fields
// of Q with the tag path or query travel in the address, with the tag default if they are absent; the others are the
// JSON body, which is sent if there are any.
type Call[R, Q, A any] struct {
	method, path string // of the path, what follows /v1/
	limit        time.Duration
	past         bool
	do           func(R, context.Context, Q) (A, error)
}

// None is the question of a call that needs to be told nothing.
type None struct{}

// Question asks something of which the record knows how it was, too: it is answered of the past below /v1/past.
func Question[R, Q, A any](path string, do func(R, context.Context, Q) (A, error)) Call[R, Q, A] {
	return Call[R, Q, A]{http.MethodGet, path, answerTime, true, do}
}

// Inspect asks something of the present, or of the whole record.
func Inspect[R, Q, A any](path string, do func(R, context.Context, Q) (A, error)) Call[R, Q, A] {
	return Call[R, Q, A]{http.MethodGet, path, answerTime, false, do}
}

// Order changes something; it is durable when the answer comes.
func Order[R, Q, A any](method, path string, do func(R, context.Context, Q) (A, error)) Call[R, Q, A] {
	return Call[R, Q, A]{method, path, answerTime, false, do}
}

// plain is an answer to a call that needs to be told nothing.
func plain[R, A any](do func(R, context.Context) (A, error)) func(R, context.Context, None) (A, error) {
	return func(r R, ctx context.Context, _ None) (A, error) { return do(r, ctx) }
}

// long lets a call take as long as an audit.
func (c Call[R, Q, A]) long() Call[R, Q, A] {
	c.limit = auditTime
	return c
}

// Ask asks a backend, over its socket if it is that of another process.
func (c Call[R, Q, A]) Ask(ctx context.Context, b Backend, q Q) (answer A, err error) {
	if client, ok := b.(*Client); ok {
		return over[A](ctx, client, c.method, c.path, q)
	}
	r, err := answererOf[R](b)
	if err != nil {
		return answer, err
	}
	answer, err = c.do(r, ctx, q)
	if live, ok := b.(*Live); ok && err == nil && c.method != http.MethodGet {
		err = live.catchUp(ctx) // So that the next question shows what was ordered.
	}
	return answer, err
}

// errNotHere: the question is about a machine that this host does not run.
var errNotHere = fmt.Errorf("%w: this host does not run that machine", problem.ErrBadRequest)

// here is a backend in this process.
type here interface {
	Backend
	// machines are those that bring calls of their own, and parts what answers these.
	machines() []Machine
	parts() []any
	// refusal is why nobody else answers.
	refusal() error
}

// answererOf finds who answers: the backend itself, or the part of a machine.
func answererOf[R any](b Backend) (r R, err error) {
	if r, ok := b.(R); ok {
		return r, nil
	}
	local, ok := b.(here)
	if !ok {
		return r, problem.ErrNoRoute
	}
	for _, part := range local.parts() {
		if r, ok := part.(R); ok {
			return r, nil
		}
	}
	return r, local.refusal()
}

// Route is a Call for the server, which does not need its types.
type Route interface {
	place() (method, path string, limit time.Duration, past bool)
	// answer decodes the question of a request, and has it answered.
	answer(b Backend, r *http.Request) (any, error)
}

// Place is where a route is: its method, and its path below /v1/.
func Place(r Route) string {
	method, path, _, _ := r.place()
	return method + " " + path
}

func (c Call[R, Q, A]) place() (method, path string, limit time.Duration, past bool) {
	return c.method, c.path, c.limit, c.past
}

func (c Call[R, Q, A]) answer(b Backend, r *http.Request) (any, error) {
	var q Q
	if err := decodeQuestion(r, &q); err != nil {
		return nil, err
	}
	return c.Ask(r.Context(), b, q)
}

// eachParam goes through the fields of a question that travel in the address, and says whether there are others.
func eachParam(q reflect.Value, do func(field reflect.Value, tag reflect.StructTag) error) (body bool, err error) {
	for i := range q.NumField() {
		tag := q.Type().Field(i).Tag
		if tag.Get("path") == "" && tag.Get("query") == "" {
			body = true
			continue
		}
		err = errors.Join(err, do(q.Field(i), tag))
	}
	return body, err
}

// decodeQuestion reads a question from a request.
func decodeQuestion(r *http.Request, into any) error {
	query := r.URL.Query()
	read := func(field reflect.Value, tag reflect.StructTag) error {
		if name := tag.Get("path"); name != "" {
			return readParam(field, name, r.PathValue(name))
		}
		name := tag.Get("query")
		if text := cmp.Or(query.Get(name), tag.Get("default")); text != "" {
			return readParam(field, name, text)
		}
		return nil
	}
	body, err := eachParam(reflect.ValueOf(into).Elem(), read)
	if err == nil && body {
		err = decode(r.Body, into)
	}
	return err
}

// readParam reads one field. A field that can be read in no way is a mistake in the declaration of its call.
func readParam(field reflect.Value, name, text string) (err error) {
	kind := "number"
	if own, ok := field.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return own.UnmarshalText([]byte(text))
	}
	switch {
	case field.Kind() == reflect.String:
		field.SetString(text)
	case field.Kind() == reflect.Bool:
		var yes bool
		yes, err = strconv.ParseBool(text)
		kind = "truth value"
		field.SetBool(yes)
	case field.CanInt():
		var n int64
		n, err = strconv.ParseInt(text, 10, field.Type().Bits())
		field.SetInt(n)
	case field.CanUint():
		var n uint64
		n, err = strconv.ParseUint(text, 10, field.Type().Bits())
		field.SetUint(n)
	default:
		panic(fmt.Sprintf("api: parameter %s has type %s", name, field.Type()))
	}
	if err != nil {
		return fmt.Errorf("%w: %s = %.40q is no %s", problem.ErrBadRequest, name, text, kind)
	}
	return nil
}

// address writes a question's path and query, and says whether it has a body.
func address(path string, q any) (whole string, query url.Values, body bool, err error) {
	query = url.Values{}
	body, err = eachParam(reflect.ValueOf(q), func(field reflect.Value, tag reflect.StructTag) error {
		text := fmt.Sprint(field.Interface())
		if own, ok := field.Interface().(encoding.TextMarshaler); ok {
			b, err := own.MarshalText()
			if err != nil {
				return fmt.Errorf("encode the question: %w", err)
			}
			text = string(b)
		}
		if name := tag.Get("path"); name != "" {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
		} else if text != "" {
			query.Set(tag.Get("query"), text)
		}
		return nil
	})
	return path, query, body, err
}
