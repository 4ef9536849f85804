package outage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// slot is a slot that the contract counts as ours.
type slot struct {
	duty.Slot
	ref events.OwnedSlot
	// over: it owes no proofs, until the contract is asked again which slots are ours.
	over bool
	busy bool // a task runs
	// tried is the challenge of the last task; triedAt is the block at which the task began.
	tried   events.Challenge
	triedAt uint64
	// settled is the period whose proof is submitted; vain is the challenge that the stored
	// data cannot answer.
	settled uint64
	vain    events.Challenge
	made    events.ProofResult // the last proof
	trouble string             // of the last task; empty: none
}

// newSlot returns a slot as the contract describes it. The contract does not tell when it was
// filled. In the period of its filling, which counts as a proof, the market answers that the
// contract has the proof.
func newSlot(terms events.ProofConfig, o events.OwnedSlot) *slot {
	return &slot{ref: o, Slot: duty.Slot{
		ID: o.Slot, FilledAt: events.Unix(0), Probability: duty.Probability(terms, o.Request.Ask.ProofProbability),
	}}
}

// begins reports whether a task must begin. A failed one is tried again with the next block.
func (s *slot) begins(v duty.Verdict, head events.Head) bool {
	return v.Known && v.Owed && !s.over && !s.busy && s.settled != v.Period && s.vain != v.Challenge &&
		(s.tried != v.Challenge || s.triedAt < head.Number)
}

// Outcomes of a task other than a proof.
var (
	errOver  = errors.New("it is not ours, or owes nothing")
	errMoved = errors.New("the proof that was made is no longer owed")
)

// task proves one slot for one challenge.
func (k *keeper) task(ctx context.Context, s *slot, v duty.Verdict) {
	var sent bool
	err := shell.Caught(func() (err error) {
		sent, err = k.prove(ctx, s, v)
		return err
	})
	if ctx.Err() == nil {
		k.end(s, v, sent, err)
		k.look(ctx) // Another proof may be owed by now.
	}
}

// end notes the outcome of a task.
func (k *keeper) end(s *slot, v duty.Verdict, sent bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.busy, s.trouble = false, ""
	log := k.Log.WithField("slot", s.ID.String())
	switch {
	case err == nil:
		s.settled = v.Period
		if sent {
			k.proofs++
			log.Infof("without the event store: the proof of period %d is submitted", v.Period)
		}
	case errors.Is(err, errOver):
		s.over = true
		log.Infof("without the event store: the slot is not proven: %v", err)
	case errors.Is(err, errMoved), errors.Is(err, events.ErrInvalidProof), errors.Is(err, events.ErrDeadlinePassed):
		log.Infof("without the event store: the proof of period %d: %v", v.Period, err)
	case errors.Is(err, events.ErrBitRot), errors.Is(err, events.ErrNoSuchSlot):
		s.vain, s.trouble = v.Challenge, err.Error()
		k.alert(s, v.Period)
	default:
		s.trouble = err.Error()
		log.Warnf("without the event store: the proof of period %d failed, will try again: %v", v.Period, err)
	}
	k.Tell(k.facts())
}

// alert says that the proof of a period cannot be made.
func (k *keeper) alert(s *slot, period uint64) {
	a := health.Alert{
		Kind: health.AlertNotProving, At: time.Now(), Host: k.Market.Account().String(),
		Slot: s.ID.String(), Period: period,
		Text: fmt.Sprintf("the proof of period %d cannot be made: %s", period, s.trouble),
		Hint: "bring the event store back: the data is fetched again when the host has begun",
	}
	k.Log.WithField("alert", a.Kind).WithField("hint", a.Hint).WithField("slot", a.Slot).Error(a.Text)
	k.Alert(a)
}

// prove submits the proof that is owed. sent is false when the contract had it already.
func (k *keeper) prove(ctx context.Context, s *slot, v duty.Verdict) (sent bool, err error) {
	facts, err := patiently(ctx, k, func(ctx context.Context) (events.SlotFacts, error) {
		return k.Market.Slot(ctx, s.ref.Request.ID, s.ref.Index)
	})
	if err == nil {
		err = hosted(facts, k.Market.Account())
	}
	if err != nil {
		return false, fmt.Errorf("ask the chain about the slot: %w", err)
	}
	// It waits for transactions in flight.
	taken, err := k.Market.TakenProofs(ctx, s.ID, v.Period)
	if err != nil {
		return false, fmt.Errorf("ask which proofs the contract took: %w", err)
	}
	if slices.ContainsFunc(taken, func(t events.TakenProof) bool { return t.Period == v.Period }) {
		return false, nil
	}
	deadline := duty.Deadline(k.terms, v.Period)
	if err := k.make(ctx, s, v, deadline); err != nil {
		return false, err
	}
	if !k.owes(s, v) {
		return false, errMoved
	}
	_, err = k.Market.SubmitProof(ctx, events.SlotCall{
		Request: s.ref.Request.ID, Slot: s.ID, Index: s.ref.Index, Deadline: deadline, Challenge: v.Challenge,
	}, v.Period, s.made.Proof)
	switch {
	case errors.Is(err, events.ErrProofAlreadySubmitted):
		return false, nil
	case errors.Is(err, events.ErrNotOurSlot):
		return false, fmt.Errorf("%w: %w", errOver, err)
	case err != nil:
		return false, fmt.Errorf("submit the proof: %w", err)
	}
	return true, nil
}

// hosted returns an error if the contract wants no proofs of this account for a slot.
func hosted(f events.SlotFacts, me events.Address) error {
	switch {
	case f.SlotState != events.SlotFilled:
		return fmt.Errorf("%w: it is %s", errOver, f.SlotState)
	case f.Host != me:
		return fmt.Errorf("%w: its host is %s", errOver, f.Host)
	}
	return nil
}

// make makes the proof when the pool has room, unless it was made before.
func (k *keeper) make(ctx context.Context, s *slot, v duty.Verdict, deadline time.Time) error {
	leave, err := k.places.Enter(ctx, deadline)
	if err != nil {
		return err
	}
	defer leave()
	if s.made.Challenge == v.Challenge {
		return nil
	}
	if !k.owes(s, v) {
		return errMoved
	}
	made, err := k.Prover.Prove(ctx, events.ProofJob{
		Slot: s.ID, SlotIndex: s.ref.Index, DataSetRoot: s.ref.Request.Content.MerkleRoot, Challenge: v.Challenge,
	})
	if err != nil {
		return fmt.Errorf("make the proof: %w", err)
	}
	s.made = made
	return nil
}

// owes reports whether a slot still owes the same proof.
func (k *keeper) owes(s *slot, v duty.Verdict) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.pass.Verdict(&s.Slot)
	return now.Owed && now.Period == v.Period && now.Challenge == v.Challenge
}

// facts returns what is proven now.
func (k *keeper) facts() health.OutageFacts {
	f := health.OutageFacts{Proves: k.waits == "", Nothing: k.waits, Proofs: k.proofs}
	for _, s := range k.slots {
		if s.over {
			continue
		}
		f.Slots++
		if s.trouble != "" {
			f.Trouble = append(f.Trouble, health.SlotTrouble{Slot: s.ID, Reason: s.trouble})
		}
	}
	slices.SortFunc(f.Trouble, func(a, b health.SlotTrouble) int { return slices.Compare(a.Slot[:], b.Slot[:]) })
	return f
}
