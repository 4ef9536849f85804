package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file makes parts of the host panic, drawn with random numbers of its own: an actor at
// one message, once; or a rule at one input, each time, until the run is calm.

// The kinds of panics. The first is counted by actor and message, the second by rule.
const (
	faultPanic  = "panic"
	faultPoison = "poison"
)

// What can be poisoned.
const (
	poisonedQueue  = "queue"
	poisonedLedger = "ledger"
	poisonedSale   = "sale"
	poisonedDuties = "duties"
)

// life is how far an actor that panicked has recovered.
type life int

const (
	panicked life = iota + 1
	loaded
)

const supervisorName = "Supervisor"

// metLately is for how many steps a message counts as likely to come again.
const metLately = 400

// encounter is a kind of message that an actor receives.
type encounter struct{ actor, message string }

// kind is the encounter without the particular sale.
func (e encounter) kind() encounter {
	e.actor, _, _ = strings.Cut(e.actor, " ")
	return e
}

func (e encounter) String() string { return e.actor + " " + e.message }

// poison is what a rule panics on: the commands of one type about one thing, which is the first
// that comes or a chosen slot.
type poison struct {
	rule, command, input string
	struck               bool
}

// panics makes parts of one host panic. The host's actors call it concurrently.
type panics struct {
	rng *rand.Rand

	mu    sync.Mutex
	step  int
	met   map[encounter]int // the step in which it last came
	kinds map[encounter]int // how often each came
	armed *encounter
	aim   *encounter // a kind at which a test wants one panic
	// commands are the command types that each rule has decided.
	commands map[string]map[string]bool
	poisons  []*poison
	spoilt   map[events.SlotID]bool // their sales, or their duties, cannot be computed
	// down says of actors that panicked whether they have read their record again. Appends that
	// were in flight then may be stored later.
	down map[string]life
	// shaken are sectors that panicked, and where the record ended then: after another panic they are left alone, unless
	// they have recorded something in between.
	shaken map[string]events.Position
	// fell: the supervisor panicked, so the host ends and must be started again.
	fell bool
	// brittle is an error planted in the supervisor: it panics with every child.
	brittle bool
	struck  []Fault // since the simulator last looked
}

func newPanics(seed uint64, brittle bool) *panics {
	return &panics{
		rng: rand.New(rand.NewPCG(seed, 3)), met: map[encounter]int{}, brittle: brittle,
		commands: map[string]map[string]bool{}, spoilt: map[events.SlotID]bool{},
		down: map[string]life{}, kinds: map[encounter]int{}, shaken: map[string]events.Position{},
	}
}

// meets is actors.Config.BeforeMessage.
func (p *panics) meets(actor string, msg any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	message, _, _ := strings.Cut(fmt.Sprintf("%T", msg), "[")
	message = message[strings.LastIndex(message, ".")+1:] // Without the package.
	e := encounter{actor, message}
	if message == "Loaded" && p.down[actor] == panicked {
		p.down[actor] = loaded
	}
	p.met[e] = p.step
	p.kinds[e.kind()]++
	if p.brittle && actor == supervisorName && e.message == "ChildFailed" {
		panic("planted: the supervisor falls with its child")
	}
	aimed := p.aim != nil && *p.aim == e.kind()
	if !aimed && (p.armed == nil || *p.armed != e) {
		return
	}
	if aimed {
		p.aim = nil
	}
	p.armed, p.down[actor] = nil, panicked
	if strings.HasPrefix(actor, "Sector ") {
		p.shaken[actor] = events.EndPosition
	}
	if actor == sectors.Name { // Its children end with it.
		for e := range p.met {
			if strings.HasPrefix(e.actor, "Sector ") {
				p.down[e.actor] = panicked
			}
		}
	}
	p.fell = p.fell || actor == supervisorName
	p.struck = append(p.struck, Fault{faultPanic, e.kind().String()})
	panic("simulated, at " + e.String())
}

// arm chooses what panics next: first the kind of actor, then the message.
func (p *panics) arm() *encounter {
	p.mu.Lock()
	defer p.mu.Unlock()
	var actorKinds []string
	byKind := map[string][]encounter{}
	for e, step := range p.met {
		_, shaken := p.shaken[e.actor]
		if kind := e.kind().actor; p.step-step <= metLately && !shaken {
			byKind[kind] = append(byKind[kind], e)
		}
	}
	if actorKinds = slices.Sorted(maps.Keys(byKind)); len(actorKinds) == 0 {
		return nil
	}
	of := byKind[actorKinds[p.rng.IntN(len(actorKinds))]]
	slices.SortFunc(of, func(a, b encounter) int { return cmp.Compare(a.String(), b.String()) })
	p.armed = &of[p.rng.IntN(len(of))]
	return p.armed
}

// spoil chooses what is poisoned from now on; nil if there is nothing to choose from.
func (p *panics) spoil(living []events.SlotID) *poison {
	p.mu.Lock()
	defer p.mu.Unlock()
	rule := []string{poisonedQueue, poisonedLedger, poisonedSale, poisonedDuties}[p.rng.IntN(4)]
	n := &poison{rule: rule}
	switch known := slices.Sorted(maps.Keys(p.commands[rule])); {
	case rule == poisonedSale || rule == poisonedDuties:
		if len(living) == 0 {
			return nil
		}
		slot := living[p.rng.IntN(len(living))]
		p.spoilt[slot], n.input = true, slot.String()
	case len(known) == 0:
		return nil
	default:
		n.command = known[p.rng.IntN(len(known))]
	}
	p.poisons = append(p.poisons, n)
	return n
}

// cure ends all poisoning.
func (p *panics) cure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.aim, p.poisons = nil, nil, nil
}

// taste panics when a rule is given poisoned input.
func (p *panics) taste(rule string, command any, input string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := fmt.Sprintf("%T", command)
	if p.commands[rule] == nil {
		p.commands[rule] = map[string]bool{}
	}
	p.commands[rule][name] = true
	for _, n := range p.poisons {
		if n.rule != rule || n.command != "" && n.command != name || n.input != "" && n.input != input {
			continue
		}
		if actor := map[string]string{poisonedQueue: "SlotQueue", poisonedLedger: "Reservations"}[rule]; actor != "" {
			p.down[actor] = panicked
		}
		if n.input = input; !n.struck {
			n.struck = true
			p.struck = append(p.struck, Fault{faultPoison, rule})
		}
		panic(fmt.Sprintf("simulated: %s %s about %s", rule, name, input))
	}
}

// inputOf says what a command is about, by its identifying fields.
func inputOf(command any) string {
	v := reflect.ValueOf(command)
	input := ""
	for _, name := range []string{"Reservation", "Slot", "RequestID", "SlotIndex", "ID", "Client"} {
		if f := v.FieldByName(name); f.IsValid() {
			input += fmt.Sprintf(" %v", f)
		}
	}
	return strings.TrimSpace(input)
}

// poisoned returns rules that panic on poisoned input.
func (p *panics) poisoned(c actors.Cores) actors.Cores {
	decideSale, decideCapacity, decideQueue := c.DecideSale, c.DecideCapacity, c.DecideQueue
	c.DecideSale = func(s sale.State, c sale.Command) ([]sale.Event, error) {
		p.taste(poisonedSale, c, s.Slot.String())
		return decideSale(s, c)
	}
	c.DecideCapacity = func(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
		p.taste(poisonedLedger, c, inputOf(c))
		return decideCapacity(s, c)
	}
	c.DecideQueue = func(s slotqueue.State, c slotqueue.Command) ([]slotqueue.Event, error) {
		p.taste(poisonedQueue, c, inputOf(c))
		return decideQueue(s, c)
	}
	c.Verdict = func(pass *duty.Pass, s *duty.Slot) duty.Verdict {
		p.taste(poisonedDuties, s, s.ID.String())
		return pass.Verdict(s)
	}
	return c
}

// panicSome may choose what panics from now on, and counts the panics that occurred.
func (s *simulator) panicSome() {
	p := s.panics
	p.mu.Lock()
	p.step = s.steps
	for actor, since := range p.shaken {
		var n uint64
		_, _ = fmt.Sscanf(actor, "Sector %d", &n) // It begins like that.
		if since == events.EndPosition {
			p.shaken[actor] = s.audit.after
		} else if s.audit.recorded[n] > since {
			delete(p.shaken, actor)
		}
	}
	struck := p.struck
	p.struck = nil
	p.mu.Unlock()
	for _, f := range struck {
		clear(s.answered)
		s.trouble(f.Kind, f.Where, "%s at %s", f.Kind, f.Where)
	}
	if s.calm() {
		p.cure()
		return
	}
	if s.running() == nil || s.stopping {
		return
	}
	if p.rng.IntN(1000) < s.Panic {
		if e := p.arm(); e != nil {
			s.note("%s is about to panic", e)
		}
	}
	if p.rng.IntN(1000) < s.Poison {
		if n := p.spoil(s.living()); n != nil {
			s.note("poison for the %s: %s %s", n.rule, n.command, n.input)
		}
	}
}

// living returns the slots whose sales are not over, in a fixed order.
func (s *simulator) living() (slots []events.SlotID) {
	for _, slot := range slices.SortedFunc(maps.Keys(s.audit.sales), compareSlots) {
		if !s.audit.sales[slot].Over() {
			slots = append(slots, slot)
		}
	}
	return slots
}

// spoils reports whether the sale of a slot, or its duties, were poisoned.
func (s *simulator) spoils(slot events.SlotID) bool {
	s.panics.mu.Lock()
	defer s.panics.mu.Unlock()
	return s.panics.spoilt[slot]
}

// lags reports whether the state of an actor may differ from its record. After a panic it may,
// until the actor has read the record again and none of its earlier appends is in flight.
func (s *simulator) lags(actor, stream, diff string) (excused bool) {
	s.world.mu.Lock()
	trying := s.world.trying[stream]
	s.world.mu.Unlock()
	s.panics.mu.Lock()
	defer s.panics.mu.Unlock()
	if diff == "" && s.panics.down[actor] == loaded && !trying {
		delete(s.panics.down, actor)
	}
	return s.panics.down[actor] != 0
}

// checkLives: no panic ends the host, except one of the supervisor, which ends it with an
// error.
func (s *simulator) checkLives() error {
	h := s.running()
	if h == nil || s.stopping {
		return nil
	}
	s.panics.mu.Lock()
	defer s.panics.mu.Unlock()
	select {
	case <-h.Done():
	default:
		if s.panics.fell {
			return broken(HostLives, "the supervisor panicked, and the host goes on without it")
		}
		return nil
	}
	if !s.panics.fell || !errors.Is(h.Err(), actors.ErrBroken) {
		return broken(HostLives, "the host ended: %w", h.Err())
	}
	return nil
}

// forget is for a host that starts: nothing has panicked in it.
func (p *panics) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fell, p.down = false, map[string]life{}
}

// restartHost starts a host again whose supervisor panicked, as an init system would.
func (s *simulator) restartHost(ctx context.Context) {
	if h := s.running(); h == nil || s.stopping || h.Err() == nil {
		return
	}
	s.note("the host ended, and is started again")
	s.crashes++
	s.crash()
	s.start(ctx)
}

// retryQuarantined plays the operator who wants all quarantined work tried again.
func (s *simulator) retryQuarantined(ctx context.Context) {
	h := s.running()
	if h == nil || s.retrying || len(s.audit.quarantined) == 0 {
		return
	}
	s.retrying = true
	s.note("the operator has everything tried again")
	again := slices.Sorted(maps.Keys(s.audit.quarantined))
	go func() {
		for _, subject := range again {
			_ = h.TryAgain(ctx, events.Must(shell.ParseSubject(subject))) // It is repeated while the quarantine lasts.
			s.bus.yield(ctx, "operator tries again")
		}
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		s.retrying = false
	}()
}
