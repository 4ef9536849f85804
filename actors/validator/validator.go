// Package validator runs the validator (events/validation) as an actor: for the rewards, it
// marks proofs that other hosts owed and did not submit. Nothing of the host waits for it.
package validator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/validation"
	"github.com/hostnode/hostnode/messages"
)

// Validator marks proofs that other hosts owed and did not submit. It runs beside the host, for
// the same account.
//
// It folds from the market's stream which slots may owe a proof. With each new block, while the
// marking window of a period is open, it computes which of them owed a proof in that period and
// were not seen to submit it. It asks the contract about all of these at once, and marks those
// that are missing. The outcome of each marking is recorded; at the start the market is asked
// for markings sent before a crash.
type Validator struct {
	Deps
	journal *shell.Journal[validation.State, validation.Command, validation.Event]

	watch   *validation.Watch
	history marketHistory
	ours    map[events.SlotID]bool
	// received are the proofs that the contract was seen to take, with their blocks.
	received map[proofKey]uint64
	// open are the proofs that the contract called missing, until the outcome of their markings
	// is recorded.
	open    map[proofKey]*marking
	asking  map[uint64]bool // periods about which the contract is being asked
	effects *shell.Effects[events.Marking, *marking]
	pool    *shell.Pool
	// resumed: what was sent before a crash is known.
	begun, resumed bool
	skipping       bool
	// watching and skipped are the numbers of such slots at the last look.
	watching, skipped uint64
}

// Deps are what a validator needs.
type Deps struct {
	*chainview.Chain
	Validation port.Validation
	Settings   validation.Settings
	// Stream is the market's stream.
	Stream string
	// Reads bounds the calls on the chain that run at once.
	Reads *shell.Pool
	// Ours are the slots of this host; they are not watched.
	Ours []events.SlotID
	// Publish is called whenever the status may have changed.
	Publish func(Status)
	// Broken is called when the validator's record, or the market's, cannot be read.
	Broken func(error)
}

// proofKey identifies a proof.
type proofKey struct {
	slot   events.SlotID
	period uint64
}

// marking is a missing proof that is to be marked.
type marking struct {
	proof events.MissingProof
	tries int
}

// Limits of a validator.
const (
	// maxMarkings is how many markings run at once: half of what the transaction
	// manager lets wait, so that the host's own transactions always find room.
	maxMarkings = 512
	// maxReverts is how often a marking is sent that the contract reverts although it said that
	// the proof is missing: each costs gas.
	maxReverts = 3
	// maxReceived is how many proofs of others are remembered, some 100 MB; about others the
	// contract is asked.
	maxReceived = 1_000_000
)

// Messages to the validator.
type (
	// News is what the chain says: that the market's record grew, that the chain was
	// reorganised down to an ancestor, or that there is a new block, with the proofs in it.
	News struct {
		Grew     bool
		Rewound  bool
		Ancestor uint64
		Proofs   []*messages.ChainProofSubmitted
		Live     bool // the block is the newest one
		Head     events.Head
	}
	// missingTold is the contract's answer about a period.
	missingTold struct {
		period uint64
		slots  []events.SlotRef
		err    error
	}
	// sentTold are the markings that earlier processes sent.
	sentTold struct{ proofs []events.MissingProof }
)

// New returns the actor of a validator.
func New(e Deps) *Validator {
	v := &Validator{
		Deps: e, watch: validation.NewWatch(e.Settings), ours: map[events.SlotID]bool{},
		received: map[proofKey]uint64{}, open: map[proofKey]*marking{}, asking: map[uint64]bool{},
		pool: shell.NewPool("markings", maxMarkings),
	}
	v.effects = &shell.Effects[events.Marking, *marking]{
		Base: e.Base, Ended: v.onMarked, Act: func(*shell.Turn) {}, // Each block has what is open marked.
	}
	for _, slot := range e.Ours {
		v.ours[slot] = true
	}
	v.journal = &shell.Journal[validation.State, validation.Command, validation.Event]{
		Machine: shell.Machine[validation.State, validation.Command, validation.Event]{
			Empty:  func() validation.State { return validation.State{} },
			Decide: validation.Decide, Evolve: validation.Evolve,
			Keeps: func(validation.Command) bool { return true }, // What happened on chain stays true.
		},
		Stream: events.ValidatorStream(e.Me), Store: e.Store, Codec: e.Codec, StoreWatch: e.StoreWatch,
		Confirm: e.HasTerm,
		Meta: func(_ validation.State, ev validation.Event) events.Metadata {
			if m, ok := ev.(interface{ GetRequestId() string }); ok {
				return e.Metadata(m.GetRequestId())
			}
			return e.Metadata("")
		},
		OnDurable: v.onDurable,
		OnBroken:  func(_ *shell.Turn, err error) { e.Broken(err) },
	}
	return v
}

// Ended ends the calls of the validator: its successor begins its own.
func (v *Validator) Ended() { v.effects.Cancel() }

// Receive implements shell.Behavior.
func (v *Validator) Receive(a *shell.Turn, msg any) {
	defer v.publish()
	if v.journal.Handle(a, msg) || v.effects.Handle(a, msg) {
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		v.journal.Load(a)
	case News:
		v.onNews(a, m)
	case sales.Changed:
		if m.State.Over() {
			delete(v.ours, m.Slot)
		} else {
			v.ours[m.Slot] = true
		}
	case marketRead:
		v.onMarket(a, m)
	case missingTold:
		v.onMissing(a, m)
	case sentTold:
		v.resumed = true
		for _, proof := range m.proofs {
			if !v.journal.Durable.Settled(proof.Slot, proof.Period) {
				v.mark(a, proof)
			}
		}
	}
}

// onDurable begins the work when the record is loaded.
func (v *Validator) onDurable(a *shell.Turn, _ []validation.Event) {
	if !v.begun {
		v.begun = true
		v.journal.Submit(a, validation.Start{At: v.ChainTime(), Settings: v.Settings}, "start",
			func(shell.Result[validation.State, validation.Event]) {})
		v.readOn(a)
		v.resume(a)
	}
}

// resume asks which markings were sent before: a process may have died between sending and
// recording.
func (v *Validator) resume(a *shell.Turn) {
	self := a.Self
	a.Do(func(ctx context.Context) {
		var sent []events.MissingProof
		err := v.Retry(ctx, "validator resumes",
			func(err error) { v.Log.Warnf("look for earlier markings, will try again: %v", err) },
			func(error) bool { return false },
			func(ctx context.Context) (err error) {
				sent, err = v.Validation.Sent(ctx)
				return err
			})
		if err == nil {
			self.Tell(sentTold{sent})
		}
	})
}

func (v *Validator) onNews(a *shell.Turn, m News) {
	switch {
	case m.Grew:
		v.readOn(a)
		return
	case m.Rewound:
		maps.DeleteFunc(v.received, func(_ proofKey, block uint64) bool { return block > m.Ancestor })
		return
	}
	for _, p := range m.Proofs {
		v.onProof(p)
	}
	if m.Live && m.Head.Number >= v.View.Now().Number { // Otherwise a newer block is on its way.
		v.look(a, m.Head)
	}
}

func (v *Validator) onProof(p *messages.ChainProofSubmitted) {
	slot := events.Must(events.ParseSlotID(p.GetSlotId()))
	if !v.Settings.Mine(slot) || len(v.received) >= maxReceived {
		return
	}
	at := events.TimeFromMessage(p.GetLog().GetTime())
	v.received[proofKey{slot, duty.Period(v.Terms.Proofs, at)}] = p.GetLog().GetBlock()
}

// look does what a new block allows.
func (v *Validator) look(a *shell.Turn, head events.Head) {
	v.closeWindows(head)
	watched := v.show(head)
	if !v.resumed || !v.history.done || v.StoreWatch.Away() { // Nothing begins while the event store is away.
		return
	}
	// A failed marking may have been mined all the same. Then the contract no longer says that
	// the proof is missing, and only the market knows the reward. It also says when a window is
	// closed.
	for _, k := range v.openKeys() {
		v.mark(a, v.open[k].proof)
	}
	for _, period := range duty.Markable(v.Terms.Proofs, head) {
		v.ask(a, head, period, watched)
	}
}

// closeWindows forgets what only open windows need.
func (v *Validator) closeWindows(head events.Head) {
	maps.DeleteFunc(v.received, func(k proofKey, _ uint64) bool {
		return duty.LastMarking(v.Terms.Proofs, k.period).Before(head.Time)
	})
	v.watch.Prune(head.Time)
}

// openKeys returns the keys of open in a fixed order, so that a simulated run can be repeated.
func (v *Validator) openKeys() []proofKey {
	return slices.SortedFunc(maps.Keys(v.open), func(a, b proofKey) int {
		return cmp.Or(cmp.Compare(a.period, b.period), a.slot.Compare(b.slot))
	})
}

// ask asks the contract about the slots that may miss the proof of a period, including those
// whose challenge cannot be computed.
func (v *Validator) ask(a *shell.Turn, head events.Head, period uint64, watched []validation.Slot) {
	if v.asking[period] {
		return
	}
	var candidates []events.SlotRef
	for _, s := range watched {
		k := proofKey{s.Slot, period}
		marking := v.effects.Of(events.MarkCause(k.slot, k.period)) != nil
		if _, came := v.received[k]; came || marking || v.journal.Ahead.Settled(k.slot, k.period) {
			continue
		}
		owed, known := duty.MarkedAfter(v.Terms.Proofs, duty.Slot{
			ID: s.Slot, FilledAt: s.FilledAt, Probability: duty.Probability(v.Terms.Proofs, s.ProofProbability),
		}, head, period, v.View.At)
		if owed || !known {
			candidates = append(candidates, s.SlotRef)
		}
	}
	if len(candidates) == 0 {
		return
	}
	v.asking[period] = true
	self := a.Self
	a.Do(func(ctx context.Context) {
		v.Yield(ctx, fmt.Sprintf("missing proofs of period %d", period))
		missing, err := shell.In(ctx, v.Reads, duty.LastMarking(v.Terms.Proofs, period),
			func() ([]events.SlotRef, error) { return v.Validation.Missing(ctx, candidates, period) })
		if ctx.Err() == nil {
			self.Tell(missingTold{period, missing, err})
		}
	})
}

func (v *Validator) onMissing(a *shell.Turn, m missingTold) {
	delete(v.asking, m.period)
	if m.err != nil { // It is asked again at the next block.
		v.Log.WithField("period", m.period).Warnf("ask the contract for missing proofs: %v", m.err)
		return
	}
	for _, slot := range m.slots {
		v.mark(a, events.MissingProof{SlotRef: slot, Period: m.period})
	}
}
