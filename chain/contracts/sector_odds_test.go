package contracts_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// detected is the probability that a challenge of so many leaves hits one in the lost part.
func detected(lost float64, leaves int) float64 { return 1 - math.Pow(1-lost, float64(leaves)) }

func TestFortyFourLeavesFindATenthWithNinetyNinePercent(t *testing.T) {
	if detected(0.1, 44) < 0.99 || detected(0.1, 43) >= 0.99 {
		t.Fatalf("44 leaves: %f, 43 leaves: %f", detected(0.1, 44), detected(0.1, 43))
	}
	// The same with the indices that the contract computes, whichever tenth is lost.
	const (
		depth = 18
		runs  = 20_000
	)
	for name, lost := range map[string]func(uint64) bool{
		"the first tenth":  func(leaf uint64) bool { return leaf < (1<<depth)/10 },
		"every tenth leaf": func(leaf uint64) bool { return leaf%10 == 3 },
	} {
		found := 0
		for run := range uint64(runs) {
			c := challenge{domain: "seal", provider: alice, number: run % 7}
			binary.BigEndian.PutUint64(c.seed[:], run)
			for i := range uint32(44) {
				if lost(c.index(i, depth)) {
					found++
					break
				}
			}
		}
		want := detected(0.1, 44)
		// Four standard deviations of a drawing.
		if got, margin := float64(found)/runs, 4*math.Sqrt(want*(1-want)/runs); math.Abs(got-want) > margin {
			t.Fatalf("%s: found %.4f, want %.4f ± %.4f", name, got, want, margin)
		}
	}
}

func TestTableOfDetectionIsRight(t *testing.T) {
	page, err := os.ReadFile("../../docs/provider-contract.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, lost := range []float64{0.01, 0.05, 0.1, 0.25, 0.5} {
		row := fmt.Sprintf("| %.0f %% |", lost*100)
		for _, leaves := range []int{10, 44, 70, 300} {
			percent := fmt.Sprintf("%.1f", 100*detected(lost, leaves))
			if percent == "100.0" {
				percent = "> 99.9"
			}
			row += " " + percent + " % |"
		}
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/provider-contract.md has not the row\n%s", row)
		}
	}
}
