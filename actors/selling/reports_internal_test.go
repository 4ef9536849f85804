package selling

import (
	"testing"

	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/internal/housetest"
)

// A command about a duty that waits for the market's answer is kept once, however often the
// scheduler sends it.
func TestACommandAboutADutyIsTheSameWhenItIsRepeated(t *testing.T) {
	of := map[commandKind][]sale.Command{
		startCommand:  {sale.Start{}},
		dutyCommand:   {sale.ReportProofDue{}, sale.ReportProofExcused{}},
		missCommand:   {sale.ReportPeriodClosed{}, sale.ReportSilentPeriod{}},
		damageCommand: {sale.ReportDamaged{}},
		repairCommand: {sale.ReportRepaired{}},
		plainCommand: {
			sale.ReportCapacity{},
			sale.ReportNoCapacity{},
			sale.ReportSlotReserved{},
			sale.ReportNotReservable{},
			sale.ReportStored{},
			sale.ReportInitialProof{},
			sale.ReportProofOutdated{},
			sale.ReportFilled{},
			sale.ReportNotFree{},
			sale.GiveUp{},
			sale.ReportExtended{},
			sale.ReportProofSubmitted{},
			sale.ReportCollateral{},
			sale.ReportFreed{},
			sale.ReportDeleted{},
			sale.ReportSettled{},
			sale.ReportChain{},
			sale.Refill{},
		},
	}
	var all []sale.Command
	for kind, commands := range of {
		for _, c := range commands {
			if got := kindOf(c); got != kind {
				t.Errorf("%T is of kind %d, want %d", c, got, kind)
			}
			if held := kind == dutyCommand || kind == missCommand; sameDuty(c, c) != held {
				t.Errorf("%T is told of the same duty twice: %t, want %t", c, !held, held)
			}
		}
		all = append(all, commands...)
	}
	housetest.Complete(t, "../../events/sale", "given", all, "commands of which it is said what kind they are")
}
