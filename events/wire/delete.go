package wire

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"github.com/hostnode/hostnode/events"
)

// Delete hides a stream until something is appended to it.
func (v *streamsService) Delete(ctx context.Context, req *streams.DeleteReq) (*streams.DeleteResp, error) {
	o := req.GetOptions()
	wanted, err := expected("delete", o)
	if err != nil {
		return nil, err
	}
	at, err := v.s.remove(ctx, o.GetStreamIdentifier(), wanted, false)
	if err != nil {
		return nil, err
	}
	return &streams.DeleteResp{PositionOption: &streams.DeleteResp_Position_{
		Position: &streams.DeleteResp_Position{CommitPosition: at, PreparePosition: at},
	}}, nil
}

// Tombstone ends a stream for good.
func (v *streamsService) Tombstone(ctx context.Context, req *streams.TombstoneReq) (*streams.TombstoneResp, error) {
	o := req.GetOptions()
	wanted, err := expected("tombstone", o)
	if err != nil {
		return nil, err
	}
	at, err := v.s.remove(ctx, o.GetStreamIdentifier(), wanted, true)
	if err != nil {
		return nil, err
	}
	return &streams.TombstoneResp{PositionOption: &streams.TombstoneResp_Position_{
		Position: &streams.TombstoneResp_Position{CommitPosition: at, PreparePosition: at},
	}}, nil
}

func (s *Server) remove(
	ctx context.Context, id *shared.StreamIdentifier, expected events.Expected, forever bool,
) (uint64, error) {
	stream, err := streamName(id)
	if err != nil {
		return 0, err
	}
	if err := s.allow(ctx, toDelete, stream); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.AppendTime)
	defer cancel()
	at, err := s.cfg.Store.Delete(ctx, stream, expected, forever)
	return uint64(at), refuse(err, stream)
}
