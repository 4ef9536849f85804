package members

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// This file takes a proof to the owner through the event store. A member that reaches no member that
// sends its proof writes it to a stream of its own, as ProofReady. The owner is told of it as of everything that other
// members write, and a new owner reads what was handed over before.
//
// Such an event decides nothing. It may be read late, twice, or never: the owner sends the proof as if it had
// been asked to, with the same key, and the member finds out from the contract that it was taken.

// Ready is a proof that a member has handed over to the owner.
type Ready struct {
	Member    events.Member // that made it, by the name of the stream
	Slot      events.SlotID
	Period    uint64
	Challenge events.Challenge
	Deadline  time.Time // of the chain
	Proof     events.Proof
}

const (
	// keptReady is how many proofs of a member stay readable: more than it makes in a period.
	keptReady = 4096
	// handOverTimeout is how long an append of one may take. Until its end the owner is not asked again.
	handOverTimeout = 3 * time.Second
)

// ReadyProofs are the proofs that wait in the event store for the owner. Safe for concurrent use.
type ReadyProofs struct {
	base    *shell.Base
	bounded atomic.Bool // this member's stream keeps only the newest
}

// NewReadyProofs returns the proofs that wait in a host's event store.
func NewReadyProofs(b *shell.Base) *ReadyProofs { return &ReadyProofs{base: b} }

// HandOver writes a proof of this member, whose name it need not have. The same proof may be handed over again.
// shell.ErrStoreAway: it was not tried.
func (p *ReadyProofs) HandOver(ctx context.Context, r Ready) error {
	b := p.base
	b.Yield(ctx, fmt.Sprintf("leave the proof of %s, %d", r.Slot.Short(), r.Period))
	if b.StoreWatch.Away() {
		return shell.ErrStoreAway
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer b.Clock.After(handOverTimeout, cancel)()
	stream := events.ProofsStream(b.Me, b.Member)
	name, version, data, err := b.Codec.Encode(&messages.ProofReady{
		SlotId: r.Slot.String(), Period: r.Period, Challenge: r.Challenge.String(),
		Deadline: events.TimeToMessage(r.Deadline), Proof: r.Proof.String(),
	})
	if err != nil {
		return err
	}
	meta := b.Metadata("")
	meta.Version = version
	_, err = b.Store.Append(ctx, stream, events.Any(), []events.NewEvent{{
		ID:   events.NewEventID(stream, fmt.Sprintf("%s:%d:%s", r.Slot, r.Period, r.Proof), 0),
		Type: name, Data: data, Meta: meta,
	}})
	if err != nil {
		return err
	}
	p.bound(ctx, stream)
	return nil
}

// bound lets the stream lose its old proofs. It is tried again with the next one.
func (p *ReadyProofs) bound(ctx context.Context, stream string) {
	if p.bounded.Load() {
		return
	}
	err := events.ChangeMetadata(ctx, p.base.Store, stream, func(m *events.StreamMetadata) bool {
		changed := m.MaxCount != keptReady
		m.MaxCount = keptReady
		return changed
	})
	p.bounded.Store(err == nil)
	if err != nil {
		p.base.Log.Debugf("old proofs for the owner stay in the event store: %v", err)
	}
}

// Read returns what an event of the record says; false: it is no proof of a member of this host.
func (p *ReadyProofs) Read(e events.Recorded) (r Ready, is bool, err error) {
	host, member, err := events.ParseProofsStream(e.Stream)
	if err != nil || host != p.base.Me {
		return r, false, nil //nolint:nilerr // It is another stream.
	}
	m, err := shell.DecodeAs[*messages.ProofReady](p.base.Codec, e)
	if err == nil && m.GetDeadline() == nil {
		err = fmt.Errorf("%w: a proof without a deadline", events.ErrMalformed)
	}
	if err != nil {
		return r, false, fmt.Errorf("read %s: %w: %w", e.Stream, shell.ErrUnreadable, err)
	}
	return Ready{
		Member: member, Slot: events.Must(events.ParseSlotID(m.GetSlotId())), Period: m.GetPeriod(),
		Challenge: events.Must(events.ParseChallenge(m.GetChallenge())),
		Deadline:  events.TimeFromMessage(m.GetDeadline()), Proof: events.Must(events.ParseProof(m.GetProof())),
	}, true, nil
}

// HandedOver returns the proofs that a member handed over, the newest first, back to the first one whose time was over
// before some time of the chain. What cannot be read is left out.
func (p *ReadyProofs) HandedOver(ctx context.Context, member events.Member, since time.Time) (all []Ready, err error) {
	stream := events.ProofsStream(p.base.Me, member)
	backward := events.ReadStream{From: events.End, Backward: true, Limit: keptReady}
	for e, err := range p.base.Store.ReadStream(ctx, stream, backward) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", stream, err)
		}
		r, is, err := p.Read(e)
		if err != nil {
			p.base.Log.Warnf("a proof of member %s is left alone: %v", member, err)
		}
		if !is {
			continue
		}
		if r.Deadline.Before(since) {
			break
		}
		all = append(all, r)
	}
	return all, nil
}
