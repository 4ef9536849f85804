package api

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

// Call is one question to a host, or one order: where it is in the API, and who answers it. All that the server, its
// clients and the OpenAPI document know of it is here. R is what somebody must be able to do to answer, Q the question
// and A its answer. Q is as huma wants it: fields with the tag path or query travel in the address, with the tag
// default if they are absent, and a field Body is the JSON body.
type Call[R, Q, A any] struct {
	method, path string // of the path, what follows Root
	says         string // a line for the document
	limit        time.Duration
	tagged       bool
	do           func(R, context.Context, Q) (A, error)
}

// None is the question of a call that needs to be told nothing.
type None struct{}

// Then is a point in the record: what ParseWhen reads; empty: now. It is part of the questions of which the record
// knows how it was.
type Then struct {
	At string `query:"at" doc:"as of a time (2026-11-20T08:00:00Z, 2026-11-20) or a position (@1234); absent: now"`
	// Have is the ETag of an answer that the client has; it is answered with 304 if nothing has changed.
	Have string `header:"If-None-Match"`
}

func (t Then) when() (When, error) { return ParseWhen(t.At, distant) }
func (t Then) have() string        { return t.Have }

// Sent is a question that is only a body.
type Sent[T any] struct{ Body T }

// Send makes it.
func Send[T any](body T) Sent[T] { return Sent[T]{body} }

// Question asks something of which the record knows how it was, too.
func Question[R any, Q interface{ when() (When, error) }, A any](
	path, says string, do func(R, context.Context, Q) (A, error),
) Call[R, Q, A] {
	return Call[R, Q, A]{http.MethodGet, path, says, answerTime, false, do}
}

// Inspect asks something of the present, or of the whole record.
func Inspect[R, Q, A any](path, says string, do func(R, context.Context, Q) (A, error)) Call[R, Q, A] {
	return Call[R, Q, A]{http.MethodGet, path, says, answerTime, false, do}
}

// Order changes something; it is durable when the answer comes.
func Order[R, Q, A any](method, path, says string, do func(R, context.Context, Q) (A, error)) Call[R, Q, A] {
	return Call[R, Q, A]{method, path, says, answerTime, false, do}
}

// plain is an answer to a call that needs to be told nothing, or only when.
func plain[R, Q, A any](do func(R, context.Context) (A, error)) func(R, context.Context, Q) (A, error) {
	return func(r R, ctx context.Context, _ Q) (A, error) { return do(r, ctx) }
}

// long lets a call take as long as an audit.
func (c Call[R, Q, A]) long() Call[R, Q, A] {
	c.limit = auditTime
	return c
}

// ofRecord says that the answer follows from the record alone: its ETag is the position.
func (c Call[R, Q, A]) ofRecord() Call[R, Q, A] {
	c.tagged = true
	return c
}

// Ask asks a backend, over its socket if it is that of another process.
func (c Call[R, Q, A]) Ask(ctx context.Context, b Backend, q Q) (answer A, err error) {
	if client, ok := b.(*Client); ok {
		return over[A](ctx, client, c.method, c.path, q)
	}
	if then, ok := any(q).(interface{ when() (When, error) }); ok {
		if b, err = at(ctx, b, then); err != nil {
			return answer, err
		}
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

// at is the backend as it was when a question wants to know.
func at(ctx context.Context, b Backend, then interface{ when() (When, error) }) (Backend, error) {
	when, err := then.when()
	if err != nil || when.Zero() {
		return b, err
	}
	return b.At(ctx, when)
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
	place() (method, path string)
	// register adds it to an API over a backend.
	register(to huma.API, b Backend)
}

// Place is where a route is: its method, and its path below Root.
func Place(r Route) string {
	method, path := r.place()
	return method + " " + path
}

func (c Call[R, Q, A]) place() (method, path string) { return c.method, c.path }

// answered is an answer as huma writes it.
type answered[A any] struct {
	Status int
	ETag   string `header:"ETag"`
	Body   A
}

func (c Call[R, Q, A]) register(to huma.API, b Backend) {
	first, _, _ := strings.Cut(c.path, "/")
	op := huma.Operation{
		OperationID: strings.ToLower(c.method) + "-" + strings.NewReplacer("/", "-", "{", "", "}", "").Replace(c.path),
		Method:      c.method, Path: Root + c.path, Summary: c.says, Tags: []string{first},
		MaxBodyBytes: MaxBody, BodyReadTimeout: readTime,
	}
	huma.Register(to, op, func(ctx context.Context, q *Q) (*answered[A], error) {
		ctx, cancel := context.WithTimeout(ctx, c.limit)
		defer cancel()
		out := &answered[A]{Status: http.StatusOK}
		// The answer may be newer than its tag says, which costs one more question, and never older.
		if r, is := b.(interface{ tag() string }); is && c.tagged {
			out.ETag = r.tag()
			if has, asks := any(*q).(interface{ have() string }); asks && has.have() == out.ETag {
				out.Status = http.StatusNotModified
				return out, nil
			}
		}
		sign(ctx, reflect.ValueOf(q).Elem())
		answer, err := c.Ask(ctx, b, *q)
		if err != nil {
			return nil, explained(err)
		}
		out.Body = answer
		return out, nil
	})
}

// sign makes the order of who has brought a token his own: By in its body is the token's name, whatever it said. Over
// the unix socket it stays as it is, because its users may do everything.
func sign(ctx context.Context, q reflect.Value) {
	who, known := access.Of(ctx)
	body := q.FieldByName("Body")
	if !known || body.Kind() != reflect.Struct {
		return
	}
	if by := body.FieldByName("By"); by.Kind() == reflect.String {
		by.SetString(who.Token)
	}
}

// address writes a question's path and query, and returns its body; nil: it has none.
func address(path string, q any) (whole string, query url.Values, body any, err error) {
	query = url.Values{}
	var wrong []error
	for field, v := range fields(reflect.ValueOf(q)) {
		in, inQuery := field.Tag.Get("path"), field.Tag.Get("query")
		switch {
		case field.Name == "Body":
			body = v.Interface()
		case in != "":
			path = strings.ReplaceAll(path, "{"+in+"}", url.PathEscape(text(v, &wrong)))
		case inQuery != "":
			if t, is := v.Interface().(time.Time); is && t.IsZero() {
				continue
			}
			if value := text(v, &wrong); value != "" {
				query.Set(inQuery, value)
			}
		}
	}
	return path, query, body, errors.Join(wrong...)
}

// fields are those of a question, with those of what is embedded in it.
func fields(q reflect.Value) func(yield func(reflect.StructField, reflect.Value) bool) {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for _, f := range reflect.VisibleFields(q.Type()) {
			if !f.Anonymous && !yield(f, q.FieldByIndex(f.Index)) {
				return
			}
		}
	}
}

func text(v reflect.Value, wrong *[]error) string {
	own, ok := v.Interface().(encoding.TextMarshaler)
	if !ok {
		return fmt.Sprint(v.Interface())
	}
	b, err := own.MarshalText()
	*wrong = append(*wrong, err)
	return string(b)
}
