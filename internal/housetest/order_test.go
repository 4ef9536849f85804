package housetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events/sale"
)

// Code that names all phases before or after another one must list them, which the linter keeps
// complete when a phase is added. It must not compare them, because nothing checks that.
func TestNothingRestsOnTheOrderOfPhases(t *testing.T) {
	root := filepath.Join("..", "..")
	found, files := []string{}, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && slices.Contains([]string{"bin", "build", ".git", "node_modules"}, d.Name()) {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range ordersPhases(file) {
			found = append(found, set.Position(at).String())
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files read: %v", files, err)
	}
	for _, at := range found {
		t.Errorf("%s compares phases by their order: name the set (events/sale/phase.go)", at)
	}
}

// ordersPhases are the places where a phase, known by its name, is compared or used in arithmetic.
func ordersPhases(file *ast.File) (found []token.Pos) {
	names := make([]string, 0, len(sale.Phases()))
	for _, p := range sale.Phases() {
		names = append(names, p.String())
	}
	phase := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			of, _ := e.X.(*ast.Ident)
			return e.Sel.Name == "Phase" || of != nil && of.Name == "sale" && slices.Contains(names, e.Sel.Name)
		case *ast.Ident:
			return strings.EqualFold(e.Name, "phase") || file.Name.Name == "sale" && slices.Contains(names, e.Name)
		}
		return false
	}
	order := []token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if slices.Contains(order, n.Op) && (phase(n.X) || phase(n.Y)) {
				found = append(found, n.OpPos)
			}
		case *ast.IncDecStmt:
			if phase(n.X) {
				found = append(found, n.TokPos)
			}
		}
		return true
	})
	return found
}

func TestAComparisonOfPhasesIsSeen(t *testing.T) {
	for _, source := range []string{
		"s.Phase >= other", "a < s.Phase", "p <= sale.Filled", "sale.Filled > p",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; var _ = "+source, 0)
		if err != nil || len(ordersPhases(file)) != 1 {
			t.Errorf("%s: %v, %v", source, ordersPhases(file), err)
		}
	}
}
