package main

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/codexapi"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
)

// uploadTime is how long an upload over Codex's API may take.
const uploadTime = 6 * time.Hour

// codex is Codex's REST API with the buyer who is behind its calls. The zero value answers nothing.
type codex struct {
	client *requester.Client
	most   int64 // bytes of an upload
	api    atomic.Pointer[codexapi.API]
}

// newCodex has the host read what is uploaded from the buyer's shelf, when it is what the host buys.
func newCodex(c config.Config, begin *node.Begin) *codex {
	x := &codex{most: int64(c.API.MaxUpload)} //nolint:gosec // The settings bound it.
	if c.API.Codex && c.API.Listen != "" {
		x.client = requester.NewClient(c, "")
		begin.Local = x.client.Shelf
	}
	return x
}

// serve begins to answer for a host that runs.
func (x *codex) serve(live *api.Live, p *node.Process, c config.Config, log *logrus.Entry) {
	if x.client == nil {
		return
	}
	x.api.Store(codexapi.New(codexapi.Config{
		Host: live, Market: p.Market, Buyer: x.client, Shelf: x.client.Shelf, Content: p.Content,
		Room: func() (events.Bytes, error) {
			free, err := p.Repo.Room()
			return free - min(free, c.Storage.KeepFree), err
		},
		MaxUpload: c.API.MaxUpload, Log: log,
	}))
}

// Close ends what goes on behind the calls; the host must run still.
func (x *codex) Close() error {
	if x.client == nil {
		return nil
	}
	var err error
	if a := x.api.Swap(nil); a != nil {
		err = a.Close()
	}
	return errors.Join(err, x.client.Close())
}

// ServeHTTP implements http.Handler. Codex says errors as plain text.
func (x *codex) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := x.api.Load()
	if a == nil {
		http.Error(w, "The host is starting or stopping", http.StatusServiceUnavailable)
		return
	}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1/data") {
		if err := access.Upload(w, r, x.most, uploadTime); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	a.ServeHTTP(w, r)
}
