package main

import (
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/projections"
)

func TestTheStatusSaysWhatAValidatorDoes(t *testing.T) {
	did := projections.Validator{MaxSlots: 2, Groups: 4, GroupIndex: 1, Marked: 2, Failed: 1, Rewards: "8000", FeesWei: "0"}
	for name, c := range map[string]struct {
		v    *api.Validator
		want []string // parts of it
	}{
		"none":     {nil, nil},
		"starting": {&api.Validator{Validator: did, Enabled: true}, []string{"reading what the market said"}},
		"watching": {
			&api.Validator{Validator: did, Enabled: true, Ready: true, Watching: 2, Skipped: 7, Marking: 1},
			[]string{
				"watching 2 slots of other hosts in group 1 of 4", "7 skipped beyond validator.maxSlots = 2", "1 being marked",
				"2 missing proofs for 8000 base units", "1 could not be marked",
			},
		},
		"broken": {&api.Validator{Validator: did, Enabled: true, Trouble: "the record"}, []string{"STOPPED: the record"}},
		"off":    {&api.Validator{Validator: did}, []string{"off", "--validator", "2 missing proofs"}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []string
			for _, row := range validatorRows(c.v) {
				all = append(all, strings.Join(row, " "))
			}
			text := strings.Join(all, "\n")
			if (c.v == nil) != (text == "") {
				t.Fatalf("it says %q", text)
			}
			for _, part := range c.want {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in:\n%s", part, text)
				}
			}
		})
	}
}
