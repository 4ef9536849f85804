package aggregation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hostnode/hostnode/actors"
	room "github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
	"github.com/hostnode/hostnode/storage/car"
	files "github.com/hostnode/hostnode/storage/sectors"
	"github.com/hostnode/hostnode/storage/sources"
)

// This file has the bytes of CARs, of their pieces, and of aggregates.

// contents reads CARs from their sources. It implements port.Contents.
type contents struct {
	*sources.Sources
	options car.Options
}

func (c contents) Examine(
	ctx context.Context, claim events.ContentClaim, from events.ContentSource,
) (found events.ContentFound, err error) {
	body, err := c.Open(ctx, from, 0)
	if err != nil {
		return found, err
	}
	defer body.Close()
	return car.Examine(ctx, body, claim, c.options)
}

// copies keeps bytes of pieces in a running host. It implements port.Copies.
type copies struct {
	*files.Pieces
	host  func(context.Context) *actors.Host
	quota events.Bytes
	now   func() time.Time
}

// proofsShare is how many bytes of the quota copies leave for the proofs of the next aggregates: without these, no copy
// would ever be released. Those of one take a thousandth of its size.
func proofsShare(aggregate events.Bytes) events.Bytes { return aggregate/100 + minProofs }

// minProofs are enough for the proofs of small aggregates.
const minProofs = 64 << 10

// butFor is the same with less of the quota.
func (c copies) butFor(bytes events.Bytes) copies {
	if c.quota > 0 {
		c.quota = max(1, c.quota-min(c.quota, bytes))
	}
	return c
}

func (c copies) Keep(ctx context.Context, piece events.SectorPiece, payload io.Reader) error {
	host := c.host(ctx)
	if host == nil {
		return ctx.Err()
	}
	// It answers when the files of pieces were compared with the ledger, which gives back what is held for a file that
	// is not there, as this one is not yet.
	if _, err := host.Sectors(ctx); err != nil && !errors.Is(err, actors.ErrNoSectors) {
		return err
	}
	hold := capacity.HoldPiece{
		At: c.now(), Piece: capacity.Piece{CID: piece.CID, Bytes: piece.Payload}, Quota: c.quota,
	}
	if err := host.Ledger(ctx, hold); err != nil {
		return err
	}
	return c.Put(ctx, piece, payload)
}

// Drop leaves what a sector needs.
func (c copies) Drop(ctx context.Context, cid string) error {
	host := c.host(ctx)
	if host == nil {
		return ctx.Err()
	}
	standing, err := host.Sectors(ctx)
	if err != nil && !errors.Is(err, actors.ErrNoSectors) {
		return err
	}
	for _, one := range standing {
		if sectors.Needs(one.Info, cid) {
			return nil
		}
	}
	if err := c.Remove(events.SectorPiece{CID: cid}); err != nil {
		return err
	}
	return host.Ledger(ctx, capacity.ReleasePiece{At: c.now(), CID: cid})
}

// objects has the bytes of aggregates. It implements port.PieceSource, so that an aggregate can be a piece of a sector
// without ever being a file.
type objects struct {
	part     *shell.Part
	files    *files.Pieces
	contents contents
	store    events.Store
	me       events.Address
}

// List implements port.PieceSource: aggregates are no files.
func (o objects) List() ([]events.SectorPiece, error) { return nil, nil }

// Open implements port.PieceSource.
func (o objects) Open(ctx context.Context, piece events.SectorPiece) (io.ReadCloser, error) {
	object, err := o.object(ctx, piece.CID)
	if errors.Is(err, cargo.ErrUnknown) {
		return nil, fmt.Errorf("%w: %w", events.ErrNoSuchPiece, err)
	}
	if err != nil { // The room is down, or reads its record: nothing is known of the piece.
		return nil, err
	}
	return object, nil
}

// object is the whole of an aggregate: its pieces, zeros, its index.
func (o objects) object(ctx context.Context, aggregate string) (*segment.Object, error) {
	layout, err := shell.Ask[room.Layout](o.part, room.OfAggregate{Aggregate: aggregate}).Wait(ctx)
	if err != nil {
		return nil, err
	}
	return segment.NewObject(layout.Size, layout.Pieces, func(i int, offset uint64) (io.ReadCloser, error) {
		return o.payload(ctx, layout.Pieces[i], layout.Contents[i], offset)
	})
}

// payload reads a piece from its copy here, or from a source of its content.
func (o objects) payload(
	ctx context.Context, p segment.Piece, link events.ContentLink, offset uint64,
) (io.ReadCloser, error) {
	piece := events.SectorPiece{CID: commd.CID(p.Root), Size: events.Bytes(p.Size), Payload: events.Bytes(p.Payload)}
	in, err := o.files.Open(ctx, piece)
	if err == nil {
		_, err = in.(io.Seeker).Seek(int64(offset), io.SeekStart) //nolint:gosec // At most a sector's size.
		return in, err
	}
	of, readErr := fold(ctx, o.store, nil, events.ContentStream(o.me, link), content.Evolve)
	if readErr != nil {
		return nil, readErr
	}
	for _, source := range of.Sources {
		body, openErr := o.contents.Open(ctx, source, 0)
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		v := &verified{ReadCloser: body, calc: commd.NewCalc(), piece: p}
		_, skipErr := io.CopyN(io.Discard, v, int64(offset)) //nolint:gosec // As above.
		if skipErr == nil {
			return v, nil
		}
		err = errors.Join(err, skipErr, body.Close())
	}
	return nil, fmt.Errorf("%w: the bytes of %s: %w", events.ErrSourceAway, piece.CID, err)
}

// verified reads a payload from its beginning, and compares it with its piece at the end. Before it is known that all
// of it is right, its last bytes are not given out.
type verified struct {
	io.ReadCloser
	calc  *commd.Calc
	piece segment.Piece
	read  uint64
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	if _, tooLong := v.calc.Write(p[:n]); tooLong != nil {
		return 0, fmt.Errorf("%w: %w", events.ErrPieceMismatch, tooLong)
	}
	if v.read += uint64(n); n > 0 && v.read >= v.piece.Payload { //nolint:gosec // Not negative.
		got, calcErr := v.calc.CommitmentIn(v.piece.Size)
		if calcErr != nil || v.read != v.piece.Payload || !bytes.Equal(got.Root[:], v.piece.Root[:]) {
			return 0, fmt.Errorf("%w: its source has other bytes than it had", events.ErrPieceMismatch)
		}
	}
	return n, err
}
