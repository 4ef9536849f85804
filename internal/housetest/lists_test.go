package housetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events/catalog"
)

// What has no list of its own is in these: what is forgotten there no compiler tells.

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// packagesBelow are the names of the directories with Go files right below one.
func packagesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	for _, f := range files {
		if name := filepath.Base(filepath.Dir(f)); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

func TestEachRoomHasItsRuleOfImports(t *testing.T) {
	rules := read(t, "../../.golangci.yml")
	for _, room := range packagesBelow(t, "../../actors") {
		if !strings.Contains(rules, "/actors/"+room+"/") {
			t.Errorf("no rule of .golangci.yml says what actors/%s may import", room)
		}
	}
}

func TestThePageOfTheHouseNamesEachPackageAndEachStream(t *testing.T) {
	page := read(t, "../../docs/architecture.md")
	house, rest, _ := strings.Cut(page, "**Arrows point inward.**")
	for _, layer := range []string{"actors", "chain", "events", "internal", "projections", "cmd/hostnode/internal"} {
		for _, name := range packagesBelow(t, "../../"+layer) {
			if !strings.Contains(house, " "+name+"/ ") && !strings.Contains(house, "/"+name+"/ ") {
				t.Errorf("docs/architecture.md, \"The house\", has no line of %s/%s", layer, name)
			}
		}
	}
	for _, m := range catalog.Machines() {
		if !strings.Contains(rest, "| `"+m.Category+"-") {
			t.Errorf("docs/architecture.md, \"Streams\", has no row of %s-…", m.Category)
		}
	}
}
