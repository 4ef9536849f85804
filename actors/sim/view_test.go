package sim

import (
	"context"
	"reflect"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// projected are the views that operators look at, folded as events come.
type projected struct{ views *projections.Views }

func newView() View { return &projected{projections.NewViews(projections.Scope{})} }

func (p *projected) Apply(e events.Recorded) { p.views.Apply(e) }

func (p *projected) Compare(ctx context.Context, store events.Store) error {
	rebuilt, err := projections.ViewsAt(ctx, store, projections.Scope{}, nil)
	if err != nil {
		return err
	}
	for _, look := range []func(*projections.Views) any{
		func(v *projections.Views) any { return v.Sales() },
		func(v *projections.Views) any { return v.Ledgers() },
		func(v *projections.Views) any { return v.Reservations() },
		func(v *projections.Views) any { return v.Queues() },
		func(v *projections.Views) any { return v.Proofs() },
		func(v *projections.Views) any { return v.Earnings() },
		func(v *projections.Views) any { return v.Hosts() },
	} {
		if a, b := look(rebuilt), look(p.views); !reflect.DeepEqual(a, b) {
			return &viewDiffers{a, b}
		}
	}
	return nil
}

// viewDiffers tells how a rebuilt view and the live one differ.
type viewDiffers struct{ rebuilt, live any }

func (d *viewDiffers) Error() string { return difference(d.rebuilt, d.live) }
