package api

import (
	"context"
	"net/http"
	"net/url"
)

// How orders about sectors come over the socket, and who takes none.

// noOrders implements SectorOrders, and Backend.TryAgain, with an error: only a running host has sectors that
// obey, and can try anything.
type noOrders func() error

func (why noOrders) TryAgain(context.Context, string) (Quarantine, error) { return Quarantine{}, why() }
func (why noOrders) ImportPiece(context.Context, string) (Piece, error)   { return Piece{}, why() }
func (why noOrders) Pieces(context.Context) (Pieces, error)               { return Pieces{}, why() }
func (why noOrders) RemovePiece(context.Context, string) (StoredPiece, error) {
	return StoredPiece{}, why()
}
func (why noOrders) BeginSector(context.Context, NewSector) (uint64, error) { return 0, why() }
func (why noOrders) PlacePiece(context.Context, Placing) (Sector, error)    { return Sector{}, why() }

func (why noOrders) OrderSector(context.Context, uint64, Verb, SectorOrder) (Sector, error) {
	return Sector{}, why()
}

// file names a file on the host's machine.
type file struct {
	Path string `json:"path"`
}

// numbered answers with the number of a new sector.
type numbered struct {
	Number uint64 `json:"number"`
}

// orderRoutes are those of SectorOrders.
func orderRoutes(b SectorOrders) []route {
	routes := []route{
		{http.MethodPost, "/v1/pieces", bodied(func(ctx context.Context, f file) (Piece, error) {
			return b.ImportPiece(ctx, f.Path)
		}), auditTime},
		{http.MethodGet, "/v1/pieces", func(r *http.Request) (any, error) { return b.Pieces(r.Context()) }, auditTime},
		{http.MethodDelete, "/v1/pieces/{cid}", func(r *http.Request) (any, error) {
			return b.RemovePiece(r.Context(), r.PathValue("cid"))
		}, answerTime},
		{http.MethodPost, "/v1/sectors", bodied(func(ctx context.Context, s NewSector) (numbered, error) {
			n, err := b.BeginSector(ctx, s)
			return numbered{n}, err
		}), answerTime},
		{http.MethodPost, "/v1/sectors/pieces", bodied(b.PlacePiece), answerTime},
	}
	for verb := range verbs {
		path := "/v1/sectors/{number}/" + string(verb)
		routes = append(routes, route{http.MethodPost, path, func(r *http.Request) (any, error) {
			n, err := numberOf(r)
			if err != nil {
				return nil, err
			}
			return bodied(func(ctx context.Context, o SectorOrder) (Sector, error) {
				return b.OrderSector(ctx, n, verb, o)
			})(r)
		}, answerTime})
	}
	return routes
}

// ImportPiece implements SectorOrders.
func (c *Client) ImportPiece(ctx context.Context, path string) (Piece, error) {
	return ask[Piece](ctx, c, http.MethodPost, "/v1/pieces", file{path})
}

// Pieces implements SectorOrders.
func (c *Client) Pieces(ctx context.Context) (Pieces, error) {
	return ask[Pieces](ctx, c, http.MethodGet, "/v1/pieces", nil)
}

// RemovePiece implements SectorOrders.
func (c *Client) RemovePiece(ctx context.Context, cid string) (StoredPiece, error) {
	return ask[StoredPiece](ctx, c, http.MethodDelete, "/v1/pieces/"+url.PathEscape(cid), nil)
}

// BeginSector implements SectorOrders.
func (c *Client) BeginSector(ctx context.Context, s NewSector) (uint64, error) {
	answer, err := ask[numbered](ctx, c, http.MethodPost, "/v1/sectors", s)
	return answer.Number, err
}

// PlacePiece implements SectorOrders.
func (c *Client) PlacePiece(ctx context.Context, p Placing) (Sector, error) {
	return ask[Sector](ctx, c, http.MethodPost, "/v1/sectors/pieces", p)
}

// OrderSector implements SectorOrders.
func (c *Client) OrderSector(ctx context.Context, number uint64, verb Verb, order SectorOrder) (Sector, error) {
	return ask[Sector](ctx, c, http.MethodPost, "/v1/"+sectorPath(number)+"/"+string(verb), order)
}
