// Package access decides who may use the HTTP API over TCP. The API itself is package api's, and its unix socket needs
// none of this, because only the user who runs the host can open it.
//
// A request passes three things, in this order. Server (listen.go) is the listener: TLS, and the limits on connections,
// headers and slow clients. Guard (guard.go) refuses what comes too often, under a name that is not the host's, from a
// page of another site, or without a token where one is needed. Tokens (tokens.go) is the file of the tokens, which
// the commands `hostnode token` change beside a running host. Handlers find out by Of who asks.
package access

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Scope is what a token allows.
type Scope string

// The scopes.
const (
	Read    Scope = "read"    // sees everything, changes nothing
	Operate Scope = "operate" // gives orders, too
)

// Principal is who makes a request: the token that it brought.
type Principal struct {
	Token string
	Scope Scope
}

// visit is what Guard knows of a request that it has let in.
type visit struct {
	who  Principal
	body io.ReadCloser // without the usual limit
}

type visitKey struct{}

// Of is who makes the request of a context; false: it brought no token, or came over the unix socket.
func Of(ctx context.Context) (Principal, bool) {
	v, _ := ctx.Value(visitKey{}).(*visit)
	if v == nil {
		return Principal{}, false
	}
	return v.who, v.who != Principal{}
}

// Upload lets the handler of a large upload read more, and for longer, than a request usually may. It is called before
// anything is read.
func Upload(w http.ResponseWriter, r *http.Request, most int64, within time.Duration) error {
	if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
		r.Body = v.body
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	return http.NewResponseController(w).SetReadDeadline(time.Now().Add(within))
}
