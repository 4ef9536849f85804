package housetest

import (
	"bytes"
	"encoding"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var rewriteShape = flag.Bool("rewrite-shape", false, "write testdata/shape.golden for a schema that was raised")

// Shape ties what is saved between two runs to the number, or the name, of its schema: each type
// with its fields, and each number that stands for a name with all names in order. They are in
// testdata/shape.golden of the package under test. A changed shape under the same schema fails,
// because a newer build would misread what an older one saved.
//
// place says where the schema is raised. The roots are values of the types that are saved.
func Shape(t *testing.T, schema any, place string, roots ...any) {
	t.Helper()
	path := filepath.Join("testdata", "shape.golden")
	heading := fmt.Sprintf("schema %v\n", schema)
	is := heading + shapeOf(roots...)
	file, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	was := string(file)
	switch rewrite := fmt.Sprintf("go test -count 1 -run '^%s$' . -rewrite-shape", t.Name()); {
	case is == was:
	case strings.HasPrefix(was, heading):
		t.Errorf("what is saved has another shape than schema %v had:\n%s\n"+
			"Raise the schema: %s. Then, in this directory:\n%s", schema, changes(was, is), place, rewrite)
	case !*rewriteShape:
		t.Errorf("%s is not of schema %v. Write it, in this directory:\n%s", path, schema, rewrite)
	default:
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(is), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// changes are the lines that only one of the two texts has.
func changes(was, is string) string {
	var out strings.Builder
	for _, side := range []struct{ mark, text, other string }{{"-", was, is}, {"+", is, was}} {
		others := map[string]bool{}
		for line := range strings.Lines(side.other) {
			others[line] = true
		}
		for line := range strings.Lines(side.text) {
			if !others[line] {
				out.WriteString(side.mark + line)
			}
		}
	}
	return out.String()
}

// shapeOf describes types and the types they consist of, each one once.
func shapeOf(roots ...any) string {
	d := description{seen: map[string]bool{}}
	for _, root := range roots {
		if m, ok := root.(proto.Message); ok {
			d.message(m.ProtoReflect().Descriptor())
			continue
		}
		d.add(reflect.TypeOf(root))
	}
	return d.text.String()
}

type description struct {
	text bytes.Buffer
	seen map[string]bool
}

// first says whether a type is met for the first time.
func (d *description) first(name string) bool {
	was := d.seen[name]
	d.seen[name] = true
	return !was
}

func (d *description) add(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		d.add(t.Elem())
	case reflect.Map:
		d.add(t.Key())
		d.add(t.Elem())
	case reflect.Struct:
		if encodesItself(t) || !d.first(t.String()) {
			return
		}
		fmt.Fprintf(&d.text, "\n%s\n", t)
		for f := range t.Fields() {
			fmt.Fprintf(&d.text, "  %s.%s %s\n", t, f.Name, kindOf(f.Type))
		}
		for f := range t.Fields() {
			d.add(f.Type)
		}
	default:
		if names := namesOf(t); len(names) > 0 && d.first(t.String()) {
			fmt.Fprintf(&d.text, "\n%s\n", t)
			for i, name := range names {
				fmt.Fprintf(&d.text, "  %s %d: %s\n", t, i, name)
			}
		}
	}
}

// kindOf names a type and the form in which it is saved.
func kindOf(t reflect.Type) string {
	switch {
	case t.PkgPath() == "" || t.Kind() == reflect.Struct:
		return t.String()
	case t.Kind() == reflect.Array:
		return fmt.Sprintf("%s ([%d]%s)", t, t.Len(), t.Elem())
	}
	return fmt.Sprintf("%s (%s)", t, t.Kind())
}

// encodesItself reports whether a type has its own way of being saved.
func encodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.BinaryMarshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// namesOf are the names that a type of small numbers has; none if it counts something.
func namesOf(t reflect.Type) (names []string) {
	if t.Kind() != reflect.Uint8 || !t.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return nil
	}
	defer func() { _ = recover() }() // The number after the last one has no name.
	for n := range 1 << 8 {
		v := reflect.New(t).Elem()
		v.SetUint(uint64(n))
		name := v.Interface().(fmt.Stringer).String()
		if strings.Contains(name, strconv.Itoa(n)) {
			break
		}
		names = append(names, name)
	}
	return names
}

func (d *description) message(m protoreflect.MessageDescriptor) {
	name := string(m.Name())
	if !d.first(name) {
		return
	}
	fmt.Fprintf(&d.text, "\nmessage %s\n", name)
	var parts []protoreflect.MessageDescriptor
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		kind := f.Kind().String()
		if part := f.Message(); part != nil {
			kind = string(part.Name())
			parts = append(parts, part)
		}
		fmt.Fprintf(&d.text, "  %s.%s %s %s = %d\n", name, f.Name(), f.Cardinality(), kind, f.Number())
	}
	for _, part := range parts {
		d.message(part)
	}
}
