package api

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// How orders about sectors come over the socket, and who takes none.

// noOrders implements SectorOrders with an error: only a running host has sectors that obey.
type noOrders func() error

func (why noOrders) ImportPiece(context.Context, string) (Piece, error) { return Piece{}, why() }
func (why noOrders) Pieces(context.Context) (Pieces, error)             { return Pieces{}, why() }
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

// orderRoutes are those of SectorOrders, but for the one that GET has too.
func orderRoutes(b SectorOrders) []route {
	post := func(path string, ask answer, limit time.Duration) route {
		return route{"/v1/" + path, map[string]answer{http.MethodPost: ask}, limit}
	}
	routes := []route{
		{"/v1/pieces", map[string]answer{
			http.MethodPost: bodied(func(ctx context.Context, f file) (Piece, error) {
				return b.ImportPiece(ctx, f.Path)
			}),
			http.MethodGet: func(r *http.Request) (any, error) { return b.Pieces(r.Context()) },
		}, auditTime},
		{"/v1/pieces/{cid}", map[string]answer{http.MethodDelete: func(r *http.Request) (any, error) {
			return b.RemovePiece(r.Context(), r.PathValue("cid"))
		}}, answerTime},
		post("sectors/pieces", bodied(b.PlacePiece), answerTime),
	}
	for verb := range verbs {
		routes = append(routes, post("sectors/{number}/"+string(verb), func(r *http.Request) (any, error) {
			n, err := numberOf(r)
			if err != nil {
				return nil, err
			}
			return bodied(func(ctx context.Context, o SectorOrder) (Sector, error) {
				return b.OrderSector(ctx, n, verb, o)
			})(r)
		}, answerTime))
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
