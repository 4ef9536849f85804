package api

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// StandbyConfig is what there is of a host that is starting or stopping.
type StandbyConfig struct {
	// Facts are what is known of the start or the stop.
	Facts func() health.Facts
	// Store and Projector are nil while the store is not open; then only the status
	// is answered.
	Store     events.Store
	Projector *projections.Projector
	// Source needs no Account: the facts say it.
	Source
}

// Standby is the Backend of a host that is starting or stopping: it says why, and lets
// the events be inspected. Changes are refused with problem.ErrStandby.
type Standby struct {
	reader
	facts func() health.Facts
}

// NewStandby makes the Backend of a host that is starting or stopping.
func NewStandby(cfg StandbyConfig) *Standby {
	s := &Standby{facts: cfg.Facts, reader: reader{
		views: projections.NewViews(projections.Scope{}), Source: cfg.Source,
	}}
	if cfg.Projector != nil {
		s.store, s.views, s.projector = cfg.Store, cfg.Projector, cfg.Projector
		// The account is known by then: the start reports it before the store is open.
		s.Account = events.Must(events.ParseAddress(cfg.Facts().Account))
	}
	return s
}

// Status implements Backend.
func (s *Standby) Status(context.Context) (Status, error) {
	of, now := s.status(), s.facts()
	f := s.known(of)
	f.Stage, f.StageSince, f.WaitsFor, f.Chain, f.Record, f.Outage =
		now.Stage, now.StageSince, now.WaitsFor, now.Chain, now.Record, now.Outage
	f.Hosting, f.ProofTrouble = max(f.Hosting, now.Hosting), now.ProofTrouble
	of.Account, f.Account = now.Account, now.Account
	if s.store == nil {
		f.Supply = health.Supply{Unknown: true}
	}
	of.Chain.Away, of.Chain.AwaySince, of.Chain.AwayReason = f.Chain.Away, f.Chain.AwaySince.UTC(), f.Chain.AwayReason
	of.Chain.Limited = f.Chain.Limited
	of.Record = Record{Away: f.Record.Away, Since: f.Record.Since.UTC(), Reason: f.Record.Reason}
	of.judge(f)
	return of, nil
}

func (s *Standby) refusal() error {
	w := health.Judge(s.facts())
	return fmt.Errorf("%w: %s", problem.ErrStandby, w.Causes[0].Reason)
}
