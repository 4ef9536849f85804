package housetest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var targets = []string{"race", "test", "cover", "sim-read", "whole"}

// A share is a line of .ci/shares: it says what runs a package, or one test of it.
type share struct{ target, pkg, test string }

// Each test runs exactly once. What is in no share would not run at all, and what does less in
// its share would never run completely.
func TestEachTestHasItsShare(t *testing.T) {
	text, err := os.ReadFile("../../.ci/shares")
	if err != nil {
		t.Fatal(err)
	}
	shares, wrong := readShares(string(text))
	for _, problem := range append(wrong, misshared(shares, tested(t))...) {
		t.Errorf(".ci/shares: %s", problem)
	}
}

func readShares(text string) (shares []share, wrong []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		words := append(strings.Fields(line), "") // Without a test it is for all tests of the package.
		if len(words) < 3 || len(words) > 4 || !slices.Contains(targets, words[0]) {
			wrong = append(wrong, "no share: "+strings.TrimSpace(line))
			continue
		}
		shares = append(shares, share{words[0], words[1], words[2]})
	}
	return shares, wrong
}

// testedPackage is what the sources of a package with tests contain.
type testedPackage struct {
	tests   map[string]bool // Whether a test does less with the race detector or -short.
	atOnce  string          // Where something runs concurrently.
	beneath map[string][]string
}

// misshared lists the mistakes in the shares.
func misshared(shares []share, packages map[string]*testedPackage) (wrong []string) {
	of, apart, owners, raced := map[string]string{}, map[string]string{}, map[string]int{}, map[string]bool{}
	for _, p := range packages {
		for test := range p.tests {
			owners[test]++
		}
	}
	for _, s := range shares {
		raced[s.pkg] = raced[s.pkg] || s.target == "race"
		p, had := packages[s.pkg], of[s.pkg] != ""
		switch _, isTest := packages[s.pkg].has(s.test); {
		case p == nil:
			wrong = append(wrong, s.pkg+" has no tests")
		case s.test == "" && had:
			wrong = append(wrong, s.pkg+" is there twice")
		case s.test == "":
			of[s.pkg] = s.target
		case !isTest:
			wrong = append(wrong, s.pkg+" has no test "+s.test)
		case owners[s.test] > 1:
			wrong = append(wrong, s.test+" is a name in other packages, too, where it would not run")
		case !had || of[s.pkg] == s.target || apart[s.test] != "":
			wrong = append(wrong, s.test+" follows no line of its package, or one that says the same")
		default:
			apart[s.test] = s.target
		}
	}
	for pkg, p := range packages {
		if of[pkg] == "" {
			wrong = append(wrong, pkg+" is missing")
		}
		if p.atOnce != "" && !raced[pkg] {
			wrong = append(wrong, pkg+" runs things at once and belongs to race, at least in part: "+p.atOnce)
		}
		for test, less := range p.tests {
			if less && cmp.Or(apart[test], of[pkg]) == "race" {
				wrong = append(wrong, pkg+" "+test+" does less with -short or the detector, and runs whole nowhere")
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

func (p *testedPackage) has(test string) (less, ok bool) {
	if p != nil {
		less, ok = p.tests[test]
	}
	return less, ok
}

// isTest matches the functions that go test runs without fuzzing.
var isTest = regexp.MustCompile(`^(Test|Fuzz|Example)([^a-z]|$)`)

// tested are the packages of the module that have tests.
func tested(t *testing.T) map[string]*testedPackage {
	t.Helper()
	root, all := "../..", map[string]*testedPackage{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, module := os.Stat(filepath.Join(file, "go.mod"))
			name := d.Name()
			hidden := strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "build", "node_modules"}, name)
			if file != root && (module == nil || hidden) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := "./" + filepath.ToSlash(dir)
		if all[pkg] == nil {
			all[pkg] = &testedPackage{tests: map[string]bool{}, beneath: map[string][]string{}}
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return all[pkg].read(file, source)
	})
	if err != nil || len(all) < 40 {
		t.Fatalf("%d packages read: %v", len(all), err)
	}
	for pkg, p := range all {
		if len(p.tests) == 0 {
			delete(all, pkg)
			continue
		}
		for test := range p.tests {
			p.tests[test] = p.less(test, map[string]bool{})
		}
	}
	return all
}

// read adds the content of a file.
func (p *testedPackage) read(name string, source []byte) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil || !built(file, false) {
		return err
	}
	raced := built(file, true)
	for _, i := range file.Imports {
		if i.Path.Value == `"testing/synctest"` {
			p.atOnce = set.Position(i.Pos()).String()
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		starts := false
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			starts = ok && s.Sel.Name == "Go"
		}
		if starts {
			p.atOnce = set.Position(n.Pos()).String()
		}
		return true
	})
	if !strings.HasSuffix(name, "_test.go") {
		return p.whole(name, file)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if f.Recv == nil && isTest.MatchString(f.Name.Name) && f.Name.Name != "TestMain" {
			p.tests[f.Name.Name] = false
			if !raced {
				p.beneath[f.Name.Name] = []string{lessens[0]}
			}
		}
		p.beneath[f.Name.Name] = append(p.beneath[f.Name.Name], mentioned(f)...)
	}
	return nil
}

// whole refuses files that would silently make tests of other packages do less.
func (p *testedPackage) whole(name string, file *ast.File) error {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && slices.Contains(mentioned(f), "testing.Short") {
			return fmt.Errorf("%s: %s asks testing.Short, which is for a test itself", name, f.Name.Name)
		}
	}
	return nil
}

// lessens are the names by which a test does less with -short or the race detector.
var lessens = []string{"testing.Short", "underRace"}

// mentioned are the names that a function uses: those of its package, and testing.Short.
func mentioned(f *ast.FuncDecl) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			names = append(names, n.Name)
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "testing" {
				names = append(names, "testing."+n.Sel.Name)
			}
		}
		return true
	})
	return names
}

// less reports whether a test, or what it calls in the tests of its package, does less.
func (p *testedPackage) less(name string, seen map[string]bool) bool {
	if slices.Contains(lessens, name) {
		return true
	}
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(p.beneath[name], func(n string) bool { return p.less(n, seen) })
}

func TestAShareThatIsWrongIsSeen(t *testing.T) {
	packages := map[string]*testedPackage{
		"./quiet": {tests: map[string]bool{"TestA": false, "TestBoth": false}},
		"./busy":  {tests: map[string]bool{"TestB": false, "TestLong": true, "TestBoth": false}, atOnce: "busy.go:1"},
	}
	const right = "test ./quiet\nrace ./busy\ntest ./busy TestLong\n"
	for text, want := range map[string]string{
		right:                                             "",
		right + "# A remark.\n\n":                         "",
		right + "late ./busy TestB":                       "no share",
		right + "race ./busy":                             "twice",
		right + "race ./gone":                             "./gone has no tests",
		right + "test ./busy TestA":                       "no test TestA",
		right + "test ./busy TestLong":                    "follows no line",
		right + "race ./busy TestB":                       "follows no line",
		right + "test ./busy TestBoth":                    "other packages",
		"test ./quiet\ntest ./busy\nrace ./busy TestB":    "",
		"test ./quiet\ntest ./busy\nrace ./busy TestLong": "TestLong does less",
		"race ./busy\ntest ./busy TestLong":               "./quiet is missing",
		"test ./quiet\nrace ./busy\n":                     "TestLong does less",
		"test ./quiet\ntest ./busy\n":                     "belongs to race",
		"test ./busy TestLong\n" + right[:len(right)-len("test ./busy TestLong\n")]: "follows no line",
	} {
		shares, wrong := readShares(text)
		wrong = append(wrong, misshared(shares, packages)...)
		if got := strings.Join(wrong, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\nis wrong in %q, want %q", text, got, want)
		}
	}
}

// built reports whether a file belongs to a plain build, or to one with the race detector.
func built(file *ast.File, race bool) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			x, err := constraint.Parse(c.Text)
			if c.Pos() < file.Package && err == nil {
				return x.Eval(func(tag string) bool { return tag == "unix" || tag == "race" && race })
			}
		}
	}
	return true
}
