package selling

import (
	"fmt"

	"github.com/hostnode/hostnode/events/sale"
)

// This file says what an agent does with a command in addition to having the core decide it.

// news is what a command means to the agent. The core decides every command.
type news uint8

const (
	plainNews  news = iota // nothing but what the core decides
	startNews              // the supervisor has just compared the sale with the chain
	dutyNews               // about a duty: the market may know more
	missNews               // closes a duty as missed
	damageNews             // data is damaged
	repairNews             // data is sound again
)

func newsOf(c sale.Command) news {
	switch c.(type) {
	case sale.Start:
		return startNews
	case sale.ReportProofDue, sale.ReportProofExcused:
		return dutyNews
	case sale.ReportPeriodClosed, sale.ReportSilentPeriod:
		return missNews
	case sale.ReportDamaged:
		return damageNews
	case sale.ReportRepaired:
		return repairNews
	case sale.ReportCapacity, sale.ReportNoCapacity, sale.ReportSlotReserved, sale.ReportNotReservable,
		sale.ReportStored, sale.ReportInitialProof, sale.ReportProofOutdated, sale.ReportFilled, sale.ReportNotFree,
		sale.GiveUp, sale.ReportExtended, sale.ReportProofSubmitted, sale.ReportCollateral, sale.ReportFreed,
		sale.ReportDeleted, sale.ReportSettled, sale.ReportChain, sale.Refill:
		return plainNews
	}
	panic(fmt.Sprintf("a sales agent does not know %T", c))
}
