package slotqueue

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// Command asks the queue for something.
//
//sumtype:decl
type Command interface{ command() }

// The commands. At is recorded; only Wake and Avoid depend on it. MarketRevision is
// that of the market event that led to the command, 0 if none did; of several
// commands that follow from one event only the last carries it.
type (
	// Queue offers slots of a request, in the order drawn for this host. With a
	// Refusal they are recorded as refused instead. Without a revision, a
	// repeated command offers again what a full queue let go the first time.
	Queue struct {
		At             time.Time
		RequestID      events.RequestID
		SlotIndices    []uint64
		Terms          Terms
		MarketRevision uint64
		Refusal        *Refusal
	}
	// Take gives the best slot to a worker, unless the queue is paused or
	// MaxWorkers slots are taken. Each Take takes another slot; only the
	// workers bound it.
	Take struct {
		At         time.Time
		MaxWorkers int
	}
	// Release ends a worker's hold on a slot. With Requeue the slot comes back,
	// as seen (but see rule 6). A slot that is not taken was released already.
	// Criterion is the one that the slot failed, empty if not known; RetryAt,
	// unless zero, is the chain time before which it is not worth considering
	// again.
	Release struct {
		At        time.Time
		RequestID events.RequestID
		SlotIndex uint64
		Outcome   string
		Requeue   bool
		Criterion string
		RetryAt   time.Time
	}
	// HandOut gives a taken slot to a member of the host, which is promised the collateral (rule 12).
	// ErrPromised: what is promised already, the collateral and Unpaid are more than Balance. A
	// slot stays with the member that it was handed to until its release: ErrNotYours, and also
	// if it is not taken.
	HandOut struct {
		At         time.Time
		RequestID  events.RequestID
		SlotIndex  uint64
		Member     events.Member
		Collateral events.Amount
		// Unpaid are the sales that have yet to pay; those whose collateral is promised here count
		// once. Balance is what the account holds.
		Unpaid  []Unpaid
		Balance events.Amount
	}
	// Unpaid is a sale whose collateral is not paid yet.
	Unpaid struct {
		RequestID  events.RequestID
		SlotIndex  uint64
		Collateral events.Amount
	}
	// Remove says that slots are no longer on offer; no indices mean all slots
	// of the request, whose refusal is then forgotten too.
	Remove struct {
		At             time.Time
		RequestID      events.RequestID
		SlotIndices    []uint64
		Reason         string
		MarketRevision uint64
	}
	// Wake says that slots that failed one of these criteria may fit now; none:
	// that any may. At is chain time: it decides for slots whose time had not
	// come, unless Early says that they need not wait for it.
	Wake struct {
		At       time.Time
		Reason   string
		Criteria []string
		Early    bool
	}
	// Avoid says that a client's requests are refused until a point in chain
	// time. A point before the known one changes nothing.
	Avoid struct {
		At     time.Time
		Client events.Address
		Until  time.Time
		Reason string
	}
	// Pause is given by the operator: nothing is taken until Resume.
	Pause struct {
		At     time.Time
		Reason string
	}
	// Resume is given by the operator: it ends every pause and makes all slots unseen.
	Resume struct {
		At     time.Time
		Reason string
	}
)

func (Queue) command()   {}
func (Take) command()    {}
func (Release) command() {}
func (HandOut) command() {}
func (Remove) command()  {}
func (Wake) command()    {}
func (Avoid) command()   {}
func (Pause) command()   {}
func (Resume) command()  {}
