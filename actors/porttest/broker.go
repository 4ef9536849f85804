package porttest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// BrokerWorld is a broker without offers, which a test can steer. Each belongs to one test.
type BrokerWorld struct {
	Broker port.Broker
	// Offer is another aggregate at each call, of at least two pieces, whose CIDs are the pieces.
	Offer func() (offer events.AggregateOffer, pieces []string)
	// Sign and Approve move the deal about an offered aggregate on, and Reject ends it, because of the given pieces.
	// They return what the broker has to say of it then.
	Sign, Approve func(aggregate string) events.DealReport
	Reject        func(aggregate string, bad []string) events.DealReport
	// NamesBad says that the broker can name bad pieces. If not, Reject is given none.
	NamesBad bool
	// Away makes the broker away, or come back; nil: it is part of this process, and never away.
	Away func(bool)
}

// Broker runs the suite of the broker's port.
func Broker(t *testing.T, newWorld func(t *testing.T) BrokerWorld) {
	for name, test := range map[string]func(*testing.T, BrokerWorld){
		"an aggregate is offered once":              offeredOnce,
		"a deal is approved, or rejected unsigned":  decided,
		"a deal is rejected because of bad pieces":  rejectedWithList,
		"an offer is withdrawn, and made again":     withdrawn,
		"what is over is not withdrawn":             notWithdrawn,
		"a broker that was away goes on":            brokerAway,
		"a broker may be asked much at once":        askedAtOnce,
		"a question of a broker ends with its call": endedWithContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t)) })
	}
}

// differs compares what a broker says with what it has to say. What it calls a pending deal is its business.
func differs(want, said events.DealReport) string {
	if want.Status == events.DealPending {
		want.Deal, want.Reason = said.Deal, said.Reason
	}
	return cmp.Diff(want, said, cmpopts.EquateEmpty())
}

// stands demands that the deal has this status, and that the broker says so whenever it is asked, or the offer is
// repeated.
func (w BrokerWorld) stands(
	t *testing.T, offer events.AggregateOffer, status events.DealStatus, want events.DealReport,
) {
	t.Helper()
	if want.Status != status || want.Aggregate != offer.Aggregate {
		t.Errorf("the world says %+v, want %s", want, status)
	}
	for range 2 {
		for _, ask := range []func(context.Context, events.AggregateOffer) (events.DealReport, error){
			w.Broker.State, w.Broker.Offer,
		} {
			said, err := ask(t.Context(), offer)
			if diff := differs(want, said); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", status, err, diff)
			}
		}
	}
}

func pending(offer events.AggregateOffer) events.DealReport {
	return events.DealReport{Aggregate: offer.Aggregate, Status: events.DealPending}
}

// offer demands that an offer is pending then.
func (w BrokerWorld) offer(t *testing.T, offer events.AggregateOffer) {
	t.Helper()
	said, err := w.Broker.Offer(t.Context(), offer)
	if diff := differs(pending(offer), said); diff != "" || err != nil {
		t.Errorf("an offer: %v (-want +got):\n%s", err, diff)
	}
}

func (w BrokerWorld) offered(t *testing.T) events.AggregateOffer {
	t.Helper()
	offer, _ := w.Offer()
	w.offer(t, offer)
	return offer
}

func (w BrokerWorld) unknown(t *testing.T, offer events.AggregateOffer) {
	t.Helper()
	if said, err := w.Broker.State(t.Context(), offer); !errors.Is(err, events.ErrNotOffered) {
		t.Fatalf("the state of what is not offered is %+v, %v", said, err)
	}
	if err := w.Broker.Withdraw(t.Context(), offer.Aggregate); err != nil {
		t.Fatalf("withdraw what is not offered: %v", err)
	}
}

func offeredOnce(t *testing.T, w BrokerWorld) {
	other, _ := w.Offer()
	offer := w.offered(t)
	w.stands(t, offer, events.DealPending, pending(offer))
	w.unknown(t, other)
}

func decided(t *testing.T, w BrokerWorld) {
	first, second := w.offered(t), w.offered(t)
	w.stands(t, first, events.DealSigned, w.Sign(first.Aggregate))
	w.stands(t, first, events.DealApproved, w.Approve(first.Aggregate))
	w.stands(t, second, events.DealRejected, w.Reject(second.Aggregate, nil))
}

func rejectedWithList(t *testing.T, w BrokerWorld) {
	if !w.NamesBad {
		t.Skip("this broker does not name bad pieces")
	}
	offer, pieces := w.Offer()
	w.offer(t, offer)
	w.stands(t, offer, events.DealSigned, w.Sign(offer.Aggregate))
	said := w.Reject(offer.Aggregate, pieces[:2])
	w.stands(t, offer, events.DealRejected, said)
	if diff := cmp.Diff(pieces[:2], said.Bad); diff != "" {
		t.Fatalf("bad pieces (-want +got):\n%s", diff)
	}
}

func withdrawn(t *testing.T, w BrokerWorld) {
	offer := w.offered(t)
	for _, move := range []func(){func() {}, func() { w.Sign(offer.Aggregate) }} {
		move()
		if err := w.Broker.Withdraw(t.Context(), offer.Aggregate); err != nil {
			t.Fatal(err)
		}
		w.unknown(t, offer)
		w.offer(t, offer)
	}
}

func notWithdrawn(t *testing.T, w BrokerWorld) {
	first, second, third := w.offered(t), w.offered(t), w.offered(t)
	w.Sign(first.Aggregate)
	yes, no := w.Approve(first.Aggregate), w.Reject(second.Aggregate, nil)
	for range 2 {
		for _, offer := range []events.AggregateOffer{first, second} {
			if err := w.Broker.Withdraw(t.Context(), offer.Aggregate); !errors.Is(err, events.ErrDealOver) {
				t.Fatalf("what is over is withdrawn: %v", err)
			}
		}
		w.stands(t, first, events.DealApproved, yes)
		w.stands(t, second, events.DealRejected, no)
		w.stands(t, third, events.DealPending, pending(third))
	}
}

// fails demands that each method ends with an error.
func (w BrokerWorld) fails(ctx context.Context, t *testing.T, offer events.AggregateOffer, want error) {
	t.Helper()
	_, offering := w.Broker.Offer(ctx, offer)
	_, asking := w.Broker.State(ctx, offer)
	for i, err := range []error{offering, asking, w.Broker.Withdraw(ctx, offer.Aggregate)} {
		// Calls that were given up say nothing about the broker.
		if !errors.Is(err, want) || errors.Is(err, events.ErrBrokerAway) != errors.Is(want, events.ErrBrokerAway) {
			t.Errorf("%s: %v, want %v", []string{"Offer", "State", "Withdraw"}[i], err, want)
		}
	}
}

func brokerAway(t *testing.T, w BrokerWorld) {
	if w.Away == nil {
		t.Skip("this broker is never away")
	}
	offer := w.offered(t)
	signed := w.Sign(offer.Aggregate)
	w.Away(true)
	w.fails(t.Context(), t, offer, events.ErrBrokerAway)
	w.Away(false)
	w.stands(t, offer, events.DealSigned, signed)
	w.stands(t, offer, events.DealApproved, w.Approve(offer.Aggregate))
}

func askedAtOnce(t *testing.T, w BrokerWorld) {
	shared, _ := w.Offer()
	var asking sync.WaitGroup
	for range 8 {
		own, _ := w.Offer()
		asking.Go(func() {
			for _, offer := range []events.AggregateOffer{shared, own} {
				w.offer(t, offer)
				w.stands(t, offer, events.DealPending, pending(offer))
			}
			if err := w.Broker.Withdraw(t.Context(), own.Aggregate); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	w.stands(t, shared, events.DealPending, pending(shared))
}

func endedWithContext(t *testing.T, w BrokerWorld) {
	offer := w.offered(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.fails(ctx, t, offer, context.Canceled)
	w.stands(t, offer, events.DealPending, pending(offer))
}
