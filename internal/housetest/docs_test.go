package housetest

import (
	"os"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events/sale"
)

func TestTheDrawingOfASalesLifeHasEveryPhase(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, life, _ := strings.Cut(string(text), "## The life of a sale")
	_, life, _ = strings.Cut(life, "```mermaid")
	life, _, _ = strings.Cut(life, "\n\nAfter") // The drawing, and the exits below it.
	for _, p := range sale.Phases() {
		if p != sale.Unknown && !strings.Contains(life, p.String()) {
			t.Errorf("docs/architecture.md draws the life of a sale without %s", p)
		}
	}
}
