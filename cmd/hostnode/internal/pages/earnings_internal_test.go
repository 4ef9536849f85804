package pages

import (
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
)

func TestNoCellIsAFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"=1+1": "'=1+1", "+1-2": "'+1-2", "-2+3": "'-2+3", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1",
		"-12": "-12", "-0.5": "-0.5", "12.5": "12.5", "0x4e": "0x4e", "": "", "a=1": "a=1", "-12\n=1": "'-12\n=1",
	} {
		if got := inert(cell); got != want {
			t.Errorf("%q becomes %q, want %q", cell, got, want)
		}
	}
}

func TestAmountsInFilesHaveAllDigits(t *testing.T) {
	tst := money.Token{Symbol: "TST", Decimals: 18}
	for _, row := range []struct {
		base string
		of   money.Token
		want string
	}{
		{"12500000000000000000", tst, "12.5"},
		{"1", tst, "0.000000000000000001"},
		{"-100000000000000000000", tst, "-100"},
		{"0", tst, "0"},
		{"120", money.Token{Symbol: "PT"}, "120"},
		{"120", money.Token{}, "120"},
		{"1e9", tst, "1e9"},
	} {
		if got := exact(row.base, row.of); got != row.want {
			t.Errorf("%s is written %s, want %s", row.base, got, row.want)
		}
	}
}
