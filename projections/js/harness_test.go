package js_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
)

// harness runs a projection as the engine of an EventStoreDB does (spec/eventstore.md
// §5; the answers of that engine are in testdata/golden). It knows what our
// projections need, and refuses the rest: it emits nothing, reads no links, has
// no shared state and no $created or $deleted.
type harness struct {
	vm         *goja.Runtime
	source     source
	partition  goja.Callable // nil: none, unless byStream
	byStream   bool
	handlers   map[string]goja.Callable
	transforms []transform
	states     map[string]string // by partition, as JSON
	stringify  goja.Callable
	any        bool // $any gets what no named handler does
	running    bool
	fault      error // it has ended
	logged     []string

	// limit is how long one event may take; usually patience, so that the speed of the machine
	// does not matter.
	limit time.Duration
}

// Limits of the server.
const (
	eventLimit = 250 * time.Millisecond // not by default: see harness.limit
	maxState   = 16 << 20
	maxDepth   = 64
)

// patience is how long anything may take in these tests.
const patience = 5 * time.Minute

// event is an event as the engine gets it.
type event struct {
	EventType      string          `json:"eventType"`
	StreamID       string          `json:"streamId"`
	SequenceNumber uint64          `json:"sequenceNumber"`
	IsJSON         bool            `json:"isJson"`
	Data           json.RawMessage `json:"data"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`
	EventID        string          `json:"eventId,omitempty"`
	Created        string          `json:"created,omitempty"`
}

// step is what became of an event. Skipped says why nothing happened.
type step struct {
	Skipped   string
	Partition string
	State     string // JSON
	Result    string // JSON
}

var errFaulted = errors.New("projection faulted")

// compile runs a source, as the server does when a projection is made.
func compile(query string) (*harness, error) {
	h := &harness{
		vm: goja.New(), handlers: map[string]goja.Callable{}, states: map[string]string{}, limit: patience,
	}
	h.define()
	h.vm.SetMaxCallStackSize(1024)
	if err := h.within(func() error {
		program, err := parse(query)
		if err == nil {
			_, err = h.vm.RunProgram(program)
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	h.running = true
	return h, nil
}

// parsed has each source once, because a random test compiles the same ones for every draw.
var parsed sync.Map

func parse(query string) (*goja.Program, error) {
	if known, ok := parsed.Load(query); ok {
		return known.(*goja.Program), nil
	}
	program, err := goja.Compile("", query, false)
	if err == nil {
		parsed.Store(query, program)
	}
	return program, err
}

// within runs something for as long as an event may take.
func (h *harness) within(do func() error) error {
	timer := time.AfterFunc(h.limit, func() { h.vm.Interrupt("it took longer than " + h.limit.String()) })
	err := do()
	if !timer.Stop() {
		h.vm.ClearInterrupt()
	}
	return err
}

// feed hands an event to the projection.
func (h *harness) feed(e event) (out step, err error) {
	if !h.source.has(e.StreamID) {
		return step{Skipped: "wrong-stream"}, nil
	}
	if h.fault != nil {
		return step{}, h.fault
	}
	if !e.IsJSON {
		return step{Skipped: "non-json"}, nil
	}
	handler, known := h.handlers[e.EventType]
	if !known && h.any {
		handler = h.handlers["$any"]
	}
	if handler == nil {
		return step{Skipped: "unhandled"}, nil
	}
	err = h.within(func() error {
		object := h.event(e)
		partition, ok, err := h.partitionOf(object, e)
		if err != nil {
			return err
		}
		if !ok {
			out.Skipped = "no-partition"
			return nil
		}
		if err := object.Set("partition", partition); err != nil {
			return err
		}
		out, err = h.handle(handler, partition, object)
		return err
	})
	if err != nil {
		h.fault = fmt.Errorf("%w at %s revision %d: %w", errFaulted, e.StreamID, e.SequenceNumber, err)
		return step{}, h.fault
	}
	return out, nil
}

func (h *harness) partitionOf(object *goja.Object, e event) (string, bool, error) {
	switch {
	case h.byStream:
		return e.StreamID, true, nil
	case h.partition == nil:
		return "", true, nil
	}
	v, err := h.partition(goja.Undefined(), object)
	if err != nil {
		return "", false, err
	}
	switch v.Export().(type) {
	case string, int64, float64:
		return v.String(), true, nil
	}
	return "", false, nil
}

// handle gives the handler the state as it was read back, and keeps what it
// leaves behind.
func (h *harness) handle(handler goja.Callable, partition string, object *goja.Object) (step, error) {
	before, err := h.load(partition)
	if err != nil {
		return step{}, err
	}
	after, err := handler(goja.Undefined(), before, object)
	if err != nil {
		return step{}, err
	}
	if goja.IsUndefined(after) {
		after = before
	}
	state, err := h.serialise(after)
	if err != nil {
		return step{}, err
	}
	if state == "null" { // The engine keeps nothing, and begins again.
		delete(h.states, partition)
		return step{Partition: partition, State: state, Result: state}, nil
	}
	h.states[partition] = state
	result, err := h.result(partition)
	return step{Partition: partition, State: state, Result: result}, err
}

// load is the state of a partition: read back, or new.
func (h *harness) load(partition string) (goja.Value, error) {
	if state, ok := h.states[partition]; ok {
		return h.parse(state)
	}
	if begin, ok := h.handlers["$init"]; ok {
		return begin(goja.Undefined())
	}
	return h.vm.NewObject(), nil
}

func (h *harness) parse(text string) (goja.Value, error) {
	parse, _ := goja.AssertFunction(h.vm.Get("JSON").ToObject(h.vm).Get("parse"))
	return parse(goja.Undefined(), h.vm.ToValue(text))
}

// serialise makes JSON of a state, or says why that cannot be.
func (h *harness) serialise(v goja.Value) (string, error) {
	text, err := h.stringify(goja.Undefined(), v)
	if err != nil {
		return "", err
	}
	state := text.String()
	switch {
	case len(state) > maxState:
		return "", fmt.Errorf("the state has %d bytes, the limit is %d", len(state), maxState)
	case depth(state) > maxDepth:
		return "", fmt.Errorf("the state is nested deeper than %d", maxDepth)
	}
	return state, nil
}

// result is the state after the transformations.
func (h *harness) result(partition string) (string, error) {
	if len(h.transforms) == 0 {
		return h.states[partition], nil
	}
	v, err := h.parse(h.states[partition])
	if err != nil {
		return "", err
	}
	for _, t := range h.transforms {
		changed, err := t.do(goja.Undefined(), v)
		switch {
		case err != nil:
			return "", err
		case t.filter && !changed.ToBoolean():
			return "null", nil
		case !t.filter:
			v = changed
		}
	}
	return h.serialise(v)
}

// event is an event as JavaScript sees it: read-only, its data parsed on first use.
func (h *harness) event(e event) *goja.Object {
	object := h.vm.NewObject()
	category, _, _ := strings.Cut(e.StreamID, "-")
	for name, value := range map[string]any{
		"bodyRaw": string(e.Data), "metadataRaw": string(e.Metadata), "streamId": e.StreamID,
		"eventType": e.EventType, "eventId": e.EventID, "sequenceNumber": e.SequenceNumber,
		"category": category, "created": e.Created, "isJson": e.IsJSON,
	} {
		h.constant(object, name, h.vm.ToValue(value))
	}
	body := h.lazy(e.Data)
	h.getter(object, "body", body)
	h.getter(object, "data", body)
	h.getter(object, "metadata", h.lazy(e.Metadata))
	return object
}

func (h *harness) constant(object *goja.Object, name string, value goja.Value) {
	if err := object.DefineDataProperty(name, value, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE); err != nil {
		panic(err)
	}
}

func (h *harness) getter(object *goja.Object, name string, get func() goja.Value) {
	if err := object.DefineAccessorProperty(name, h.vm.ToValue(get), nil, goja.FLAG_FALSE, goja.FLAG_TRUE); err != nil {
		panic(err)
	}
}

func (h *harness) lazy(text json.RawMessage) func() goja.Value {
	var parsed goja.Value
	return func() goja.Value {
		if parsed != nil || len(text) == 0 {
			return parsed
		}
		v, err := h.parse(string(text))
		if err != nil {
			panic(h.vm.NewGoError(err))
		}
		parsed = v
		return v
	}
}

// writeState prints a state as the engine does, in JavaScript: what JSON cannot hold becomes an
// empty object, a BigInt its digits, and a value that is not a number ends the projection.
const writeState = `(function (stringify, isFinite, Date, Map, Set, Error) {
	return function (state) {
		return stringify(state === undefined ? null : state, function (key, value) {
			var raw = this[key];
			if (typeof raw === "bigint") { return raw.toString(); }
			if (typeof raw === "function") { throw new Error("the state holds a function"); }
			if (typeof raw === "number" && !isFinite(raw)) { throw new Error("the state holds " + raw); }
			if (raw instanceof Date || raw instanceof Map || raw instanceof Set) { return {}; }
			return value;
		});
	};
})`

// depth is how deep the objects and lists of a JSON text are nested.
func depth(text string) (deepest int) {
	inside, now := false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

func (h *harness) makeStringify() {
	global := h.vm.GlobalObject()
	maker, _ := goja.AssertFunction(must(h.vm.RunString(writeState)))
	writer := must(maker(goja.Undefined(), h.vm.Get("JSON").ToObject(h.vm).Get("stringify"), global.Get("isFinite"),
		global.Get("Date"), global.Get("Map"), global.Get("Set"), global.Get("Error")))
	h.stringify, _ = goja.AssertFunction(writer)
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// number is an option of the source that must be a number.
func number(v goja.Value) (int64, bool) {
	switch n := v.Export().(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n)
	}
	return 0, false
}
