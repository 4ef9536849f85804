package projections

import (
	"bytes"
	"context"
	"go/token"
	"reflect"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/projections/internal/history"
	"github.com/hostnode/hostnode/projections/internal/saved"
	"github.com/hostnode/hostnode/projections/machine"
)

var ctx = context.Background()

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// reloaded are views that were saved and loaded.
func reloaded(t history.T, v *Views) *Views {
	t.Helper()
	back := NewViews(v.scope)
	if err := snapshot.Decode(must(snapshot.Encode(v.State)), back.State); err != nil {
		t.Fatalf("%v", err)
	}
	return back
}

// remade is the type of what views keep only so that it need not be made again from the rest.
func remade(t reflect.Type) bool { return strings.HasPrefix(t.String(), "atomic.Pointer[") }

// alike compares all that views know, also what they do not show.
func alike(want, got *Views) string {
	ours := reflect.TypeFor[Views]().PkgPath()
	return cmp.Diff(want, got,
		cmp.Exporter(func(t reflect.Type) bool { return t.PkgPath() == ours }),
		cmp.FilterPath(func(p cmp.Path) bool { return remade(p.Last().Type()) }, cmp.Ignore()),
		cmp.Transformer("state", func(of machine.View) any { return of.State() }),
		cmpopts.IgnoreUnexported(sector.Info{}), // Its policy is not part of the record: Evolve does not need it.
		cmpopts.IgnoreFields(Views{}, "codec"), cmpopts.EquateEmpty(),
		cmp.FilterPath(func(p cmp.Path) bool { // What the view of a machine does not save.
			f, ok := p.Last().(cmp.StructField)
			return ok && !token.IsExported(f.Name()) && strings.HasPrefix(p.Index(-2).Type().PkgPath(), ours+"/")
		}, cmp.Ignore()),
		cmp.Comparer(func(a, b saved.Cargo) bool { return cmp.Equal(a.Saved(), b.Saved(), cmpopts.EquateEmpty()) }),
		cmp.Comparer(func(a, b events.Amount) bool { return a == b }),
		cmp.Comparer(func(a, b saved.Ledger) bool { return bytes.Equal(must(a.MarshalBinary()), must(b.MarshalBinary())) }),
		cmp.Comparer(func(a, b saved.Queue) bool { return bytes.Equal(must(a.MarshalBinary()), must(b.MarshalBinary())) }))
}
