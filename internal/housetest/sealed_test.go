package housetest

import (
	"slices"
	"testing"
)

func TestWhatIsSealedAndDeclaredIsReadFromTheSource(t *testing.T) {
	if got := Sealed(t, "../../events/validation", "command"); !slices.Equal(got, []string{"ReportFailed", "ReportMarked", "Start"}) {
		t.Fatalf("the commands are %v", got)
	}
}
