package js_test

import (
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// source says which events a projection reads.
type source struct {
	kind       string // all, streams, category; "" before one is named
	streams    []string
	categories []string
}

func (s source) has(stream string) bool {
	category, _, _ := strings.Cut(stream, "-")
	switch s.kind {
	case "streams":
		return slices.Contains(s.streams, stream)
	case "category":
		return slices.Contains(s.categories, category) && category != stream
	}
	return true
}

// transform is a step behind the state.
type transform struct {
	filter bool
	do     goja.Callable
}

// define gives a runtime the functions that a projection may call. By the engine's rule, a step
// that may not follow another one does not exist on its result.
func (h *harness) define() {
	h.makeStringify()
	global := h.vm.GlobalObject()
	for _, off := range []string{"eval", "Function"} {
		if err := global.Delete(off); err != nil {
			panic(err)
		}
	}
	h.set(global, "fromAll", func(goja.FunctionCall) goja.Value {
		return h.from(source{kind: "all"}, true)
	})
	h.set(global, "fromStream", func(c goja.FunctionCall) goja.Value {
		return h.from(source{kind: "streams", streams: []string{c.Argument(0).String()}}, false)
	})
	h.set(global, "fromStreams", func(c goja.FunctionCall) goja.Value {
		return h.from(source{kind: "streams", streams: names(c)}, false)
	})
	h.set(global, "fromCategory", func(c goja.FunctionCall) goja.Value {
		list := names(c)
		return h.from(source{kind: "category", categories: list}, true)
	})
	h.set(global, "options", h.options)
	h.set(global, "log", func(c goja.FunctionCall) goja.Value {
		h.logged = append(h.logged, c.Argument(0).String())
		return goja.Undefined()
	})
	for _, name := range []string{"emit", "linkTo", "linkStreamTo"} {
		h.set(global, name, func(goja.FunctionCall) goja.Value {
			panic(h.vm.NewTypeError("%s: this projection may not emit", name))
		})
	}
}

// names are the arguments, or the one argument that is a list.
func names(c goja.FunctionCall) []string {
	args := c.Arguments
	if list, ok := c.Argument(0).Export().([]any); ok {
		var all []string
		for _, v := range list {
			all = append(all, v.(string))
		}
		return all
	}
	var all []string
	for _, v := range args {
		all = append(all, v.String())
	}
	return all
}

func (h *harness) set(object *goja.Object, name string, f func(goja.FunctionCall) goja.Value) {
	if err := object.Set(name, f); err != nil {
		panic(err)
	}
}

// only returns an object with nothing but the steps that may follow.
func (h *harness) only(steps map[string]func(goja.FunctionCall) goja.Value) goja.Value {
	object := h.vm.NewObject()
	for name, f := range steps {
		h.set(object, name, f)
	}
	return object
}

func (h *harness) from(s source, foreach bool) goja.Value {
	if h.running || h.source.kind != "" {
		panic(h.vm.NewTypeError("a projection has one source"))
	}
	h.source = s
	steps := map[string]func(goja.FunctionCall) goja.Value{
		"when":        h.when,
		"outputState": h.outputState,
		"partitionBy": func(c goja.FunctionCall) goja.Value {
			h.partition = h.function(c)
			return h.only(map[string]func(goja.FunctionCall) goja.Value{"when": h.when})
		},
	}
	if foreach {
		steps["foreachStream"] = func(goja.FunctionCall) goja.Value {
			h.byStream = true
			return h.only(map[string]func(goja.FunctionCall) goja.Value{"when": h.when})
		}
	}
	return h.only(steps)
}

func (h *harness) function(c goja.FunctionCall) goja.Callable {
	f, ok := goja.AssertFunction(c.Argument(0))
	if !ok {
		panic(h.vm.NewTypeError("a function is wanted"))
	}
	return f
}

func (h *harness) when(c goja.FunctionCall) goja.Value {
	handlers := c.Argument(0).ToObject(h.vm)
	for _, name := range handlers.Keys() {
		f, ok := goja.AssertFunction(handlers.Get(name))
		switch {
		case !ok:
			panic(h.vm.NewTypeError("handler %s is no function", name))
		case strings.HasPrefix(name, "$") && name != "$init" && name != "$any":
			panic(h.vm.NewTypeError("the harness has no %s", name))
		}
		h.handlers[name] = f
		if name == "$any" { // As in the engine: a later named handler undoes it.
			h.any = true
		} else if name != "$init" {
			h.any = false
		}
	}
	return h.outputs(true)
}

func (h *harness) outputState(goja.FunctionCall) goja.Value { return h.outputs(false) }

// outputs are the steps behind the state.
func (h *harness) outputs(state bool) goja.Value {
	steps := map[string]func(goja.FunctionCall) goja.Value{
		"transformBy": func(c goja.FunctionCall) goja.Value {
			h.transforms = append(h.transforms, transform{do: h.function(c)})
			return h.outputs(state)
		},
		"filterBy": func(c goja.FunctionCall) goja.Value {
			h.transforms = append(h.transforms, transform{filter: true, do: h.function(c)})
			return h.outputs(state)
		},
		"outputTo": func(goja.FunctionCall) goja.Value { return goja.Undefined() },
	}
	if state {
		steps["outputState"] = h.outputState
	}
	return h.only(steps)
}

// options refuses what the engine refuses: names and types that it does not know.
func (h *harness) options(c goja.FunctionCall) goja.Value {
	given := c.Argument(0).ToObject(h.vm)
	for _, name := range given.Keys() {
		v := given.Get(name)
		ok := false
		switch name {
		case "resultStreamName":
			_, ok = v.Export().(string)
		case "$includeLinks", "reorderEvents":
			_, ok = v.Export().(bool)
		case "processingLag":
			_, ok = number(v)
		}
		if !ok {
			panic(h.vm.NewTypeError("option %s is not known here, or has a value of the wrong type", name))
		}
	}
	return goja.Undefined()
}
