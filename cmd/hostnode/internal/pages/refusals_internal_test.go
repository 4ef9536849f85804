package pages

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events/capacity"
)

func TestTheSettingsThatDecideAreThoseOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/admission.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 6 {
			for criterion := range strings.SplitSeq(cells[1], ",") {
				name := strings.Trim(criterion, " `")
				said[name], _, _ = strings.Cut(strings.Trim(cells[3], " `"), "`")
			}
		}
	}
	all := config.Loaded{Config: config.Default()}.Settings()
	for criterion, key := range settingOf {
		known := slices.ContainsFunc(all, func(s config.Setting) bool { return s.Key == key })
		if said[criterion] != key || !known {
			t.Errorf("%s is decided by %s, which is known: %v; the document says %q", criterion, key, known, said[criterion])
		}
	}
	for criterion, column := range columnOf {
		if said[criterion] != "hostnode availability" || availabilityHeads()[column] == "" {
			t.Errorf("%s is decided by %q, and not by an availability", criterion, said[criterion])
		}
	}
	for _, c := range capacity.Criteria() {
		if _, is := columnOf[string(c)]; !is && settingOf[string(c)] == "" && c != capacity.NoAvailability && c != capacity.Full {
			t.Errorf("the page of a slot that %s refused leads nowhere", c)
		}
	}
}
