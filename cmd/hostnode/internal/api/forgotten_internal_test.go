package api

import (
	"os"
	"strings"
	"testing"
)

func TestTheListOfRoutesInTheCommentOfThePackageIsWhole(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(strings.TrimPrefix(line, "//")); len(words) > 1 {
			path, _, _ := strings.Cut(words[1], "?")
			listed[words[0]+" "+path] = true
		}
	}
	for _, r := range routes(&Live{}) {
		// Those of the past are said to be as those of now.
		if !listed[r.method+" "+r.path] && !strings.HasPrefix(r.path, "/v1/past/") {
			t.Errorf("doc.go does not list %s %s", r.method, r.path)
		}
	}
}
