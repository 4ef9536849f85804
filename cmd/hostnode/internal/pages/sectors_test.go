package pages_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page/pagetest"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/pages"
)

func TestEachPartOfTheMenuIsOne(t *testing.T) {
	var parts []string
	for _, p := range pages.All(machines.Pages()) {
		if len(parts) == 0 || parts[len(parts)-1] != p.Menu {
			parts = append(parts, p.Menu)
		}
	}
	twice := slices.Clone(parts)
	slices.Sort(twice)
	if len(slices.Compact(twice)) != len(parts) || parts[0] != page.MenuHost || parts[len(parts)-1] != "" {
		t.Error(parts)
	}
}

func TestSectorsAreShownThoseAtRiskFirst(t *testing.T) {
	b := pagetest.Open(t, pagetest.Recorded(t, pagetest.History{Root: "../../../..", Name: "sectors"}))
	b.Shows(t, "/page/sectors", "all 1 Proving 1 FailedUnrecoverable 1 Removed",
		"2 Warning FailedUnrecoverable 2023-11-14 22:17:28Z a person: nothing is known that could be done",
		"3 OK Proving 2023-11-14 22:20:10Z its next window", "1 Removed", "Only a running host knows them.")
	if _, body := b.Get(t, "/page/sectors?state=Proving"); strings.Contains(pagetest.Text(body), "a person:") {
		t.Error("the state is not chosen")
	}
	b.Shows(t, "/page/sectors/1", "Removed since 2023-11-14 22:16:46Z",
		"4,000 base units returned, 1,000 base units lost", "baga6ea4seaqz1024 1 KiB 0 B zeros", "Diagnose 4 1s 4s",
		"SectorParked: reason its pieces cannot be sealed", "because of operator")
	b.Shows(t, "/page/sectors/2", "What can be done is below.", "Remove its data", "Put it into a state")
	b.Shows(t, "/page/sectors/3", "OK Proving; waits for its next window", "Terminate it")
	for _, verb := range []string{"force", "remove", "terminate", "retry", "pack"} {
		form := url.Values{"do": {verb}, "reason": {"typed"}, "to": {"Removed"}}
		status, body := b.Post(t, "/page/sectors/2", form)
		if status < 400 || strings.Count(body, `value="typed"`) > 1 {
			t.Errorf("%s: %d %s", verb, status, pagetest.Text(body))
		}
	}
	if status, _ := b.Get(t, "/page/sectors/none"); status != 404 {
		t.Error(status)
	}
}
