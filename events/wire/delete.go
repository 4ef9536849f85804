package wire

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/protobuf/proto"
)

// Delete hides a stream until something is appended to it.
func (v *streamsService) Delete(ctx context.Context, req *streams.DeleteReq) (*streams.DeleteResp, error) {
	at, err := v.s.remove(ctx, "delete", req.GetOptions(), false)
	if err != nil {
		return nil, err
	}
	return &streams.DeleteResp{PositionOption: &streams.DeleteResp_Position_{
		Position: &streams.DeleteResp_Position{CommitPosition: at, PreparePosition: at},
	}}, nil
}

// Tombstone ends a stream for good.
func (v *streamsService) Tombstone(ctx context.Context, req *streams.TombstoneReq) (*streams.TombstoneResp, error) {
	at, err := v.s.remove(ctx, "tombstone", req.GetOptions(), true)
	if err != nil {
		return nil, err
	}
	return &streams.TombstoneResp{PositionOption: &streams.TombstoneResp_Position_{
		Position: &streams.TombstoneResp_Position{CommitPosition: at, PreparePosition: at},
	}}, nil
}

// deletion says which stream is to be deleted, and where it is expected to be.
type deletion interface {
	proto.Message
	GetStreamIdentifier() *shared.StreamIdentifier
}

func (s *Server) remove(ctx context.Context, what string, o deletion, forever bool) (uint64, error) {
	wanted, err := expected(what, o)
	if err != nil {
		return 0, err
	}
	stream, err := streamName(o.GetStreamIdentifier())
	if err != nil {
		return 0, err
	}
	if err := s.allow(ctx, toDelete, stream); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.AppendTime)
	defer cancel()
	at, err := s.cfg.Store.Delete(ctx, stream, wanted, forever)
	return uint64(at), refuse(err, stream)
}
