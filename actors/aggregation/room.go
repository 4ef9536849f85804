// Package aggregation runs the pipeline from small uploads to provable deals as an actor: CARs (events/content) become
// pieces, pieces aggregates (events/cargo), and brokers find storage for these (events/deal). It runs with the owner of
// the host, by the machine's clock.
//
// Read room.go first: the actor, and how it goes on after a restart. Then, in the order in which a CAR travels,
// contents.go, which has it read, and copies.go; packing.go, which has aggregates made, and copies released; deals.go,
// which offers them and compares what a broker says. layout.go has what is in an aggregate, for those who read its
// bytes.
//
// Not for: rules. What a CAR, a piece and a deal may become is in the cores, and so is which pieces travel together.
package aggregation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/messages"
)

// Name is the name of the actor.
const Name = "Aggregation"

// The causes of its events.
const (
	causeRequest  = "request"
	causeExamined = "examined"
	causePacked   = "packed"
	causeBroker   = "broker"
	causeOperator = "operator"
)

// Deps are what the actor needs.
type Deps struct {
	*shell.Base
	Settings
	Contents port.Contents
	// Copies keeps pieces, if the settings say so, and Proofs those of aggregates, for which there must be room when
	// copies have taken all that they may; nil: Copies does.
	Copies, Proofs port.Copies
	// Turns are those of both, for all lives of the room.
	Turns  *Turns
	Broker port.Broker
	// Decide are the rules of the ledger of pieces: cargo.Decide.
	Decide func(cargo.State, cargo.Command) ([]cargo.Event, error)
	// Tell is told what operators should know, and does not wait.
	Tell func(Notice)
	// Over is told that what a notice was about is over; nil: nobody is.
	Over func(about string)
	// Broken is called when the record cannot be read.
	Broken func(error)
}

// Settings are how CARs are aggregated.
type Settings struct {
	cargo.Packing
	// Keep keeps a copy of each piece until it is approved or refused; else its bytes are read from its source again.
	Keep bool
	// Quota is how many bytes of a group may be read or queued at once; 0: any.
	Quota uint64
	// MaxOpen is how many CARs may be under way, Parallel how many are read at once.
	MaxOpen, Parallel int
	// Attempts is after how many rejections without a list the pieces of an aggregate are isolated.
	Attempts uint8
	// Every is the pause between two looks at what waits, Poll between two questions to the broker about a deal.
	Every, Poll time.Duration
	// Silent is how long a broker may give no answer before operators are told.
	Silent time.Duration
	// Ages are how old the oldest queued piece may be, before it is noticed, warned of, and critical.
	Ages [3]time.Duration
	// BrokerName is recorded with each offer.
	BrokerName string
}

// Notice is what operators should know.
type Notice struct {
	// About is what it is about: a deal, the queue or a CAR. One that is told again replaces the one before.
	About string
	// Text says what happened, Hint what to do.
	Text, Hint string
}

// Orders to the room. The answer is the State of the core that decided, once what follows is durable.
type (
	// Request wants a CAR stored; the answer is its content.State. content.ErrRequest, ErrBusy, ErrQuota.
	Request struct {
		Link    events.ContentLink
		Content content.Request
	}
	// Retry has a CAR read once more. content.ErrUnknown.
	Retry struct {
		Link       events.ContentLink
		By, Reason string
	}
	// Report says what became of an aggregate; the answer is its deal.State. cargo.ErrUnknown, ErrReport.
	Report struct {
		events.DealReport
		By string
	}
	// Order is one of them, so that it can be passed on to another member. The answer is an Answer.
	Order struct {
		Request *Request `json:",omitempty"`
		Retry   *Retry   `json:",omitempty"`
		Report  *Report  `json:",omitempty"`
	}
	// Answer says how what was ordered stands.
	Answer struct {
		Content *content.State `json:",omitempty"`
		Deal    *deal.State    `json:",omitempty"`
	}
)

type (
	ledger  = shell.Journal[cargo.State, cargo.Command, cargo.Event]
	effects = shell.Effects[any, struct{}]
	work    = shell.Work[struct{}]
)

// Room is the actor.
type Room struct {
	Deps
	cargo    *ledger
	contents map[events.ContentLink]*car
	deals    map[string]*dealing // by aggregate
	effects  effects
	read     bool // the record was read
	// open counts commands to the ledger of pieces that are not answered: before, nothing is planned.
	open int
	// pending are the CARs that are to be read, in their order; reading is how many are.
	pending []events.ContentLink
	reading int
	groups  map[string]uint64 // bytes of CARs under way, by group
	due     bool              // something may be packed
	told    [3]bool           // which ages operators were told of
	failing map[string]bool   // what fails, and operators know it; false: they know that it does not
}

// Ended ends the calls of the room: its successor begins its own.
func (r *Room) Ended() { r.effects.Cancel() }

// Messages of the room to itself.
type (
	recordRead struct {
		cargo    shell.Fold[cargo.State]
		contents map[events.ContentLink]shell.Fold[content.State]
		deals    map[string]shell.Fold[deal.State]
	}
	tick   struct{}
	carDue struct{ link events.ContentLink }
	// dealDue is the poll of that number. An older one is passed over: each report begins the wait anew.
	dealDue struct {
		aggregate string
		poll      int
	}
	// Ask has the broker asked about an aggregate at once, because it says that there is something new.
	Ask struct{ Aggregate string }
)

// New returns the actor.
func New(d Deps) *Room {
	r := &Room{
		Deps: d, contents: map[events.ContentLink]*car{}, deals: map[string]*dealing{}, groups: map[string]uint64{},
		failing: map[string]bool{},
	}
	if r.Proofs == nil {
		r.Proofs = r.Copies
	}
	r.Copies, r.Proofs = oneByOne{r.Copies, d.Turns}, oneByOne{r.Proofs, d.Turns}
	r.effects = effects{Base: d.Base, Name: Name, Ended: r.ended, Act: r.work}
	return r
}

// Receive implements shell.Behavior.
func (r *Room) Receive(a *shell.Turn, msg any) {
	switch m := msg.(type) {
	case shell.Started:
		r.Later(a, "aggregation", func(ctx context.Context) any { return r.readAll(ctx) })
	case recordRead:
		r.begin(a, m)
	case tick:
		r.due = true
		r.tick(a)
	case carDue:
		if c := r.contents[m.link]; c != nil {
			c.queued = false
			r.onContent(a, m.link, c)
		}
	case dealDue:
		if d := r.deals[m.aggregate]; d != nil && d.polls == m.poll {
			r.look(a, m.aggregate)
		}
	case Ask:
		r.look(a, m.Aggregate)
	case Order:
		r.order(a, m, a.Asker())
	case OfAggregate:
		r.layout(m, a.Asker())
	default:
		if !r.effects.Handle(a, msg) {
			r.handle(a, msg)
		}
	}
	r.work(a)
}

// handle passes a message on to the journal that it is for.
func (r *Room) handle(a *shell.Turn, msg any) {
	stream := shell.StreamOf(msg)
	if _, link, err := events.ParseContentStream(stream); err == nil && r.contents[link] != nil {
		r.contents[link].Handle(a, msg)
	} else if _, aggregate, err := events.ParseDealStream(stream); err == nil && r.deals[aggregate] != nil {
		r.deals[aggregate].Handle(a, msg)
	} else if r.cargo != nil {
		r.cargo.Handle(a, msg)
	}
}

// readAll folds all streams of the pipeline in one pass.
func (r *Room) readAll(ctx context.Context) (m recordRead) {
	call := r.StoreWatch.Call(ctx, "")
	defer call.End()
	err := call.Repeat(func() error {
		m = recordRead{
			shell.Fold[cargo.State]{State: cargo.Empty()},
			map[events.ContentLink]shell.Fold[content.State]{},
			map[string]shell.Fold[deal.State]{},
		}
		var prefixes []string
		for _, category := range []string{events.CategoryCargo, events.CategoryContent, events.CategoryDeal} {
			prefixes = append(prefixes, category+"-"+r.Me.String())
		}
		for e, err := range events.ReadPrefixed(ctx, r.Store, 0, prefixes) {
			if err == nil {
				err = m.add(r.Codec, e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		r.Broken(fmt.Errorf("read what is aggregated: %w", err))
	}
	return m
}

func (m *recordRead) add(codec *events.Codec, r events.Recorded) error {
	if _, link, err := events.ParseContentStream(r.Stream); err == nil {
		one := m.contents[link]
		if r.Revision == one.Events {
			err = shell.Add(&one, codec, r, content.Evolve)
		} // Else it was done with; its journal reads it from its beginning.
		if m.contents[link] = one; one.State.Status == content.Refused && one.State.Piece.CID == "" {
			delete(m.contents, link)
		}
		return err
	}
	if _, aggregate, err := events.ParseDealStream(r.Stream); err == nil {
		one := m.deals[aggregate]
		err := shell.Add(&one, codec, r, deal.Evolve)
		m.deals[aggregate] = one
		return err
	}
	return shell.Add(&m.cargo, codec, r, func(s cargo.State, e cargo.Event) cargo.State {
		m.done(e)
		return cargo.Evolve(s, e)
	})
}

// done forgets what is over, so that memory holds what is under way.
func (m *recordRead) done(e cargo.Event) {
	switch e := e.(type) {
	case *messages.PieceQueued:
		link, _ := events.ParseContentLink(e.GetContent()) // The codec has checked it.
		s := m.contents[link].State
		if s.Status == content.Accepted && s.Piece.CID == e.GetPiece() && s.Replaced == "" {
			delete(m.contents, link)
		}
	case *messages.AggregateApproved:
		delete(m.deals, e.GetAggregate())
	}
}

// begin goes on with what the record has.
func (r *Room) begin(a *shell.Turn, m recordRead) {
	r.cargo = journalOf(r, events.CargoStream(r.Me), shell.Machine[cargo.State, cargo.Command, cargo.Event]{
		Empty: cargo.Empty, Decide: r.Decide, Evolve: cargo.Evolve,
		Restore: func(context.Context) (shell.Saved[cargo.State], error) {
			return shell.Saved[cargo.State]{Fold: m.cargo, Ahead: m.cargo.State.Share()}, nil
		},
	})
	loading := true
	r.cargo.OnDurable = func(a *shell.Turn, fresh []cargo.Event) {
		if r.due = true; !loading {
			r.onCargo(a, fresh)
			return
		}
		loading = false
		r.resume(a, m)
	}
	r.cargo.Load(a)
}

// resume goes on with CARs and deals, once it is known where all pieces are.
func (r *Room) resume(a *shell.Turn, m recordRead) {
	r.read = true
	r.decide(a, cargo.Set{At: r.Clock.Now(), Packing: r.Packing}, causePacked, nil)
	for _, link := range slices.SortedFunc(maps.Keys(m.contents), compareLinks) {
		if one := m.contents[link]; !r.over(one.State) {
			r.car(a, link, one)
		}
	}
	for _, f := range r.cargo.Durable.Ferries() {
		if f.State == cargo.Made {
			r.dealing(a, f.Aggregate, m.deals[f.Aggregate])
		}
	}
	a.Self.Tell(tick{})
}

// journalOf is a journal of the room, which has one for each stream.
func journalOf[S, C any, E proto.Message](
	r *Room, stream string, core shell.Machine[S, C, E],
) *shell.Journal[S, C, E] {
	return &shell.Journal[S, C, E]{
		Machine: core, Stream: stream, Store: r.Store, Codec: r.Codec, StoreWatch: r.StoreWatch, Confirm: r.HasTerm,
		MinEvents: r.MinEvents[stream],
		Meta:      func(S, E) events.Metadata { return r.Metadata("") },
		OnBroken:  func(_ *shell.Turn, err error) { r.Broken(err) },
	}
}

// coreOf is a core whose zero state is that of no events, with what was read of its stream.
func coreOf[S, C any, E proto.Message](
	decide func(S, C) ([]E, error), evolve func(S, E) S, has shell.Fold[S],
) shell.Machine[S, C, E] {
	return shell.Machine[S, C, E]{
		Empty: func() (none S) { return none }, Decide: decide, Evolve: evolve,
		Restore: func(context.Context) (shell.Saved[S], error) {
			return shell.Saved[S]{Fold: has, Ahead: has.State}, nil
		},
	}
}

// run begins a call outside of the mailbox, unless one with that key runs; ended takes what it comes to.
func (r *Room) run(a *shell.Turn, key string, call func(context.Context) (any, error)) (begun bool) {
	return r.effects.Begin(a, key, events.EventID{}, func(ctx context.Context) (any, error) {
		r.Yield(ctx, key)
		return call(ctx)
	}) != nil
}

// tick looks at what waits, now and then.
func (r *Room) tick(a *shell.Turn) {
	r.age()
	self := a.Self
	r.Clock.After(r.Every, func() { self.Tell(tick{}) })
}

// work does what there is to do now.
func (r *Room) work(a *shell.Turn) {
	if !r.read {
		return
	}
	r.readNext(a)
	r.pack(a)
}

// ended takes what a call came to.
func (r *Room) ended(a *shell.Turn, w *work, c any, err error) {
	_, making := c.(made)
	_, releasing := c.(released)
	if err != nil && (making || releasing) {
		r.effects.Again(a, w) // After a pause, not at the next look.
	} else {
		r.effects.Forget(w)
	}
	switch c := c.(type) {
	case examined:
		r.onExamined(a, c, err)
	case made:
		r.onMade(a, c, err)
	case released:
		r.onReleased(a, c, err)
	case asked:
		r.onAsked(a, c, err)
	}
}

// order has an order decided.
func (r *Room) order(a *shell.Turn, m Order, answer shell.Answer) {
	switch {
	case !r.read:
		answer(nil, fmt.Errorf("%w: what is aggregated is not read yet; ask again", shell.ErrPartDown))
	case m.Request != nil:
		r.request(a, *m.Request, answer)
	case m.Retry != nil:
		r.retry(a, *m.Retry, answer)
	case m.Report != nil:
		r.report(a, *m.Report, answer)
	default:
		answer(nil, fmt.Errorf("%w: there is no such order", content.ErrRequest))
	}
}
