package sim

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// rules are the host's cores with a check around them: every decision is checked when it is
// made, with the state that it was made on.
type rules struct {
	under actors.Cores
	codec *events.Codec
	// limits are the queue's.
	limits slotqueue.Limits

	mu    sync.Mutex
	wrong error // the first violation
}

func newRules(planted actors.Cores, queued int) *rules {
	r := &rules{under: planted, codec: catalog.Codec(), limits: slotqueue.Limits{MaxItems: queued}}
	if r.under.DecideSale == nil {
		r.under.DecideSale = sale.Decide
	}
	if r.under.DecideCapacity == nil {
		r.under.DecideCapacity = capacity.Decide
	}
	if r.under.DecideQueue == nil {
		r.under.DecideQueue = slotqueue.Decide
	}
	if r.under.DecideSector == nil {
		r.under.DecideSector = sector.Decide
	}
	if r.under.NextSale == nil {
		r.under.NextSale = sale.Next
	}
	return r
}

// cores returns the rules for the host.
func (r *rules) cores() actors.Cores {
	watched := r.under
	watched.DecideSale = func(s sale.State, c sale.Command) ([]sale.Event, error) {
		out, err := r.under.DecideSale(s, c)
		r.note(watch(r.codec, decision[sale.State, sale.Event]{
			state: s, command: c, out: out, err: err, evolve: sale.Evolve,
			again: func(s sale.State) ([]sale.Event, error) { return r.under.DecideSale(s, c) },
		}))
		return out, err
	}
	watched.DecideCapacity = func(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
		out, err := r.under.DecideCapacity(s, c)
		if len(out) == 0 && err == nil {
			return nil, nil
		}
		copied, broke := capacity.RestorePieces(capacity.Limits{}, s.Pieces()) // The fold changes what it is given.
		if broke != nil {
			r.note(broken(ReplayIsLive, "the ledger cannot be saved and loaded: %w", broke))
			return out, err
		}
		r.note(watch(r.codec, decision[capacity.State, capacity.Event]{
			state: copied, command: c, out: out, err: err, evolve: capacity.Evolve, check: capacity.State.Check,
			again: func(s capacity.State) ([]capacity.Event, error) { return r.under.DecideCapacity(s, c) },
		}))
		return out, err
	}
	watched.DecideQueue = func(s slotqueue.State, c slotqueue.Command) ([]slotqueue.Event, error) {
		out, err := r.under.DecideQueue(s, c)
		if len(out) == 0 && err == nil {
			return nil, nil
		}
		copied, broke := slotqueue.RestorePieces(r.limits, s.Pieces()) // The fold changes what it is given.
		if broke != nil {
			r.note(broken(ReplayIsLive, "the queue cannot be saved and loaded: %w", broke))
			return out, err
		}
		r.note(watch(r.codec, decision[slotqueue.State, slotqueue.Event]{
			state: copied, command: c, out: out, err: err, evolve: slotqueue.Evolve,
			again: func(s slotqueue.State) ([]slotqueue.Event, error) { return r.under.DecideQueue(s, c) },
		}))
		return out, err
	}
	watched.DecideSector = func(s sector.Info, c sector.Command) ([]sector.Event, error) {
		out, err := r.under.DecideSector(s, c)
		if refuses(out) {
			return out, err
		}
		r.note(watch(r.codec, decision[sector.Info, sector.Event]{
			state: s, command: c, out: out, err: err, evolve: sector.Evolve,
			again: func(s sector.Info) ([]sector.Event, error) {
				more, err := r.under.DecideSector(s, c)
				if refuses(more) {
					return nil, err
				}
				return more, err
			},
		}))
		return out, err
	}
	watched.NextSale = func(s sale.State) []sale.Effect {
		effects := r.under.NextSale(s)
		if s.Over() && len(effects) > 0 {
			r.note(broken(FinishedRests, "the sale of slot %s is over and wants %T", s.Slot.Short(), effects[0]))
		}
		return effects
	}
	return watched
}

// refuses reports whether what an operator wants is refused. That is recorded each time.
func refuses(out []sector.Event) bool {
	if len(out) != 1 {
		return false
	}
	_, refused := out[0].(*messages.SectorEventRefused)
	return refused
}

func (r *rules) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrong == nil {
		r.wrong = err
	}
}

// broken is the first violation.
func (r *rules) broken() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wrong
}

// decision is one call of a Decide.
type decision[S any, E proto.Message] struct {
	state   S
	command any
	out     []E
	err     error
	evolve  func(S, E) S
	check   func(S) error // nil: every state is in order
	again   func(S) ([]E, error)
}

// watch checks a decision: it brings events or an error, not both; the events can be stored and
// read back; Evolve takes them; and the same command brings nothing on the following state.
func watch[S any, E proto.Message](codec *events.Codec, d decision[S, E]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = broken(EvolveAccepts, "after %T the fold of %v panics: %v", d.command, d.out, p)
		}
	}()
	if d.err != nil && len(d.out) > 0 {
		return broken(EvolveAccepts, "%T brings %d events and the error %w", d.command, len(d.out), d.err)
	}
	if d.err != nil || len(d.out) == 0 {
		return nil
	}
	after := d.state
	for _, e := range d.out {
		if err := storable(codec, e); err != nil {
			return broken(EvolveAccepts, "%T brings an event that cannot be stored: %w", d.command, err)
		}
		after = d.evolve(after, e)
	}
	if d.check != nil {
		if err := d.check(after); err != nil {
			return broken(LedgerBalances, "after %T: %w", d.command, err)
		}
	}
	var all []E
	for range patience(d.command) {
		more, _ := d.again(after)
		if len(more) == 0 {
			return nil
		}
		all = append(all, more...)
		for _, e := range more {
			after = d.evolve(after, e)
		}
	}
	return broken(TwiceIsOnce, "%T brings %s and, given again, %s", d.command, names(d.out), names(all))
}

func names[E proto.Message](list []E) (names []string) {
	for _, e := range list {
		names = append(names, string(e.ProtoReflect().Descriptor().Name()))
	}
	return names
}

// patience is how many times a command may bring events: nearly always once. But the chain's
// report on a slot is compared with the record one difference at a time: first an unknown fill,
// then the start of the request. And taking from the queue gives another slot until every
// worker has one.
func patience(command any) int {
	switch c := command.(type) {
	case sale.ReportChain:
		return 3
	case slotqueue.Take:
		return c.MaxWorkers
	}
	return 1
}

func storable(codec *events.Codec, e proto.Message) error {
	name, version, data, err := codec.Encode(e)
	if err != nil {
		return err
	}
	read, err := codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	if err == nil && !proto.Equal(read, e) {
		err = fmt.Errorf("%v is read back as %v", e, read)
	}
	return err
}
