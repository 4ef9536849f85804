package main

import (
	"fmt"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
)

// validatorRows are the rows of the status about a validator.
func validatorRows(v *api.Validator) [][]string {
	if v == nil {
		return nil
	}
	does := "off; it is switched on with hostnode run --validator"
	switch {
	case v.Trouble != "":
		does = "STOPPED: " + v.Trouble
	case v.Enabled && !v.Ready:
		does = "reading what the market said before"
	case v.Enabled:
		does = fmt.Sprintf("watching %s of other hosts", cli.Count(v.Watching, "slot"))
		if v.Groups > 0 {
			does += fmt.Sprintf(" in group %d of %d", v.GroupIndex, v.Groups)
		}
		if v.Skipped > 0 {
			does += fmt.Sprintf(", %d skipped beyond validator.maxSlots = %d", v.Skipped, v.MaxSlots)
		}
		if v.Marking > 0 {
			does += fmt.Sprintf(", %d being marked", v.Marking)
		}
	}
	return [][]string{
		{"validator", does},
		{"  marked", fmt.Sprintf("%s for %s, %s paid for gas; %d could not be marked",
			cli.Count(v.Marked, "missing proof"), money.Base(v.Rewards), money.Wei(v.FeesWei), v.Failed)},
	}
}
