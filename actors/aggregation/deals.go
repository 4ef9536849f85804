package aggregation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/deal"
)

// ErrReport: a report cannot be about this aggregate.
var ErrReport = errors.New("no report about this aggregate")

type result = shell.Result[deal.State, deal.Event]

// dealing is a deal about an aggregate that is not over in the ledger of pieces.
type dealing struct {
	*shell.Journal[deal.State, deal.Command, deal.Event]
	silent  time.Time // since when the broker gives no answer; zero: it does
	tries   int
	polls   int  // the number of the newest poll
	told    bool // operators know that it is silent
	heard   bool // it has answered since the room was started
	here    bool // the broker may have an offer that was made after it was withdrawn
	settled bool // what became of it is on its way into the ledger of pieces
	// by is who reports, while the broker is told that the offer is withdrawn.
	by     *Report
	answer shell.Answer
}

// asked is what a broker said.
type asked struct {
	aggregate string
	report    events.DealReport
	withdrawn bool
}

// dealing is the deal about an aggregate that was made.
func (r *Room) dealing(a *shell.Turn, aggregate string, has shell.Fold[deal.State]) {
	d := &dealing{
		Journal: journalOf(r, events.DealStream(r.Me, aggregate), coreOf(deal.Decide, deal.Evolve, has)),
		here:    has.Events > 0, // Another process may have made it again, and ended.
	}
	d.OnDurable = func(a *shell.Turn, fresh []deal.Event) {
		r.logDeal(aggregate, fresh)
		if r.onDeal(a, aggregate, d); len(fresh) == 0 { // It is loaded.
			r.look(a, aggregate)
		}
	}
	r.deals[aggregate] = d
	d.Load(a)
}

// onDeal has what became of a deal recorded of the pieces of its aggregate.
func (r *Room) onDeal(a *shell.Turn, aggregate string, d *dealing) {
	f := r.cargo.Durable.Aggregate(aggregate)
	if !d.Durable.Final() && f.Live() {
		return
	}
	r.tooLate(d, f)
	switch {
	// Another process, which had the term before, withdrew the offer, and this one may have made it again.
	case d.here && !r.elsewhere(d) && (d.Durable.By != "" || f.State == cargo.Rejected):
		r.run(a, "deal/"+aggregate, func(ctx context.Context) (any, error) {
			return asked{aggregate: aggregate, withdrawn: true}, r.Broker.Withdraw(ctx, aggregate)
		})
		return
	case !f.Live():
		delete(r.deals, aggregate)
		return
	case d.settled:
		return
	}
	d.settled = true
	for _, cmd := range r.outcome(aggregate, d.Durable) {
		r.decide(a, cmd, causeBroker, func(err error) {
			if err != nil { // Another process wrote to the ledger: all parts are said again.
				d.settled = false
				r.poll(a, aggregate, r.Backoff("deal/"+aggregate, 1))
			} else if f := r.cargo.Durable.Aggregate(aggregate); !f.Live() {
				delete(r.deals, aggregate)
			}
		})
	}
}

// tooLate answers who reports an aggregate of which became final what became of it.
func (r *Room) tooLate(d *dealing, f *cargo.Ferry) {
	if d.by == nil {
		return
	}
	answer, s := d.answer, d.Durable
	if d.by, d.answer = nil, nil; s.Status == events.DealApproved || f.State == cargo.Stored {
		answer(nil, fmt.Errorf("%w: it is %s", ErrReport, events.DealApproved))
	} else {
		answer(Answer{Deal: &s}, nil)
	}
}

// outcome is what a final deal means for the pieces of its aggregate.
func (r *Room) outcome(aggregate string, s deal.State) (all []cargo.Command) {
	now := r.Clock.Now()
	if s.Status == events.DealApproved {
		return []cargo.Command{cargo.Approve{At: now, Aggregate: aggregate}}
	}
	one := cargo.Reject{At: now, Aggregate: aggregate, Reason: s.Reason, Attempts: r.Attempts}
	bad, _ := r.among(aggregate, s.Bad)
	if len(bad) == 0 {
		return []cargo.Command{one}
	}
	one.Parts = uint32((len(bad) + cargo.MaxPart - 1) / cargo.MaxPart) //nolint:gosec // At most 44.
	for part := range slices.Chunk(bad, cargo.MaxPart) {
		one.Part, one.Bad = one.Part+1, part
		all = append(all, one)
	}
	return all
}

// among are the priorities of pieces of an aggregate, and the first CID that is none of them.
func (r *Room) among(aggregate string, cids []string) (all []uint64, foreign string) {
	f := r.cargo.Durable.Aggregate(aggregate)
	for _, cid := range cids {
		_, priority, known := r.piece(cid)
		p, _ := r.cargo.Durable.Piece(priority)
		if on := r.cargo.Durable.Ferry(p); !known || f == nil || on == nil || on.ID != f.ID {
			return nil, cid
		}
		all = append(all, priority)
	}
	slices.Sort(all)
	return slices.Compact(all), ""
}

// look asks the broker about a deal that is not final, and offers the aggregate if it was not offered.
func (r *Room) look(a *shell.Turn, aggregate string) {
	d := r.deals[aggregate]
	switch {
	case d == nil || !d.Loaded:
		return
	case d.Durable.Final() || !r.cargo.Durable.Aggregate(aggregate).Live():
		r.onDeal(a, aggregate, d)
		return
	case d.Ahead.Final(): // It is on its way into the record. An offer that was withdrawn is not made again.
		r.poll(a, aggregate, r.Poll)
		return
	case r.elsewhere(d) && d.by != nil: // Who reports it has told that broker.
		r.onWithdrawn(a, d, nil)
		return
	case r.elsewhere(d):
		r.tellElsewhere(d, aggregate)
		return
	}
	f := r.cargo.Durable.Aggregate(aggregate)
	offer := events.AggregateOffer{Aggregate: aggregate, Size: events.Bytes(f.Class), Pieces: len(f.Pieces)}
	offered, withdraw := d.Durable.Status != "", d.by != nil
	begun := r.run(a, "deal/"+aggregate, func(ctx context.Context) (any, error) {
		out := asked{aggregate: aggregate, withdrawn: withdraw}
		var err error
		if withdraw {
			return out, r.Broker.Withdraw(ctx, aggregate)
		}
		err = events.ErrNotOffered
		if offered {
			out.report, err = r.Broker.State(ctx, offer)
		}
		if errors.Is(err, events.ErrNotOffered) { // It may have forgotten it; it knows it by its CID.
			out.report, err = r.Broker.Offer(ctx, offer)
		}
		return out, err
	})
	d.here = d.here || begun && !withdraw
}

// elsewhere reports whether a broker that the settings no longer name has what it asked for. The aggregate is not
// offered to another one: that would be a second deal about the same bytes.
func (r *Room) elsewhere(d *dealing) bool {
	return d.Durable.Status == events.DealSigned && d.Durable.Broker != r.BrokerName
}

func (r *Room) tellElsewhere(d *dealing, aggregate string) {
	if d.told {
		return
	}
	d.told = true
	text := fmt.Sprintf("the deal about %s is with broker %q, and aggregation.broker.kind is %q: nobody asks what "+
		"became of it", aggregate, d.Durable.Broker, r.BrokerName)
	r.Tell(Notice{aggregate, text, "set aggregation.broker.kind back until it is over; or withdraw it there, and say " +
		"so with hostnode aggregation report " + aggregate + " --reason WHY: then its pieces are offered anew"})
}

// onAsked compares what a broker said with what is possible, and records it.
func (r *Room) onAsked(a *shell.Turn, m asked, err error) {
	d := r.deals[m.aggregate]
	if d == nil {
		return
	}
	switch {
	case m.withdrawn:
		if err == nil || errors.Is(err, events.ErrDealOver) {
			d.here = false
		}
		r.onWithdrawn(a, d, err)
	case errors.Is(err, events.ErrBrokerLies):
		r.doubt(a, d, m.aggregate, err.Error(), "it is no answer about this offer")
	case err != nil:
		r.onSilent(d, m.aggregate, err)
	default:
		// The life before may have told of its silence.
		if (d.told || !d.heard && d.Durable.Doubted == "") && r.Over != nil {
			r.Over(m.aggregate)
		}
		d.silent, d.tries, d.told, d.heard = time.Time{}, 0, false, true
		r.onReport(a, d, m)
	}
	if d.by != nil {
		r.look(a, m.aggregate)
		return
	}
	pause := r.Poll
	if err != nil {
		d.tries++
		pause = max(pause, r.Backoff("deal/"+m.aggregate, d.tries))
	}
	r.poll(a, m.aggregate, pause)
}

// onWithdrawn records what a person reported, once the broker knows that it has the aggregate no more.
func (r *Room) onWithdrawn(a *shell.Turn, d *dealing, err error) {
	if d.by == nil { // It became final meanwhile.
		return
	}
	by, answer := *d.by, d.answer
	if d.by, d.answer = nil, nil; err != nil {
		answer(nil, fmt.Errorf("the broker could not be told that %s is withdrawn; ask again: %w", by.Aggregate, err))
		return
	}
	if d.Durable.Status == "" {
		r.offered(a, d, by.Aggregate)
	}
	var last result
	all := deal.Reports(r.Clock.Now(), by.DealReport, by.By)
	left := len(all)
	for _, cmd := range all {
		d.Submit(a, cmd, causeOperator, func(res result) {
			if last.Err == nil {
				last = res
			}
			if left--; left == 0 {
				answer(Answer{Deal: &res.State}, last.Err)
			}
		})
	}
}

// offered records that the broker has the offer, which another one may have had before.
func (r *Room) offered(a *shell.Turn, d *dealing, aggregate string) {
	if size := r.cargo.Durable.Aggregate(aggregate).Class; d.Durable.Broker != r.BrokerName {
		d.Submit(a, deal.Offer{At: r.Clock.Now(), Broker: r.BrokerName, Size: size}, causeBroker, r.recorded)
	}
}

// poll has the broker asked again after a pause.
func (r *Room) poll(a *shell.Turn, aggregate string, after time.Duration) {
	d := r.deals[aggregate]
	if d == nil {
		return
	}
	d.polls++
	self, poll := a.Self, d.polls
	r.Clock.After(after, func() { self.Tell(dealDue{aggregate, poll}) })
}

// onReport records what a broker said, if it can be.
func (r *Room) onReport(a *shell.Turn, d *dealing, m asked) {
	now, said := r.Clock.Now(), m.report
	r.offered(a, d, m.aggregate)
	_, foreign := r.among(m.aggregate, said.Bad)
	switch {
	case said.Aggregate != m.aggregate:
		r.doubt(a, d, m.aggregate, said.Aggregate, "it is another aggregate")
	case foreign != "":
		r.doubt(a, d, m.aggregate, foreign, "the aggregate has no such piece")
	default:
		before := d.Durable.Doubts
		for _, cmd := range deal.Reports(now, said, "") {
			d.Submit(a, cmd, causeBroker, func(res result) {
				if r.recorded(res); res.State.Doubts > before {
					r.tellDoubt(m.aggregate, res.State)
				}
			})
		}
	}
}

// recorded notes that a report could not be recorded: the broker is asked again.
func (r *Room) recorded(res result) {
	if res.Err != nil {
		r.Log.Warnf("a deal is not recorded yet: %v", res.Err)
	}
}

// doubt records that a broker said what cannot be.
func (r *Room) doubt(a *shell.Turn, d *dealing, aggregate, said, reason string) {
	d.Submit(a, deal.Doubt{At: r.Clock.Now(), Said: said, Reason: reason}, causeBroker,
		func(res result) {
			if r.recorded(res); len(res.Events) > 0 {
				r.tellDoubt(aggregate, res.State)
			}
		})
}

func (r *Room) tellDoubt(aggregate string, s deal.State) {
	r.Tell(Notice{
		aggregate,
		fmt.Sprintf("the broker said what cannot be about %s, and is not believed: %s", aggregate, s.Doubted),
		"ask the operators of the broker; hostnode aggregation report says what became of it",
	})
}

// onSilent tells operators of a broker that gives no answer for long.
func (r *Room) onSilent(d *dealing, aggregate string, err error) {
	now := r.Clock.Now()
	if d.silent.IsZero() {
		d.silent = now
	}
	r.Log.WithField("aggregate", aggregate).Debugf("the broker gives no answer: %v", err)
	unsigned := errors.Is(err, events.ErrUnsigned)
	if d.told || !unsigned && now.Sub(d.silent) < r.Silent {
		return
	}
	d.told = true
	hint := "look at aggregation.broker and at the network; the offer stands, and the broker is asked again"
	if unsigned {
		hint = "let this process have the account's key, or sign the deal elsewhere"
	}
	r.Tell(Notice{aggregate, fmt.Sprintf("the deal about %s gets no answer since %s: %v", aggregate,
		d.silent.Format(time.RFC3339), err), hint})
}

// report takes what is said of an aggregate that failed. The broker is told first that it is withdrawn.
func (r *Room) report(a *shell.Turn, m Report, answer shell.Answer) {
	f := r.cargo.Durable.Aggregate(m.Aggregate)
	_, foreign := r.among(m.Aggregate, m.Bad)
	switch d := r.deals[m.Aggregate]; {
	case f == nil:
		answer(nil, fmt.Errorf("%w: %.100q", cargo.ErrUnknown, m.Aggregate))
	case m.Status != events.DealRejected || m.By == "":
		answer(nil, fmt.Errorf("%w: only %s can be reported, with a name", ErrReport, events.DealRejected))
	case f.State == cargo.Rejected:
		answer(Answer{}, nil) // The same answer as before, or it was rejected for another reason.
	case f.State == cargo.Stored || d == nil:
		answer(nil, fmt.Errorf("%w: it is %s", ErrReport, f.State))
	case foreign != "":
		answer(nil, fmt.Errorf("%w: it has no piece %.100q", ErrReport, foreign))
	case d.by != nil:
		answer(nil, fmt.Errorf("%w: it is being withdrawn already", ErrReport))
	default:
		d.by, d.answer = &m, answer
		r.look(a, m.Aggregate) // If the broker is being asked, this is done next.
	}
}
