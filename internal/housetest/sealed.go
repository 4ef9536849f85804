package housetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Sealed are the names of all types in the package of a directory that are sealed by
// methods whose names end like that, such as command. They are read from its source, the only list
// that cannot forget one.
func Sealed(t testing.TB, dir, method string) []string {
	t.Helper()
	var names []string
	inspect(t, dir, func(d ast.Decl) {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || !strings.HasSuffix(f.Name.Name, method) {
			return
		}
		of := f.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		names = append(names, of.(*ast.Ident).Name)
	})
	if len(names) == 0 {
		t.Fatalf("no type in %s has the method %s", dir, method)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Complete fails unless values has every type in the package of a directory that the method seals.
// what tells a reader what is missing in that case.
func Complete[T any](t testing.TB, dir, method string, values []T, what string) {
	t.Helper()
	had := map[string]bool{}
	for _, v := range values {
		of := reflect.TypeOf(v)
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		had[of.Name()] = true
	}
	for _, name := range Sealed(t, dir, method) {
		if !had[name] {
			t.Errorf("%s: %s is missing", what, name)
		}
	}
}

// Constants are the names of the constants of a type that the package under test declares with
// iota, in order.
func Constants(t testing.TB, of string) []string {
	t.Helper()
	var names []string
	inspect(t, ".", func(d ast.Decl) {
		list, ok := d.(*ast.GenDecl)
		if !ok || list.Tok != token.CONST {
			return
		}
		counting := false
		for _, spec := range list.Specs {
			s := spec.(*ast.ValueSpec)
			if s.Type != nil || s.Values != nil {
				named, _ := s.Type.(*ast.Ident)
				counting = named != nil && named.Name == of
			}
			for _, name := range s.Names {
				if counting {
					names = append(names, name.Name)
				}
			}
		}
	})
	if len(names) == 0 {
		t.Fatalf("the package has no constant of the type %s", of)
	}
	return names
}

// Sentinels are the names of the errors that a package declares for its callers.
func Sentinels(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	inspect(t, dir, func(d ast.Decl) {
		list, ok := d.(*ast.GenDecl)
		if !ok || list.Tok != token.VAR {
			return
		}
		for _, spec := range list.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if strings.HasPrefix(name.Name, "Err") {
					names = append(names, name.Name)
				}
			}
		}
	})
	return names
}

// inspect reads the declarations of a package, without its tests.
func inspect(t testing.TB, dir string, look func(ast.Decl)) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".go" || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		path := filepath.Join(dir, f.Name())
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			look(d)
		}
	}
}
