package machines_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
)

var rewrite = flag.Bool("rewrite", false, "write docs/openapi.json anew")

const (
	root   = "../../../../"
	module = "github.com/hostnode/hostnode/"
)

func TestTheDocumentOfTheAPIIsCurrent(t *testing.T) {
	document := api.Document(machines.API())
	describe(t, document)
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	file := root + "docs/openapi.json"
	if *rewrite {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, text) {
		t.Fatalf("docs/openapi.json is stale; make generate writes it anew:\n%s",
			cmp.Diff(strings.Split(string(have), "\n"), strings.Split(string(text), "\n")))
	}
}

// What is answered is JSON made of Go values, and a type may have a form of its own there: each type of the document, of
// nothing and of all that it can have, is written as its schema says.
func TestAllTypesOfTheAPIAreWrittenAsTheirSchemasSay(t *testing.T) {
	schemas := api.Document(machines.API()).Components.Schemas
	for name, schema := range schemas.Map() {
		of := schemas.TypeFromRef("#/components/schemas/" + name)
		for what, all := range map[string]bool{"of nothing": false, "of all": true} {
			value := reflect.New(of).Elem()
			fill(value, all, 0)
			text, err := json.Marshal(value.Interface())
			if err != nil {
				t.Errorf("%s %s: %v", name, what, err)
				continue
			}
			var read any
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			result := &huma.ValidateResult{}
			huma.Validate(schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, read, result)
			if len(result.Errors) > 0 {
				t.Errorf("%s %s is not as its schema says: %v\n%s", name, what, result.Errors, text)
			}
		}
	}
}

// fill gives a value, and all that it consists of, something; without all, only maps, which answers always make.
func fill(v reflect.Value, all bool, depth int) {
	const deepest = 8
	if depth > deepest || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), all, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if all {
			key, of := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, all, depth+1)
			fill(of, all, depth+1)
			v.SetMapIndex(key, of)
		}
	default:
		if all {
			fillOne(v, depth)
		}
	}
}

func fillOne(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), true, depth+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 { // Bytes may be JSON.
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), true, depth+1)
		}
	case reflect.String:
		v.SetString("1")
	case reflect.Bool:
		v.SetBool(true)
	default:
		if v.CanInt() || v.CanUint() || v.CanFloat() {
			v.Set(reflect.ValueOf(1).Convert(v.Type()))
		}
	}
}

// describe gives the schemas the comments of their types: what a Go programmer reads is what a client reads.
func describe(t *testing.T, document *huma.OpenAPI) {
	schemas, comments := document.Components.Schemas, map[string]map[string]string{}
	said := func(of reflect.Type, field string) string { // Of a type, if field is empty.
		dir, ours := strings.CutPrefix(of.PkgPath(), module)
		if !ours {
			return ""
		}
		if comments[dir] == nil {
			comments[dir] = commentsIn(t, root+dir)
		}
		generic, _, _ := strings.Cut(of.Name(), "[")
		return comments[dir][generic+field]
	}
	for name, schema := range schemas.Map() {
		of := schemas.TypeFromRef("#/components/schemas/" + name)
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if !strings.HasPrefix(of.PkgPath(), module) {
			continue
		}
		schema.Description = said(of, "")
		for _, field := range reflect.VisibleFields(of) {
			json, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if property := schema.Properties[json]; property != nil && property.Description == "" {
				in := of // The type that declares the field: an embedded one has others.
				for _, i := range field.Index[:len(field.Index)-1] {
					if in = in.Field(i).Type; in.Kind() == reflect.Pointer {
						in = in.Elem()
					}
				}
				property.Description = said(in, "."+field.Name)
			}
		}
	}
}

// commentsIn are the comments of the types of a package, and of their fields, each in one line.
func commentsIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	set, files := token.NewFileSet(), []*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	read, err := doc.NewFromFiles(set, files, dir)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, of := range read.Types {
		for _, spec := range of.Decl.Specs {
			spec, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			comments[spec.Name.Name] = line(of.Doc, spec.Doc.Text())
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						comments[spec.Name.Name+"."+name.Name] = line(field.Doc.Text(), field.Comment.Text())
					}
				}
			}
		}
	}
	return comments
}

func line(texts ...string) string { return strings.Join(strings.Fields(strings.Join(texts, " ")), " ") }
