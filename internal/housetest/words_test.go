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

// coined are terms that this repository once made up, and what to write instead. docs/glossary.md
// has the terms that are in use. Names that are stored or public stay as they are; none of them
// matches.
var coined = []struct {
	term    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)vigil`), "watch or watchdog"},
	{regexp.MustCompile(`(?i)\bmoody\b`), "inconsistent: a node whose answers contradict each other"},
	{regexp.MustCompile(`(?i)tellEvery`), "the interval of a log line or an alert"},
	{regexp.MustCompile(`(?i)survey`), "scan, or reconciliation"},
	{regexp.MustCompile(`(?i)\balarms?\b`), "timer, or alert"},
	{regexp.MustCompile(`(?i)\brecord (?:is|was|being) away\b`), "the event store is away"},
	{regexp.MustCompile(`\bErrRecordAway\b`), "ErrStoreAway"},
	{regexp.MustCompile(`(?i)\b(?:gets?|got|getting|gives?|gave) (?:its|their|a|no) word\b`), "is judged, or is recorded"},
	{regexp.MustCompile(`(?i)\b(?:say|says|said) (?:its|the|a|no) word\b`), "confirm, or report"},
	{regexp.MustCompile(`(?i)\bwithout a word\b`), "silently"},
	{regexp.MustCompile(`(?i)\b(?:chain|contract|node|store|leader|start)'s (?:last )?word\b`), "what it answers or reports"},
	{regexp.MustCompile(`(?i)\bword of the (?:chain|contract|node|store|leader)\b`), "what it answers or reports"},
	{regexp.MustCompile(`(?i)\b(?:no|its|the) such word\b`), "order, or confirmation"},
	{regexp.MustCompile(`(?i)\bby stalled\b`), "what is stalled, and why"},
	{regexp.MustCompile(`\bhalfs\b`), "deadlines"},
	{regexp.MustCompile(`\b(?:mostDoubts|newDoubts|doubts)\b`), "connection errors, or what is not believed"},
	{regexp.MustCompile(`\b(?:lanes|newLanes)\b`), "locks"},
	{regexp.MustCompile(`\bsightings?\b`), "state on chain"},
	{regexp.MustCompile(`\b(?:hungUp|keepsBooks|newsOf|overran|endLent|whileOwned)\b`), "the field's word"},
	{regexp.MustCompile(`[Hh]opeless`), "permanent"},
}

// vague are words of comments that leave open who is meant.
var vague = regexp.MustCompile(`// .*\b(?i:somebody|anybody|whoever|besides)\b`)

// unread are the Go files in which vague words are not looked for yet. A change of those of the prover makes a host
// compile its circuit once more.
var unread = regexp.MustCompile(`^(?:cmd|messages)/|^(?:actors|prover)/\w+\.go$`)

// unclear are names of files of chain and actors that do not say what is in them.
var unclear = []string{"txdown", "heads", "final", "extra", "taken", "standing", "meanwhile", "past"}

// margin is what continues a comment on its next line.
var margin = regexp.MustCompile(`\s*\n\s*(?://|#|\*|--)?\s*|\s*"\s*\+\s*"\s*`)

// Comments, texts, names and pages use the terms of the field.
func TestNoTermIsCoined(t *testing.T) {
	root := filepath.Join("..", "..")
	list, err := exec.Command("git", "-C", root, "ls-files").Output()
	if err != nil {
		t.Skipf("without git nothing says which files belong to the repository: %v", err)
	}
	files := 0
	for path := range strings.Lines(string(list)) {
		path = strings.TrimSpace(path)
		kinds := []string{".go", ".md", ".yml", ".yaml", ".sol", ".js", ".proto", ".txt", ".txtar", ""}
		if !slices.Contains(kinds, filepath.Ext(path)) || strings.HasSuffix(path, ".pb.go") ||
			strings.HasSuffix(path, "/words_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		files++
		for _, c := range coinedIn(path, string(text)) {
			t.Errorf("%s: %s", path, c)
		}
	}
	if files < 1000 {
		t.Errorf("only %d files were read", files)
	}
}

// coinedIn are the coined terms in the text of a file, and an unclear name of the file.
func coinedIn(path, text string) (found []string) {
	room := strings.HasPrefix(path, "chain/") || strings.HasPrefix(path, "actors/")
	if name, _, _ := strings.Cut(filepath.Base(path), "."); room && slices.Contains(unclear, name) {
		found = append(found, "name the file by what is in it")
	}
	if filepath.Ext(path) == ".go" && !unread.MatchString(path) {
		for _, comment := range vague.FindAllString(text, -1) {
			found = append(found, "name the caller, operator, process or account: "+comment)
		}
	}
	text = margin.ReplaceAllString(text, " ")
	for _, c := range coined {
		for _, term := range c.term.FindAllString(text, -1) {
			found = append(found, "write instead of \""+term+"\": "+c.instead)
		}
	}
	return found
}

func TestACoinedTermIsSeen(t *testing.T) {
	for _, planted := range []string{
		"// keepVigil waits.", "the moody node", "const tellEvery = 1", "type Survey struct{}", "an alarm rings",
		"// while the record\n\t// is away", "each period up to the end\n// gets its word", `"falls behind without " +` + "\n\t" + `"a word"`,
		"the chain's word", "the word of the chain", "until an operator says the word", "It says so by stalled",
		"s.lanes", "type sighting struct{}", "a Hopeless call", "x := 1 // for whoever asks", "\t// Somebody else wrote.",
	} {
		if got := coinedIn("chain/chain.go", planted); len(got) != 1 {
			t.Errorf("%q: found %q", planted, got)
		}
	}
	for _, fine := range []string{"a 32-byte word", "the last word of r", "the event store is away", "ErrStoreAway", "whoever asks"} {
		if got := coinedIn("docs/final.md", fine); len(got) != 0 {
			t.Errorf("%q: found %q", fine, got)
		}
	}
	if got := coinedIn("chain/extra.go", "package chain"); len(got) != 1 {
		t.Errorf("a file's name: found %q", got)
	}
}
