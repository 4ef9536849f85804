package selling

import (
	"fmt"

	"github.com/hostnode/hostnode/events/sale"
)

// This file says what an agent does with a command in addition to having the core decide it.

// commandKind is what a command means to the agent. The core decides every command.
type commandKind uint8

const (
	plainCommand  commandKind = iota // nothing but what the core decides
	startCommand                     // the supervisor has just compared the sale with the chain
	dutyCommand                      // about a duty: the market may know more
	missCommand                      // closes a duty as missed
	damageCommand                    // data is damaged
	repairCommand                    // data is sound again
)

func kindOf(c sale.Command) commandKind {
	switch c.(type) {
	case sale.Start:
		return startCommand
	case sale.ReportProofDue, sale.ReportProofExcused:
		return dutyCommand
	case sale.ReportPeriodClosed, sale.ReportSilentPeriod:
		return missCommand
	case sale.ReportDamaged:
		return damageCommand
	case sale.ReportRepaired:
		return repairCommand
	case sale.ReportCapacity, sale.ReportNoCapacity, sale.ReportSlotReserved, sale.ReportNotReservable,
		sale.ReportStored, sale.ReportInitialProof, sale.ReportProofOutdated, sale.ReportFilled, sale.ReportNotFree,
		sale.GiveUp, sale.ReportExtended, sale.ReportProofSubmitted, sale.ReportCollateral, sale.ReportFreed,
		sale.ReportDeleted, sale.ReportSettled, sale.ReportChain, sale.Refill:
		return plainCommand
	}
	panic(fmt.Sprintf("a sales agent does not know %T", c))
}
