package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/projections"
)

func TestRowsNameTheirMemberOnlyInAHostOfSeveral(t *testing.T) {
	offer := projections.Availability{ID: "0xa1", MinPrice: "1", Remaining: "1", Collateral: "1"}
	alone := availabilityRows(time.Now(), offer, offer)
	for _, row := range alone {
		if row[0] == "MEMBER" || row[0] == "" {
			t.Fatalf("a host of one process shows %q", row)
		}
	}
	several := []projections.Availability{offer, offer}
	several[0].Member, several[1].Member = "north", "south"
	var first []string
	for i, row := range availabilityRows(time.Now(), several...) {
		first = append(first, row[0])
		if diff := cmp.Diff(alone[i], row[1:]); diff != "" {
			t.Errorf("the other columns (-alone +several):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"MEMBER", "north", "south"}, first); diff != "" {
		t.Errorf("the first column (-want +got):\n%s", diff)
	}
}
