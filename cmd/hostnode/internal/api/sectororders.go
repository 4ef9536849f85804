package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
)

// maxWho is the most bytes of the name of whoever gives an order; it is stored.
const maxWho = 200

// SectorOrders takes orders about sectors. All that is ordered is durable when a method returns, and
// done afterwards.
type SectorOrders interface {
	// ImportPiece stores a file, named by an absolute path on the host's machine, as a piece; the
	// same file is the same piece. The ledger holds its bytes. problem.ErrPieceFile; *capacity.SpaceError.
	ImportPiece(ctx context.Context, path string) (Piece, error)
	// Pieces are all that the host keeps. RemovePiece removes one that no sector needs.
	Pieces(ctx context.Context) (Pieces, error)
	RemovePiece(ctx context.Context, cid string) (StoredPiece, error)
	// BeginSector begins a sector, with all of its pieces or without any, and returns its number. Repeating it
	// with the same request answers with the same sector.
	BeginSector(ctx context.Context, s NewSector) (uint64, error)
	// PlacePiece adds a piece to the first sector that takes pieces and has room, or begins one
	// for it. While a sector has the piece it is sector.ErrSamePiece, so repeating it is harmless.
	PlacePiece(ctx context.Context, p Placing) (Sector, error)
	// OrderSector orders something of one sector, and returns how it is then. problem.ErrUnknownSector.
	OrderSector(ctx context.Context, number uint64, verb Verb, order SectorOrder) (Sector, error)
}

// Piece is a piece that the host has.
type Piece struct {
	CID     string       `json:"cid"`     // its commitment, a piece CID of version 1
	Size    events.Bytes `json:"size"`    // padded
	Payload events.Bytes `json:"payload"` // without padding
}

// NewSector is a sector that is to begin.
type NewSector struct {
	Size   events.Bytes `json:"size,omitempty"`   // padded; 0: the host's own (sectors.size)
	Pieces []Piece      `json:"pieces,omitempty"` // all that it gets; none: they come later
	By     string       `json:"by"`               // who wants it
	// Request, chosen by the client (DrawID), tells a repeated request from another one, also after a restart of
	// the host. Empty: each begins another sector.
	Request string `json:"request,omitempty"`
}

// Placing is a piece for which a sector is to be found.
type Placing struct {
	Piece Piece `json:"piece"`
	// Size is that of the sector, padded; 0: any, and sectors.size for one that begins.
	Size events.Bytes `json:"size,omitempty"`
	By   string       `json:"by"`
}

// Verb is what is ordered of a sector: the last part of the path.
type Verb string

// The verbs.
const (
	VerbAddPiece  Verb = "pieces"
	VerbDropPiece Verb = "drop"
	VerbPack      Verb = "pack"
	VerbRetry     Verb = "retry"
	VerbForce     Verb = "force"
	VerbTerminate Verb = "terminate"
	VerbRemove    Verb = "remove"
)

// SectorOrder is the rest of an order.
type SectorOrder struct {
	Piece *Piece `json:"piece,omitempty"` // for VerbAddPiece
	CID   string `json:"cid,omitempty"`   // for VerbDropPiece: the piece
	State string `json:"state,omitempty"` // for VerbForce
	// DryRun says what would follow, and orders nothing.
	DryRun bool   `json:"dryRun,omitempty"`
	Reason string `json:"reason,omitempty"` // for VerbForce, VerbTerminate and VerbRemove
	By     string `json:"by"`               // who orders it
}

// order checks what the core does not, and returns the order of a sector that a request is.
func (o SectorOrder) order(number uint64, verb Verb) (sectors.Order, error) {
	o.Reason = strings.TrimSpace(o.Reason)
	needsReason := verb == VerbForce || verb == VerbTerminate || verb == VerbRemove
	switch {
	case (verb == VerbAddPiece) != (o.Piece != nil):
		return nil, fmt.Errorf("%w: a piece belongs to %q, and to nothing else", problem.ErrBadRequest, VerbAddPiece)
	case (verb == VerbDropPiece) != (o.CID != ""):
		return nil, fmt.Errorf("%w: a CID belongs to %q, and to nothing else", problem.ErrBadRequest, VerbDropPiece)
	case verb != VerbForce && o.DryRun:
		return nil, fmt.Errorf("%w: only %q can be tried", problem.ErrBadRequest, VerbForce)
	case verb != VerbForce && o.State != "":
		return nil, fmt.Errorf("%w: a state belongs to %q only", problem.ErrBadRequest, VerbForce)
	case needsReason != (o.Reason != ""):
		return nil, fmt.Errorf("%w: say why with %q, %q and %q, and with nothing else",
			problem.ErrBadRequest, VerbForce, VerbTerminate, VerbRemove)
	case len(o.Reason) > maxReason:
		return nil, fmt.Errorf("%w: a reason has at most %d bytes", problem.ErrBadRequest, maxReason)
	}
	order := o.of(number, verb)
	if order == nil {
		return nil, fmt.Errorf("%w: sectors have no %.40q", problem.ErrBadRequest, verb)
	}
	return order, named(o.By)
}

// of is the order of a sector; nil: sectors have no such verb.
func (o SectorOrder) of(number uint64, verb Verb) sectors.Order {
	switch verb {
	case VerbAddPiece:
		return sectors.AddPiece{Number: number, Piece: events.SectorPiece(*o.Piece), By: o.By}
	case VerbDropPiece:
		return sectors.DropPiece{Number: number, CID: o.CID, By: o.By}
	case VerbPack:
		return sectors.StartPacking{Number: number, By: o.By}
	case VerbRetry:
		return sectors.Restart{Number: number, By: o.By}
	case VerbForce:
		return sectors.ForceState{Number: number, State: sector.State(o.State), By: o.By, Reason: o.Reason}
	case VerbTerminate:
		return sectors.Terminate{Number: number, By: o.By, Reason: o.Reason}
	case VerbRemove:
		return sectors.Remove{Number: number, By: o.By, Reason: o.Reason}
	}
	return nil
}

// named refuses an order of nobody.
func named(by string) error {
	if strings.TrimSpace(by) == "" || len(by) > maxWho {
		return fmt.Errorf("%w: by says who wants it, in at most %d bytes", problem.ErrBadRequest, maxWho)
	}
	return nil
}

// sealing returns an error when this host seals no sectors.
func (l *Live) sealing() error {
	if l.cfg.Pieces == nil {
		return actors.ErrNoSectors
	}
	return nil
}

// ImportPiece implements SectorOrders.
func (l *Live) ImportPiece(ctx context.Context, path string) (Piece, error) {
	if err := l.sealing(); err != nil {
		return Piece{}, err
	}
	if !filepath.IsAbs(path) {
		return Piece{}, fmt.Errorf("%w: %.200q is no absolute path", problem.ErrBadRequest, path)
	}
	// A pipe would be waited for when it is opened, so this is found out before.
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", path)
	}
	if err != nil {
		return Piece{}, fmt.Errorf("%w: %w", problem.ErrPieceFile, err)
	}
	if _, err := commd.PieceSize(uint64(info.Size())); err != nil {
		return Piece{}, fmt.Errorf("%w: %s: %w", problem.ErrPieceFile, path, err)
	}
	room, known, err := l.room(ctx, "")
	if size := events.Bytes(info.Size()); err == nil && known && size > room {
		err = fmt.Errorf("%w: %s has %s, and the file system has room for %s",
			problem.ErrPieceRoom, path, size.Human(), room.Human())
	}
	if err != nil {
		return Piece{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return Piece{}, fmt.Errorf("%w: %w", problem.ErrPieceFile, err)
	}
	defer f.Close()
	p, err := l.takeIn(ctx, f)
	if err != nil {
		return Piece{}, fmt.Errorf("import %s: %w", path, err)
	}
	return Piece(p), nil
}

// has returns an error for a piece whose payload the host does not have, or that is not as large as that needs: its
// commitment would be another one, and it would block its sector.
func (l *Live) has(ctx context.Context, piece Piece) error {
	if size, err := commd.PieceSize(uint64(piece.Payload)); err != nil || events.Bytes(size) != piece.Size {
		return fmt.Errorf("piece %s: %w: it has %d bytes for %d of data",
			piece.CID, sector.ErrSize, piece.Size, piece.Payload)
	}
	f, err := l.cfg.Pieces.Open(ctx, events.SectorPiece(piece))
	if err != nil {
		return err
	}
	return f.Close()
}

// BeginSector implements SectorOrders.
func (l *Live) BeginSector(ctx context.Context, s NewSector) (uint64, error) {
	if err := errors.Join(l.sealing(), named(s.By)); err != nil {
		return 0, err
	}
	if len(s.Request) > maxWho {
		return 0, fmt.Errorf("%w: a request has at most %d bytes", problem.ErrBadRequest, maxWho)
	}
	l.pieceLock.RLock()
	defer l.pieceLock.RUnlock()
	o := sectors.Create{Size: cmp.Or(s.Size, l.cfg.SectorSize), By: s.By, Request: s.Request}
	for _, p := range s.Pieces {
		if err := l.has(ctx, p); err != nil {
			return 0, err
		}
		o.Pieces = append(o.Pieces, events.SectorPiece(p))
	}
	n, err := l.cfg.Host.BeginSector(ctx, o)
	if err != nil {
		return 0, err
	}
	return n, l.catchUp(ctx)
}

// PlacePiece implements SectorOrders.
func (l *Live) PlacePiece(ctx context.Context, p Placing) (Sector, error) {
	if err := errors.Join(l.sealing(), named(p.By)); err != nil {
		return Sector{}, err
	}
	if err := l.has(ctx, p.Piece); err != nil {
		return Sector{}, err
	}
	all, err := l.cfg.Host.Sectors(ctx)
	if err != nil {
		return Sector{}, err
	}
	order := SectorOrder{Piece: &p.Piece, By: p.By}
	for _, one := range all {
		if p.Size == 0 || one.Info.Size == p.Size {
			if err := twice(one, p.Piece); err != nil {
				return Sector{}, err
			}
		}
	}
	for _, one := range all {
		if p.Size != 0 && one.Info.Size != p.Size || !open(one) {
			continue
		}
		err := takes(one.Info, p.Piece)
		var answer Sector
		if err == nil { // There may be another piece meanwhile, or it may be packed.
			answer, err = l.OrderSector(ctx, one.Number, VerbAddPiece, order)
		}
		if refused := (*sector.Refused)(nil); errors.Is(err, sector.ErrNoRoom) || errors.As(err, &refused) {
			continue
		}
		if err != nil {
			err = fmt.Errorf("sector %d: %w", one.Number, err)
		}
		return answer, err
	}
	size := cmp.Or(p.Size, l.cfg.SectorSize)
	if err := l.fitsEmpty(p.Piece, size); err != nil {
		return Sector{}, err
	}
	// One that stays empty, because the host stops in between, is found by the next call.
	n, err := l.BeginSector(ctx, NewSector{Size: size, By: p.By})
	if err != nil {
		return Sector{}, err
	}
	return l.OrderSector(ctx, n, VerbAddPiece, order)
}

// foresee is what would be recorded if a state was forced on a sector, by the core itself.
func (l *Live) foresee(ctx context.Context, number uint64, to sector.State) (Sector, error) {
	answer, err := l.Sector(ctx, number)
	if err != nil {
		return Sector{}, err
	}
	all, err := l.cfg.Host.Sectors(ctx)
	i := slices.IndexFunc(all, func(one sectors.Standing) bool { return one.Number == number })
	if err == nil && i < 0 {
		err = fmt.Errorf("%w: number %d is over", problem.ErrUnknownSector, number)
	}
	if err != nil {
		return Sector{}, err
	}
	would, err := sector.Decide(all[i].Info, sector.Happened{
		Inputs: sector.Inputs{At: l.now()}, Event: &messages.SectorForceState{State: string(to), By: "-"}, By: "-",
	})
	for _, e := range would {
		said := sector.NameOf(e)
		if of, ok := e.(interface{ GetStep() string }); ok {
			said += " " + of.GetStep()
		}
		if why, ok := e.(interface{ GetReason() string }); ok && why.GetReason() != "" {
			said += ": " + why.GetReason()
		}
		answer.Would = append(answer.Would, said)
	}
	return answer, err
}

// open reports whether a sector takes further pieces, as far as its room goes.
func open(one sectors.Standing) bool {
	return slices.Contains([]sector.State{sector.Empty, sector.WaitDeals, sector.AddPiece}, one.Info.State) &&
		!one.Info.PackNow && !one.Info.Parked() && one.Quarantined == ""
}

// twice returns an error when a sector has the piece, and will not lose it by being ended.
func twice(one sectors.Standing, p Piece) error {
	switch one.Info.State { //nolint:exhaustive // These end.
	case sector.Terminating, sector.TerminateWait, sector.TerminateFinality, sector.TerminateFailed,
		sector.Removing, sector.RemoveFailed, sector.Removed:
		return nil
	}
	for _, o := range slices.Concat(one.Info.Pieces, one.Info.Pending) {
		if o.CID == p.CID {
			return fmt.Errorf("sector %d: piece %s: %w", one.Number, p.CID, sector.ErrSamePiece)
		}
	}
	return nil
}

// takes asks the core whether a sector would take the piece.
func takes(s sector.Info, p Piece) error {
	_, err := sector.Decide(s, sector.Happened{Event: &messages.SectorAddPiece{Piece: p.message()}})
	return err
}

// fitsEmpty asks the core whether a sector of that size could begin with the piece.
func (l *Live) fitsEmpty(p Piece, size events.Bytes) error {
	_, err := sector.Decide(sector.New(sector.Policy{}), sector.Happened{Event: &messages.SectorStart{
		Sector: 1, Provider: l.cfg.Account.String(), Size: uint64(size), Pieces: []*messages.SectorPiece{p.message()},
	}})
	return err
}

func (p Piece) message() *messages.SectorPiece {
	return &messages.SectorPiece{Cid: p.CID, Size: uint64(p.Size), Payload: uint64(p.Payload)}
}

// OrderSector implements SectorOrders.
func (l *Live) OrderSector(ctx context.Context, number uint64, verb Verb, order SectorOrder) (Sector, error) {
	o, err := order.order(number, verb)
	if err = errors.Join(l.sealing(), err); err != nil {
		return Sector{}, err
	}
	if order.Piece != nil {
		l.pieceLock.RLock()
		defer l.pieceLock.RUnlock()
		if err := l.has(ctx, *order.Piece); err != nil {
			return Sector{}, err
		}
	}
	if order.DryRun {
		return l.foresee(ctx, number, sector.State(order.State))
	}
	_, ordered := l.cfg.Host.OrderSector(ctx, o)
	if err := l.catchUp(ctx); err != nil {
		return Sector{}, errors.Join(ordered, err)
	}
	answer, err := l.reader.Sector(ctx, number) // Of its step there is nothing to tell yet.
	if ordered != nil && !errors.Is(err, problem.ErrUnknownSector) {
		err = ordered
	}
	return answer, err
}
