package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// logEntry is a log as the node gives it.
type logEntry = types.Log

// maxCIDBytes is the longest content id of a request that we look at. Real ones have
// about 40 bytes; clients may write what they like, and pay for it.
const maxCIDBytes = 1024

// reader turns one kind of log into a message; nil means that it says nothing to us.
type reader func(ctx context.Context, l *logEntry, at *messages.ChainLog) (messages.MarketEvent, error)

// readers are the kinds of log that we read, by topic.
type readers map[common.Hash]reader

func (r readers) topics() []common.Hash {
	var topics []common.Hash
	for topic := range r {
		topics = append(topics, topic)
	}
	slices.SortFunc(topics, common.Hash.Cmp)
	return topics
}

// errSkip marks a log that makes no sense; the rest of its block does.
var errSkip = errors.New("log is skipped")

func skip(err error) error { return fmt.Errorf("%w: %w", errSkip, err) }

func (f *Follower) readers() readers {
	a := f.abis.market
	contract := a.GetABI()
	topic := func(name string) common.Hash { return contract.Events[name].ID }
	return readers{
		topic("StorageRequested"): f.readRequested,
		topic("RequestFulfilled"): read(a.UnpackRequestFulfilledEvent,
			func(e *bindings.MarketplaceRequestFulfilled, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainRequestFulfilled{RequestId: hex32(e.RequestId), Log: at}
			}),
		topic("RequestFailed"): read(a.UnpackRequestFailedEvent,
			func(e *bindings.MarketplaceRequestFailed, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainRequestFailed{RequestId: hex32(e.RequestId), Log: at}
			}),
		topic("RequestCancelled"): read(a.UnpackRequestCancelledEvent,
			func(e *bindings.MarketplaceRequestCancelled, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainRequestCancelled{RequestId: hex32(e.RequestId), Log: at}
			}),
		topic("SlotFilled"): read(a.UnpackSlotFilledEvent,
			func(e *bindings.MarketplaceSlotFilled, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainSlotFilled{
					RequestId: hex32(e.RequestId), SlotIndex: e.SlotIndex, Log: at,
				}
			}),
		topic("SlotFreed"): read(a.UnpackSlotFreedEvent,
			func(e *bindings.MarketplaceSlotFreed, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainSlotFreed{
					RequestId: hex32(e.RequestId), SlotIndex: e.SlotIndex, Log: at,
				}
			}),
		topic("SlotReservationsFull"): read(a.UnpackSlotReservationsFullEvent,
			func(e *bindings.MarketplaceSlotReservationsFull, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainSlotReservationsFull{
					RequestId: hex32(e.RequestId), SlotIndex: e.SlotIndex, Log: at,
				}
			}),
		topic("ProofSubmitted"): read(a.UnpackProofSubmittedEvent,
			func(e *bindings.MarketplaceProofSubmitted, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainProofSubmitted{SlotId: hex32(e.Id), Log: at}
			}),
	}
}

func hex32(b [32]byte) string { return events.Hash(b).String() }

// read makes a reader of a log whose message needs nothing but the log.
func read[E any](
	unpack func(*types.Log) (*E, error),
	message func(*E, *messages.ChainLog) messages.MarketEvent,
) reader {
	return func(_ context.Context, l *logEntry, at *messages.ChainLog) (messages.MarketEvent, error) {
		e, err := unpack(l)
		if err != nil {
			return nil, skip(err)
		}
		return message(e, at), nil
	}
}

// translate turns logs into messages, in order and each once. Logs that make no sense
// are left out with a line in the log; an error means that the node could not be asked.
func (f *Follower) translate(
	ctx context.Context, logs []logEntry, blockOf func(common.Hash) *header,
) ([]messages.MarketEvent, error) {
	type place struct {
		block common.Hash
		index uint
	}
	known := f.readers()
	seen := map[place]bool{}
	var found []messages.MarketEvent
	for i := range logs {
		l := &logs[i]
		here := place{l.BlockHash, l.Index}
		if l.Removed || seen[here] || l.Address != f.contract || len(l.Topics) == 0 {
			continue
		}
		seen[here] = true
		readLog := known[l.Topics[0]]
		if readLog == nil {
			continue
		}
		block := blockOf(l.BlockHash)
		if block == nil {
			return nil, fmt.Errorf("log %d of unknown block %s", l.Index, l.BlockHash)
		}
		if uint64(block.Number) != l.BlockNumber {
			return nil, f.conn.disbelieveNow(ctx, "for logs", fmt.Errorf("it names block %s as number %d, which is %d",
				l.BlockHash, l.BlockNumber, uint64(block.Number)))
		}
		e, err := readLog(ctx, l, &messages.ChainLog{
			Block:     uint64(block.Number),
			BlockHash: events.Hash(l.BlockHash).String(),
			Index:     uint32(l.Index),
			TxHash:    events.Hash(l.TxHash).String(),
			Time:      events.TimeToMessage(block.head().Time),
		})
		if errors.Is(err, errSkip) {
			f.log.WithError(err).WithField("tx", l.TxHash).Warn("follow the chain: a log makes no sense")
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, nil
}

// readRequested adds the whole request to the news of it. Requests never change, so any
// block that has it will do when the node forgot the state of its own block.
func (f *Follower) readRequested(
	ctx context.Context, l *logEntry, at *messages.ChainLog,
) (messages.MarketEvent, error) {
	e, err := f.abis.market.UnpackStorageRequestedEvent(l)
	if err != nil {
		return nil, skip(err)
	}
	request, err := readRequest(ctx, f.conn, f.abis, f.contract, l.BlockHash, e.RequestId)
	if err != nil && !errors.Is(err, events.ErrUnknownRequest) {
		head, errHead := f.conn.latest(ctx)
		if errHead != nil {
			return nil, errHead
		}
		if uint64(head.Number) < l.BlockNumber {
			return nil, fmt.Errorf("read request %x: %w: it has not got as far as its block", e.RequestId, errNotYet)
		}
		request, err = readRequest(ctx, f.conn, f.abis, f.contract, head.Hash, e.RequestId)
	}
	expires := events.Unix(e.Expiry)
	switch {
	case errors.Is(err, events.ErrUnknownRequest), errors.Is(err, events.ErrReverted):
		return nil, skip(err)
	case err != nil:
		return nil, err
	case len(request.Content.CID) > maxCIDBytes:
		return nil, skip(fmt.Errorf("request %x: content id of %d bytes, the limit is %d",
			e.RequestId, len(request.Content.CID), maxCIDBytes))
	case e.Expiry > events.MaxUnix:
		return nil, skip(fmt.Errorf("request %x: expires at %d, which no calendar has",
			e.RequestId, e.Expiry))
	}
	return &messages.ChainStorageRequested{
		RequestId: hex32(e.RequestId),
		Request:   events.RequestToMessage(request),
		ExpiresAt: events.TimeToMessage(expires),
		Log:       at,
	}, nil
}
