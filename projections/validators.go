package projections

import (
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// keptMarkings is how many settled markings of an account, the newest, are shown.
const keptMarkings = 100

// ValidatorsView shows what each account that validates did.
type ValidatorsView struct {
	AsOf       events.Position `json:"asOf"`
	Validators []Validator     `json:"validators"`
}

// Validator is what one account did. Rewards are token base units, fees are wei.
type Validator struct {
	Account string `json:"account"`
	// Since is when the settings were last changed, in chain time.
	Since      time.Time `json:"since"`
	MaxSlots   uint64    `json:"maxSlots"` // 0: no limit
	Groups     uint32    `json:"groups"`   // 0: all slots
	GroupIndex uint32    `json:"groupIndex"`
	// Marked counts the proofs that were marked, Failed those that were missing and
	// could not be marked.
	Marked  uint64 `json:"marked"`
	Failed  uint64 `json:"failed"`
	Rewards string `json:"rewards"`
	// FeesWei is what all mined transactions of markings cost, including those
	// that the contract refused.
	FeesWei string    `json:"feesWei"`
	Newest  []Marking `json:"newest"` // oldest first
}

// Marking is what became of a missing proof.
type Marking struct {
	Slot   string    `json:"slotId"`
	Period uint64    `json:"period"`
	At     time.Time `json:"at"` // chain time
	// Reward and TxHash are those of a marked proof; Reason is why a proof was not marked.
	Reward string `json:"reward,omitempty"`
	TxHash string `json:"txHash,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// validating is the fold behind the view.
type validating struct {
	Started            bool
	Since              time.Time
	MaxSlots           uint64
	Groups, GroupIndex uint32
	Marked, Failed     uint64
	Rewards, Fees      events.Amount
	Newest             []Marking
}

func (v *validating) fold(e messages.ValidatorEvent) {
	switch e := e.(type) {
	case *messages.ValidationStarted:
		v.Started, v.Since = true, at(e)
		v.MaxSlots, v.Groups, v.GroupIndex = e.GetMaxSlots(), e.GetGroups(), e.GetGroupIndex()
	case *messages.ProofMarked:
		v.Marked++
		v.Rewards = v.Rewards.AddSaturating(amount(e.GetReward()))
		v.show(Marking{
			Slot: e.GetSlotId(), Period: e.GetPeriod(), At: at(e),
			Reward: e.GetReward(), TxHash: e.GetReceipt().GetTxHash(),
		})
	case *messages.MarkingFailed:
		v.Failed++
		v.show(Marking{Slot: e.GetSlotId(), Period: e.GetPeriod(), At: at(e), Reason: e.GetReason()})
	}
}

func (v *validating) show(m Marking) { v.Newest, _ = recent(v.Newest, m, keptMarkings) }

// foldTx counts what a mined marking cost; before is what its row had before.
func (v *validating) foldTx(before events.Amount, now Transaction) {
	if strings.HasPrefix(now.Key, "mark:") {
		v.Fees = v.Fees.SubFloor(before).AddSaturating(now.FeeWei)
	}
}

// Validators is the view of what was marked.
func (v *Views) Validators() ValidatorsView {
	return ValidatorsView{v.asOf, rows(v, (*host).validated)}
}

func (h *host) validated(out []Validator) []Validator {
	v := h.validator
	if !v.Started {
		return out
	}
	return append(out, Validator{
		Account: h.address, Since: v.Since, MaxSlots: v.MaxSlots, Groups: v.Groups, GroupIndex: v.GroupIndex,
		Marked: v.Marked, Failed: v.Failed, Rewards: v.Rewards.String(), FeesWei: v.Fees.String(),
		Newest: append([]Marking{}, v.Newest...),
	})
}
