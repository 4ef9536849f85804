package audit

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the table of rules into docs/audit.md")

func TestTheRulesAreDocumented(t *testing.T) {
	const path = "../../docs/audit.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), "-rewrite -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end of rules -->")
	if !found || !ended {
		t.Fatal("the page has no place for the rules")
	}
	var table strings.Builder
	table.WriteString("\n| rule | a breach is | what must be so |\n|---|---|---|\n")
	for _, r := range Rules() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.Rule, r.Severity, r.Demands)
	}
	want := before + "-rewrite -->\n" + table.String() + "\n<!-- end of rules -->" + after
	if want == string(page) {
		return
	}
	if !*rewrite {
		t.Fatalf("docs/audit.md has other rules; run: go test ./projections/audit -run %s -rewrite", t.Name())
	}
	if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}
