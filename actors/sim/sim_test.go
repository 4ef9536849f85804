package sim

import (
	"testing"
)

func TestQuietWorldSellsEverything(t *testing.T) {
	out := Run(t, 1, Scenario{})
	if out.Problem != nil {
		t.Fatal(out.Problem)
	}
	t.Logf("steps %d blocks %d", out.Steps, out.Blocks)
}
