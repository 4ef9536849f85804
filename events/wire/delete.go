package wire

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/protobuf/proto"
)

// Delete hides a stream until something is appended to it.
func (v *streamsService) Delete(ctx context.Context, req *streams.DeleteReq) (*streams.DeleteResp, error) {
	answer := &streams.DeleteResp{}
	return answer, v.s.remove(ctx, "delete", req.GetOptions(), false, answer)
}

// Tombstone ends a stream for good.
func (v *streamsService) Tombstone(ctx context.Context, req *streams.TombstoneReq) (*streams.TombstoneResp, error) {
	answer := &streams.TombstoneResp{}
	return answer, v.s.remove(ctx, "tombstone", req.GetOptions(), true, answer)
}

// deletion says which stream is to be deleted, and where it is expected to be.
type deletion interface {
	proto.Message
	GetStreamIdentifier() *shared.StreamIdentifier
}

func (s *Server) remove(ctx context.Context, what string, o deletion, forever bool, answer proto.Message) error {
	wanted, err := expected(what, o)
	if err != nil {
		return err
	}
	stream, err := streamName(o.GetStreamIdentifier())
	if err != nil {
		return err
	}
	if err := s.allow(ctx, toDelete, stream); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.AppendTime)
	defer cancel()
	at, err := s.cfg.Store.Delete(ctx, stream, wanted, forever)
	choose(answer, uint64(at), "position")
	return refuse(err, stream)
}
