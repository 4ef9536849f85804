package validator

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
)

// marketHistory is how far the validator has read the market's stream: from as far back as a
// request can run, and then what is new. History and news come the same way, so that nothing is
// missed between them.
type marketHistory struct {
	at   chainview.MarketHistory
	done bool // the end of the stream was reached once
	// reading: a piece is being read; more: news came meanwhile.
	reading, more bool
}

// marketRead is a piece of the stream.
type marketRead struct {
	chainview.MarketHistory
	err error // an error that never passes
}

// readOn reads the next piece, unless one is being read.
func (v *Validator) readOn(a *shell.Turn) {
	h := &v.history
	if h.reading {
		h.more = true
		return
	}
	h.reading, h.more = true, false
	self, at := a.Self, h.at
	a.Do(func(ctx context.Context) {
		v.Yield(ctx, "validator reads the market")
		var m marketRead
		call := v.StoreWatch.Call(ctx, v.Stream)
		defer call.End()
		m.err = call.Repeat(func() (err error) {
			m.MarketHistory, err = v.ReadMarket(ctx, v.Stream, at, v.View.Now().Time)
			return err
		})
		if ctx.Err() == nil {
			self.Tell(m)
		}
	})
}

// onMarket folds a piece of the market's stream.
func (v *Validator) onMarket(a *shell.Turn, m marketRead) {
	h := &v.history
	h.reading = false
	if m.err != nil {
		v.Broken(fmt.Errorf("read the market's record: %w", m.err))
		return
	}
	for _, e := range m.Events {
		v.watch.Apply(e)
	}
	h.at = m.MarketHistory
	h.at.Events = nil
	if m.End {
		first := !h.done
		h.done = true
		if watched := v.show(v.View.Now()); first {
			v.Log.Infof("validating: %d slots of other hosts are watched", len(watched))
		}
	}
	if !m.End || h.more {
		v.readOn(a)
	}
}
