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
