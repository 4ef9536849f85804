package housetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// cited is a page with the numbers that follow it, as in "spec/marketplace.md §5.5, §6.4". A
	// page with numbers belongs to docs/spec, however it is named.
	cited   = regexp.MustCompile(`(spec/)?\b([a-z0-9]+\.md)((?:(?:\s|//)*(?:,|and)?(?:\s|//)*§[0-9]+(?:\.[0-9]+)?)*)`)
	number  = regexp.MustCompile(`§([0-9]+(?:\.[0-9]+)?)`)
	heading = regexp.MustCompile(`(?m)^#{2,} ([0-9]+(?:\.[0-9]+)?)\.? `)
	// unseen are documents that readers of this repository do not have: those that the project was
	// commissioned with.
	unseen = regexp.MustCompile(`(?i)\bdesign(?:\.md)? ?§|\bseed 0[0-9]+|\bstyle\.md|\broadmap\.md`)
)

// Whatever page or section is cited, it exists.
func TestWhatIsCitedIsHere(t *testing.T) {
	root := filepath.Join("..", "..")
	list, err := exec.Command("git", "-C", root, "ls-files").Output()
	if err != nil {
		t.Skipf("without git nothing says which files belong to the repository: %v", err)
	}
	found := 0
	for path := range strings.Lines(string(list)) {
		path = strings.TrimSpace(path)
		if !slices.Contains([]string{".go", ".md", ".yml", ".yaml", ".sol", ".js", ".proto", ""}, filepath.Ext(path)) ||
			strings.HasSuffix(path, "sources_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		citations := dangling(string(text), func(page string) (string, error) {
			text, err := os.ReadFile(filepath.Join(root, "docs", "spec", page))
			return string(text), err
		}, &found)
		for _, c := range citations {
			t.Errorf("%s cites %s, which is not in the repository", path, c)
		}
	}
	if found < 50 {
		t.Errorf("%d citations found: the pattern finds none any more", found)
	}
}

// dangling are the citations in a text that lead nowhere. All citations are counted in found.
func dangling(text string, page func(name string) (string, error), found *int) (none []string) {
	for _, c := range cited.FindAllStringSubmatch(text, -1) {
		if c[1] == "" && c[3] == "" {
			continue
		}
		*found++
		has, err := page(c[2])
		if err != nil {
			none = append(none, "spec/"+c[2])
			continue
		}
		sections := []string{}
		for _, h := range heading.FindAllStringSubmatch(has, -1) {
			sections = append(sections, h[1])
		}
		for _, n := range number.FindAllStringSubmatch(c[3], -1) {
			if !slices.Contains(sections, n[1]) {
				none = append(none, "spec/"+c[2]+" §"+n[1])
			}
		}
	}
	return append(none, unseen.FindAllString(text, -1)...)
}

func TestADanglingCitationIsSeen(t *testing.T) {
	page := func(name string) (string, error) {
		if name != "market.md" {
			return "", os.ErrNotExist
		}
		return "# Market\n\n## 1. Types\n\n### 1.2 Enums\n", nil
	}
	found := 0
	text := "(spec/market.md §1, §1.2), (spec/market.md §1\n// and §3), spec/other.md, design §4, spec/market.md."
	got := dangling(text, page, &found)
	want := []string{"spec/market.md §3", "spec/other.md", "design §"}
	if !slices.Equal(got, want) || found != 4 {
		t.Errorf("%d found, %q dangling, want %q", found, got, want)
	}
}
