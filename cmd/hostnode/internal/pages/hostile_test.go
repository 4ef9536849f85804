package pages_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/page/pagetest"
)

// What came from outside is text on each page of the machines, whatever it is.
func TestTextsOfMachinesAreNoMarkup(t *testing.T) {
	hostile := "<img src=x onerror=alert(1)>\"><script>alert(1)</script>\u202e\x00" + strings.Repeat("long ", 2_000)
	texts := []string{"text", "hint", "reason", "note", "by", "detail", "group", "broker", "deal", "key", "bucketName"}
	change := func(key, text string) string {
		if slices.Contains(texts, key) && text != "" {
			return hostile
		}
		return text
	}
	for _, c := range []struct {
		history string
		most    int
		paths   []string
	}{
		{"alerts", 6, []string{"overview", "alerts"}},
		{"alerts", 0, []string{"alerts"}},
		{"nodes", 0, []string{"nodes", "nodes/north", "nodes/0x6000000000000000000000000000000000000000"}},
		{"aggregation", 0, []string{"aggregation"}},
		{"sectors", 0, []string{"sectors", "sectors/1", "sectors/2"}},
	} {
		b := pagetest.Open(t, pagetest.Recorded(t, pagetest.History{
			Root: "../../../..", Name: c.history, Most: c.most, Change: change,
		}))
		for _, path := range c.paths {
			_, body := b.Get(t, "/page/"+path)
			if strings.Contains(body, "<img") || strings.Contains(body, "<script>") || strings.ContainsAny(body, "\u202e\x00") {
				t.Errorf("%s has markup or commands of others", path)
			}
			if len(body) > 300<<10 {
				t.Errorf("%s has %d bytes", path, len(body))
			}
			if path != "sectors" && path != "nodes" && !strings.Contains(body, "&lt;img") {
				t.Errorf("%s does not show what was said: %s", path, pagetest.Text(body)[:1_000])
			}
		}
	}
}
