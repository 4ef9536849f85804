package api

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/projections/audit"
)

// AuditOptions are what an audit may be told.
type AuditOptions struct {
	// From leaves out findings up to this position.
	From events.Position `query:"from"`
	// Checkpoint is the absolute path of a file with which the audit continues;
	// empty: none.
	Checkpoint string `query:"checkpoint"`
	// Chain is the endpoint of a chain to compare tokens with; OwnChain stands for
	// the host's own, empty for none.
	Chain string `query:"chain"`
}

// OwnChain stands, as AuditOptions.Chain, for the chain that the host uses.
const OwnChain = "own"

// Audit implements Backend.
func (r *reader) Audit(ctx context.Context, o AuditOptions) (answer Audit, err error) {
	options, done, err := r.auditOptions(o)
	if err != nil {
		return Audit{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	report, err := audit.Run(ctx, r.store, options)
	if err != nil {
		return Audit{}, fmt.Errorf("%w (read up to log position %d)", err, report.AsOf)
	}
	answer = Audit{AsOf: r.asOf(), Report: report, Clean: report.Clean()}
	// All answers say what they are as of in the same place, and only there.
	answer.AsOf.Position, answer.Report.AsOf = report.AsOf, 0
	if answer.Findings == nil {
		answer.Findings = []audit.Finding{}
	}
	return answer, r.verify(ctx, &answer)
}

// auditOptions prepares an audit; the second result closes what it opened.
func (r *reader) auditOptions(o AuditOptions) (audit.Options, func() error, error) {
	options := audit.Options{From: o.From, Checkpoint: o.Checkpoint}
	var open []*chain.Auditor
	done := func() error {
		var errs []error
		for _, c := range open {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	if r.Files != nil {
		options.Files = func() (audit.Files, error) { return r.Files(r.Account) }
	}
	if o.Checkpoint != "" && !filepath.IsAbs(o.Checkpoint) {
		return options, done, fmt.Errorf("%w: checkpoint %.200q is no whole path", problem.ErrBadRequest, o.Checkpoint)
	}
	if r.projector != nil {
		views, err := r.projector.Snapshot()
		if err != nil {
			return options, done, fmt.Errorf("print the views: %w", err)
		}
		options.Views = &views
	}
	endpoint, fallbacks := o.Chain, []string(nil)
	if endpoint == OwnChain {
		endpoint, fallbacks = r.Endpoint, r.Fallbacks
		if endpoint == "" {
			return options, done, fmt.Errorf("%w: no `chain.endpoint` is configured, and the embedded chain runs "+
				"only while its host does", problem.ErrBadRequest)
		}
	}
	if endpoint != "" {
		options.Chain = func(ctx context.Context, m audit.Market) (audit.Chain, error) {
			c, err := chain.DialAuditor(ctx, chain.Config{
				Endpoint: endpoint, Fallbacks: fallbacks, Marketplace: m.Contract, ChainID: m.ChainID,
			})
			if errors.Is(err, rpc.ErrWrongChain) || errors.Is(err, rpc.ErrNoContract) {
				err = fmt.Errorf("%w: %w", audit.ErrNotHere, err)
			}
			if err == nil {
				open = append(open, c)
			}
			return c, err
		}
	}
	return options, done, nil
}

// verify has a store check its own files, which the embedded one can.
func (r *reader) verify(ctx context.Context, answer *Audit) error {
	store, ok := r.store.(*embedded.Store)
	if !ok {
		return nil
	}
	check, err := store.Verify(ctx)
	if err != nil {
		return fmt.Errorf("verify the event store: %w", err)
	}
	answer.Store = &StoreCheck{
		Events: check.Events, Streams: check.Streams, Findings: []StoreFinding{}, More: check.More,
		DroppedBytes: r.dropped,
	}
	for _, f := range check.Findings {
		answer.Store.Findings = append(answer.Store.Findings,
			StoreFinding{f.Position, f.Through, f.Stream, f.Revision, f.Problem, f.String()})
	}
	answer.Clean = answer.Clean && check.OK()
	return nil
}
