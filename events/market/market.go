// Package market is what the record knows of a contract: what it said, block by block. What follows from that for a
// host is decided by the machines that read it; here it is counted.
package market

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
	"github.com/hostnode/hostnode/messages"
)

// Machine is what the record knows of markets.
func Machine() machine.Machine {
	naming := events.Naming{Category: events.CategoryMarket, Shared: true, Parse: parse}
	return machine.Of(naming, Table, machine.Zero[State], State.evolve, nil)
}

// parse takes a name apart: market-<chain id>-<contract>. A market is nobody's.
func parse(stream string) (nobody events.Address, name string, err error) {
	_, id, _ := strings.Cut(stream, "-")
	chain, contract, _ := strings.Cut(id, "-")
	number, noNumber := strconv.ParseUint(chain, 10, 64)
	of, noAddress := events.ParseAddress(contract)
	return nobody, events.MarketStream(number, of), errors.Join(noNumber, noAddress)
}

// State is how far the chain was followed.
type State struct {
	Block         uint64
	BlockHash     string
	ChainTime     time.Time
	BlocksDropped uint64 // by reorganisations
	Logs          []Logs // by name
}

// Logs counts those of a name.
type Logs struct {
	Log   string
	Count uint64
}

func (s State) evolve(e messages.MarketEvent) State {
	switch e := e.(type) {
	case *messages.BlocksScanned:
		s.Block, s.BlockHash, s.ChainTime = e.GetNumber(), e.GetHash(), events.TimeFromMessage(e.GetTime())
	case *messages.ChainReorganized:
		s.BlocksDropped += uint64(len(e.GetDropped()))
	case *messages.ChainStorageRequested, *messages.ChainRequestFulfilled, *messages.ChainRequestFailed,
		*messages.ChainRequestCancelled, *messages.ChainSlotFilled, *messages.ChainSlotFreed,
		*messages.ChainSlotReservationsFull, *messages.ChainProofSubmitted:
		name := strings.TrimPrefix(string(e.ProtoReflect().Descriptor().Name()), "Chain")
		i, known := slices.BinarySearchFunc(s.Logs, name, func(l Logs, name string) int {
			return strings.Compare(l.Log, name)
		})
		if s.Logs = slices.Clone(s.Logs); !known {
			s.Logs = slices.Insert(s.Logs, i, Logs{Log: name})
		}
		s.Logs[i].Count++
	}
	return s
}
