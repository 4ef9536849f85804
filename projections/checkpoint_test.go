package projections

import (
	"reflect"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/projections/internal/saved"
)

// fill sets everything in a value to something that is not zero.
func fill(v reflect.Value) {
	if remade(v.Type()) {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[sector.Policy](): // Not part of the record: Evolve does not need it.
		return
	case reflect.TypeFor[saved.Ledger](): // These have forms, and tests, of their own.
		v.Set(reflect.ValueOf(saved.Ledger{State: capacity.New()}))
		return
	case reflect.TypeFor[saved.Queue]():
		v.Set(reflect.ValueOf(saved.Queue{}))
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1_750_000_000, 7).UTC()))
		return
	case events.Amount:
		v.Set(reflect.ValueOf(events.MaxAmount()))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() { // The others follow from them.
				fill(v.Field(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("binary \xff \x00 and \"text\"")
	case reflect.Bool:
		v.SetBool(true)
	default:
		if v.CanInt() {
			v.SetInt(-1)
		} else {
			v.SetUint(1<<v.Type().Bits() - 1)
		}
	}
}

// TestACheckpointHoldsEveryFieldOfEveryState fails for a field that a core
// adds and that this codec would lose.
func TestACheckpointHoldsEveryFieldOfEveryState(t *testing.T) {
	want, got := new(host).parts(), new(host).parts()
	for i := range want {
		fill(reflect.ValueOf(want[i]).Elem())
	}
	file := must(snapshot.Encode(func(c *snapshot.Coder) { c.Parts(want...) }))
	if err := snapshot.Decode(file, func(c *snapshot.Coder) { c.Parts(got...) }); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("stored %+v\nread %+v", want, got)
	}
}
