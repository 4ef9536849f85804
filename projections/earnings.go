package projections

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// EarningsView shows what each host earned and lost, over all its sales.
type EarningsView struct {
	AsOf     events.Position `json:"asOf"`
	Earnings []Earnings      `json:"earnings"`
}

// Earnings are the totals of one host. Amounts are token base units, except for
// the fees, which are wei.
type Earnings struct {
	Host    string `json:"host"`
	Rewards string `json:"rewards"`
	// RewardsElsewhere is the part of the rewards that went to another address, by
	// account.rewardRecipient.
	RewardsElsewhere string `json:"rewardsElsewhere"`
	// RepairRewards is the discount on the collateral of slots in repair;
	// ValidatorRewards is what marking missing proofs of other hosts brought.
	RepairRewards    string `json:"repairRewards"`
	ValidatorRewards string `json:"validatorRewards"`
	// CollateralLost and CollateralReturned are those of settled sales.
	// CollateralSlashed is what readings of the contract showed; it is part of what
	// is lost in the end.
	CollateralLost     string `json:"collateralLost"`
	CollateralReturned string `json:"collateralReturned"`
	CollateralSlashed  string `json:"collateralSlashed"`
	// Net is all rewards minus the collateral lost; it may be negative.
	Net string `json:"net"`
	// FeesWei is what all mined transactions cost, including failed ones;
	// SaleFeesWei is the part with receipts of sales.
	FeesWei      string `json:"feesWei"`
	SaleFeesWei  string `json:"saleFeesWei"`
	Transactions uint64 `json:"transactions"`
	Proofs       Proofs `json:"proofs"`
	Sales        Counts `json:"sales"`
}

// Counts counts the sales of a host by where they are, or how they were settled.
type Counts struct {
	Started   uint64 `json:"started"`
	Open      uint64 `json:"open"`
	Hosting   uint64 `json:"hosting"` // of the open ones
	Finished  uint64 `json:"finished"`
	Ignored   uint64 `json:"ignored"`
	Cancelled uint64 `json:"cancelled"`
	Failed    uint64 `json:"failed"`
	Errored   uint64 `json:"errored"`
}

// earnings is the fold behind the view.
type earnings struct {
	Income Income // in all
	Proofs Proofs
	Counts Counts
}

func (t *earnings) foldSale(after sale.State, e sale.Event, c dutyCounts) {
	t.Proofs.Due, t.Proofs.Excused, t.Proofs.Lapsed = c.to(t.Proofs.Due, t.Proofs.Excused, t.Proofs.Lapsed)
	switch e.(type) {
	case *messages.SaleStarted:
		t.Counts.Started++
	case *messages.ProofSubmitted:
		t.Proofs.Submitted++
	case *messages.ProofMissed:
		t.Proofs.Missed++
	case *messages.SaleSettled:
		t.settled(after.Phase)
	}
}

func (t *earnings) settled(as sale.Phase) {
	switch as {
	case sale.Finished:
		t.Counts.Finished++
	case sale.Ignored:
		t.Counts.Ignored++
	case sale.Cancelled:
		t.Counts.Cancelled++
	case sale.Failed:
		t.Counts.Failed++
	case sale.Errored:
		t.Counts.Errored++
	case sale.Unknown, sale.Preparing, sale.SlotReserving, sale.Downloading, sale.InitialProving,
		sale.Filling, sale.Filled, sale.Proving, sale.ProvingSimulated, sale.Payout:
	}
}

// Earnings is the view of what was earned.
func (v *Views) Earnings() EarningsView { return EarningsView{v.asOf, rows(v, (*host).earned)} }

func (h *host) earned(out []Earnings) []Earnings {
	t, i := h.earnings, h.earnings.Income
	row := Earnings{
		Host: h.address, Rewards: i.Rewards.String(), RewardsElsewhere: i.RewardsElsewhere.String(),
		RepairRewards: i.RepairRewards.String(), ValidatorRewards: i.ValidatorRewards.String(),
		CollateralLost: i.CollateralLost.String(), CollateralReturned: i.CollateralReturned.String(),
		CollateralSlashed: i.CollateralSlashed.String(), Net: i.Net(),
		FeesWei: i.FeesWei.String(), SaleFeesWei: i.SaleFeesWei.String(), Transactions: i.Transactions,
		Proofs: t.Proofs, Sales: t.Counts,
	}
	row.Sales.Open = uint64(len(h.sales.Open))
	for _, s := range h.sales.Open {
		row.Proofs.Open += uint64(len(s.State.Duties))
		if s.State.Hosting() {
			row.Sales.Hosting++
		}
	}
	return append(out, row)
}
