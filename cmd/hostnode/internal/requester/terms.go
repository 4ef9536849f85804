package requester

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// Terms are what a client wants and pays. Amounts are in token base units.
type Terms struct {
	PricePerBytePerSecond, CollateralPerByte events.Amount
	// ProofProbability: a proof is wanted on average once per this many periods.
	ProofProbability uint64
	// Duration is for how long; Expiry is how long the slots may take to be filled.
	Duration, Expiry time.Duration
}

// Request is a new request for a dataset on these terms.
func (t Terms) Request(d *dataset.Dataset) events.Request {
	layout := d.Layout()
	r := events.Request{
		Ask: events.Ask{
			ProofProbability:      events.NewAmount(t.ProofProbability),
			PricePerBytePerSecond: t.PricePerBytePerSecond,
			CollateralPerByte:     t.CollateralPerByte,
			Slots:                 uint64(layout.Params.K + layout.Params.M),
			SlotSize:              layout.SlotSize(),
			Duration:              t.Duration,
			MaxSlotLoss:           uint64(layout.Params.M),
		},
		Content: d.Content(),
		Expiry:  t.Expiry,
	}
	_, _ = rand.Read(r.Nonce[:]) // It never fails.
	return r
}

// Price is what the whole request costs the client.
func Price(r events.Request) events.Amount {
	perSecond, _ := r.Ask.PricePerSecond()
	return perSecond.MulSaturating(uint64(r.Ask.Duration / time.Second)).MulSaturating(r.Ask.Slots)
}

// Post sends a request to the market; somebody must seal blocks meanwhile.
func Post(ctx context.Context, account *chain.Requester, r events.Request) (events.RequestID, error) {
	if err := account.Approve(ctx, Price(r)); err != nil {
		return events.RequestID{}, fmt.Errorf("post the request: %w", err)
	}
	id, err := account.RequestStorage(ctx, r)
	if err != nil {
		return id, fmt.Errorf("post the request: %w", err)
	}
	return id, nil
}
