// Package validation is the pure core of a validator: an account that marks the
// missing proofs of other hosts, for a part of what the contract slashes
// (spec/marketplace.md §5.5, §6.4).
//
// It has two parts. Watch folds the market's events into the slots that may owe
// proofs; it is not recorded, because the market's stream is. State folds the
// validator's own stream: what it marked, what it could not mark, and the
// rewards. The rules of State:
//
//  1. A proof, that is a slot and a period, is marked once. Marking it again
//     brings no second event, so that a report that is repeated after a crash
//     counts once.
//  2. A failure is recorded once, and never after the proof was marked. A marking
//     after a failure is recorded, because the reward was paid.
//  3. Settings are recorded when they have changed.
//
// The package has no clock and does no I/O.
package validation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Event is an event of a validator.
type Event = messages.ValidatorEvent

// ErrNotStarted: a command that comes before the validator's start.
var ErrNotStarted = errors.New("the validator has not started")

// maxRemembered is how many proofs, the newest, are remembered one by one. It
// is more than an account can mark in a day, and some 2 MB.
const maxRemembered = 16_384

// Settings say which slots a validator watches.
type Settings struct {
	// MaxSlots is the most slots; 0: no limit.
	MaxSlots uint64
	// Groups is the number of validators among which all slots are divided; 0:
	// they are not divided. GroupIndex is the group of this one, from 0.
	Groups, GroupIndex uint32
}

// Mine reports whether a slot is in this validator's group: the first eight
// bytes of its id, as a big-endian number, modulo the number of groups.
func (s Settings) Mine(slot events.SlotID) bool {
	return s.Groups == 0 || binary.BigEndian.Uint64(slot[:8])%uint64(s.Groups) == uint64(s.GroupIndex)
}

// Command is a command to a validator.
//
//sumtype:decl
type Command interface{ command() }

// The commands. At is chain time.
type (
	// Start says with which settings slots are watched from now on.
	Start struct {
		At       time.Time
		Settings Settings
	}
	// ReportMarked says that the contract took a marking.
	ReportMarked struct {
		At      time.Time
		Proof   events.MissingProof
		Marking events.Marking
	}
	// ReportFailed says that a missing proof was not marked by us.
	ReportFailed struct {
		At     time.Time
		Proof  events.MissingProof
		Reason string
	}
)

func (Start) command()        {}
func (ReportMarked) command() {}
func (ReportFailed) command() {}

// key names a proof.
type key struct {
	slot   events.SlotID
	period uint64
}

// State is what a validator did. The zero State has not started. States share
// memory: after Evolve only its result may be used.
type State struct {
	Started  bool
	Since    time.Time // of the settings
	Settings Settings
	// Marked and Failed count proofs, Rewards are base units, FeesWei is the gas of
	// the markings.
	Marked, Failed   uint64
	Rewards, FeesWei events.Amount

	settled map[key]bool // true: marked
	order   []key        // of settled, the oldest first
	// forgotten is the highest period that is not remembered completely; all
	// periods up to it count as settled.
	forgotten uint64
}

// Settled reports whether something is recorded about a proof, or the proof is
// too old to be remembered.
func (s State) Settled(slot events.SlotID, period uint64) bool {
	_, known := s.settled[key{slot, period}]
	return known || period <= s.forgotten
}

// marked reports whether a marking must not be recorded (again).
func (s State) marked(slot events.SlotID, period uint64) bool {
	marked, known := s.settled[key{slot, period}]
	return marked || !known && period <= s.forgotten
}

// Decide returns the events that follow from c. It returns none when c is
// already true, because reports can come twice.
func Decide(s State, c Command) ([]Event, error) {
	switch c := c.(type) {
	case Start:
		if s.Started && s.Settings == c.Settings {
			return nil, nil
		}
		return []Event{&messages.ValidationStarted{
			At: events.TimeToMessage(c.At), MaxSlots: c.Settings.MaxSlots,
			Groups: c.Settings.Groups, GroupIndex: c.Settings.GroupIndex,
		}}, nil
	case ReportMarked:
		if !s.Started {
			return nil, fmt.Errorf("report a marking: %w", ErrNotStarted)
		}
		if s.marked(c.Proof.Slot, c.Proof.Period) {
			return nil, nil
		}
		return []Event{&messages.ProofMarked{
			At: events.TimeToMessage(c.At), RequestId: c.Proof.Request.String(), SlotId: c.Proof.Slot.String(),
			SlotIndex: c.Proof.Index, Period: c.Proof.Period, Reward: c.Marking.Reward.String(),
			Receipt: events.ReceiptToMessage(c.Marking.Receipt),
		}}, nil
	case ReportFailed:
		if !s.Started {
			return nil, fmt.Errorf("report a failed marking: %w", ErrNotStarted)
		}
		if s.Settled(c.Proof.Slot, c.Proof.Period) {
			return nil, nil
		}
		return []Event{&messages.MarkingFailed{
			At: events.TimeToMessage(c.At), RequestId: c.Proof.Request.String(), SlotId: c.Proof.Slot.String(),
			SlotIndex: c.Proof.Index, Period: c.Proof.Period, Reason: c.Reason,
		}}, nil
	}
	panic(fmt.Sprintf("validation: unknown command %T", c))
}

// Evolve folds one event.
func Evolve(s State, e Event) State {
	switch e := e.(type) {
	case *messages.ValidationStarted:
		s.Started, s.Since = true, events.TimeFromMessage(e.GetAt())
		s.Settings = Settings{e.GetMaxSlots(), e.GetGroups(), e.GetGroupIndex()}
	case *messages.ProofMarked:
		s.Marked++
		s.Rewards = s.Rewards.AddSaturating(amount(e.GetReward()))
		s.FeesWei = s.FeesWei.AddSaturating(amount(e.GetReceipt().GetFeeWei()))
		s = s.settle(slotOf(e.GetSlotId()), e.GetPeriod(), true)
	case *messages.MarkingFailed:
		s.Failed++
		s = s.settle(slotOf(e.GetSlotId()), e.GetPeriod(), false)
	}
	return s
}

// settle remembers the outcome for a proof, and forgets the oldest.
func (s State) settle(slot events.SlotID, period uint64, marked bool) State {
	if s.settled == nil {
		s.settled = map[key]bool{}
	}
	k := key{slot, period}
	if _, known := s.settled[k]; !known {
		s.order = append(s.order, k)
	}
	s.settled[k] = s.settled[k] || marked
	if len(s.order) > maxRemembered {
		oldest := s.order[0]
		s.order = s.order[1:]
		delete(s.settled, oldest)
		s.forgotten = max(s.forgotten, oldest.period)
	}
	return s
}

func slotOf(text string) events.SlotID { return events.Must(events.ParseSlotID(text)) }

// amount parses an amount that the codec has checked; empty, as without a receipt, is zero.
func amount(text string) events.Amount {
	if text == "" {
		return events.Amount{}
	}
	return events.Must(events.ParseAmount(text))
}
