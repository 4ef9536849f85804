package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// maxCIDBytes is the longest content id of a request that we read. Real ones have about 40 bytes,
// but clients can write, and pay for, anything.
const maxCIDBytes = 1024

// marketReaders read the logs of the marketplace.
func (m *Market) marketReaders() feed.Readers[messages.MarketEvent] {
	a := m.abis.market
	contract := a.GetABI()
	topic := func(name string) common.Hash { return contract.Events[name].ID }
	return feed.Readers[messages.MarketEvent]{
		topic("StorageRequested"): m.readRequested,
		topic("RequestFulfilled"): feed.Read(a.UnpackRequestFulfilledEvent,
			func(e *bindings.MarketplaceRequestFulfilled, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainRequestFulfilled{RequestId: hex32(e.RequestId), Log: at}
			}),
		topic("RequestFailed"): feed.Read(a.UnpackRequestFailedEvent,
			func(e *bindings.MarketplaceRequestFailed, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainRequestFailed{RequestId: hex32(e.RequestId), Log: at}
			}),
		topic("RequestCancelled"): feed.Read(a.UnpackRequestCancelledEvent,
			func(e *bindings.MarketplaceRequestCancelled, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainRequestCancelled{RequestId: hex32(e.RequestId), Log: at}
			}),
		topic("SlotFilled"): feed.Read(a.UnpackSlotFilledEvent,
			func(e *bindings.MarketplaceSlotFilled, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainSlotFilled{
					RequestId: hex32(e.RequestId), SlotIndex: e.SlotIndex, Log: at,
				}
			}),
		topic("SlotFreed"): feed.Read(a.UnpackSlotFreedEvent,
			func(e *bindings.MarketplaceSlotFreed, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainSlotFreed{
					RequestId: hex32(e.RequestId), SlotIndex: e.SlotIndex, Log: at,
				}
			}),
		topic("SlotReservationsFull"): feed.Read(a.UnpackSlotReservationsFullEvent,
			func(e *bindings.MarketplaceSlotReservationsFull, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainSlotReservationsFull{
					RequestId: hex32(e.RequestId), SlotIndex: e.SlotIndex, Log: at,
				}
			}),
		topic("ProofSubmitted"): feed.Read(a.UnpackProofSubmittedEvent,
			func(e *bindings.MarketplaceProofSubmitted, at *messages.ChainLog) messages.MarketEvent {
				return &messages.ChainProofSubmitted{SlotId: hex32(e.Id), Log: at}
			}),
	}
}

func hex32(b [32]byte) string { return events.Hash(b).String() }

// readRequested adds the whole request to its announcement. Requests never change, so a later block
// will do when the node no longer has the state of the log's block.
func (m *Market) readRequested(
	ctx context.Context, l *types.Log, at *messages.ChainLog,
) (messages.MarketEvent, error) {
	e, err := m.abis.market.UnpackStorageRequestedEvent(l)
	if err != nil {
		return nil, feed.Skip(err)
	}
	request, err := readRequest(ctx, m.conn, m.abis, m.contract, l.BlockHash, e.RequestId)
	if err != nil && !errors.Is(err, events.ErrUnknownRequest) {
		head, errHead := m.conn.Latest(ctx)
		if errHead != nil {
			return nil, errHead
		}
		if uint64(head.Number) < l.BlockNumber {
			return nil, fmt.Errorf("read request %x: %w: it has not reached its block",
				e.RequestId, feed.ErrNotYet)
		}
		request, err = readRequest(ctx, m.conn, m.abis, m.contract, head.Hash, e.RequestId)
	}
	expires := events.Unix(e.Expiry)
	switch {
	case errors.Is(err, events.ErrUnknownRequest), errors.Is(err, events.ErrReverted):
		return nil, feed.Skip(err)
	case err != nil:
		return nil, err
	case len(request.Content.CID) > maxCIDBytes:
		return nil, feed.Skip(fmt.Errorf("request %x: content id of %d bytes, the limit is %d",
			e.RequestId, len(request.Content.CID), maxCIDBytes))
	case e.Expiry > events.MaxUnix:
		return nil, feed.Skip(fmt.Errorf("request %x: expires at the impossible time %d",
			e.RequestId, e.Expiry))
	}
	return &messages.ChainStorageRequested{
		RequestId: hex32(e.RequestId),
		Request:   events.RequestToMessage(request),
		ExpiresAt: events.TimeToMessage(expires),
		Log:       at,
	}, nil
}
