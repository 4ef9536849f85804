package actors

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// This file finds out whether the market's stream is of this chain.

// certainBlocks is how many blocks must follow a block until no reorganisation replaces it:
// more than Ethereum needs to make one final.
const certainBlocks = 128

// ofChain is what a market's stream says of its chain.
type ofChain struct {
	// genesis is the hash that the stream names; empty when it names none.
	genesis string
	// always: each scan must name the genesis, because the stream begins with one that does
	// not, and nobody looks for it in the middle.
	always bool
	// oldest is the oldest recorded block that no recorded reorganisation removed; zero: none.
	oldest events.Head
}

// sameChain refuses a market whose stream is of another chain. A chain that was started anew
// has the same id, and maybe its contract at the same address; its blocks would look like a
// reorganisation of all that is recorded, or like a node that is behind.
func (e *env) sameChain(ctx context.Context) error {
	stream := events.MarketStream(e.ChainID, e.Contract)
	var told ofChain
	err := e.ask(ctx, func() (err error) {
		told, err = e.chainOf(ctx, stream)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read the market's record: %w", err)
	case err != nil: // Hosted slots are proven all the same; the follower reports what is wrong.
		e.Log.Warnf("could not read which chain %s belongs to: %v", stream, err)
		return nil
	case told.genesis == "" && told.always:
		return e.hasBlock(ctx, stream, told.oldest)
	case told.genesis != "" && told.genesis != e.Genesis.String():
		return fmt.Errorf("%w: %s belongs to a chain with genesis %s, this chain has %s",
			ErrOtherChain, stream, told.genesis, e.Genesis)
	}
	e.namesChain = told.always
	return nil
}

// hasBlock refuses a chain that has another block where the stream of an older build has this
// one. Only a chain that has it is named from now on.
func (e *env) hasBlock(ctx context.Context, stream string, b events.Head) error {
	if b.Hash.Zero() {
		return nil
	}
	at, err := e.Market.HeadAt(ctx, b.Number)
	var newest events.Head
	if err == nil {
		newest, err = e.Market.Head(ctx)
	}
	switch {
	case err != nil: // The node may be behind.
		e.Log.Warnf("could not compare block %d of %s with the chain; the next start does: %v", b.Number, stream, err)
	case at.Hash == b.Hash:
		e.namesChain = true
	case newest.Number >= b.Number+max(certainBlocks, e.FinalBlocks):
		return fmt.Errorf("%w: block %d of %s is %s, this chain with genesis %s has %s there, which no reorganisation "+
			"explains: it is %d blocks old", ErrOtherChain, b.Number, stream, b.Hash, e.Genesis, at.Hash,
			newest.Number-b.Number)
	}
	return nil
}

// chainOf reads what a market's stream says of its chain. As a rule the first scan says all.
func (e *env) chainOf(ctx context.Context, stream string) (told ofChain, err error) {
	err = readAs(ctx, e, stream, events.ReadStream{}, func(_ events.Recorded, m messages.MarketEvent) bool {
		scanned, ok := m.(*messages.BlocksScanned)
		if ok {
			told.genesis, told.always = scanned.GetGenesis(), scanned.GetGenesis() == ""
		}
		return ok
	})
	if err != nil || !told.always {
		return told, err
	}
	newest, kept := true, ^uint64(0) // kept is the newest block that is not removed by what follows.
	backward := events.ReadStream{From: events.End, Backward: true}
	err = readAs(ctx, e, stream, backward, func(_ events.Recorded, m messages.MarketEvent) bool {
		switch m := m.(type) {
		case *messages.BlocksScanned:
			if newest {
				told.genesis, newest = m.GetGenesis(), false
			}
			if m.GetNumber() <= kept {
				told.oldest = events.Head{Number: m.GetNumber(), Hash: events.Must(events.ParseHash(m.GetHash()))}
			}
		case *messages.ChainReorganized:
			kept = min(kept, m.GetAncestor())
		}
		return told.genesis != ""
	})
	return told, err
}
