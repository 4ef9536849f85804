package main

import (
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/codexapi"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
)

// codexHandler answers the calls of Codex's REST API for a host that runs. Client is the buyer: its shelf was the
// Begin.Local of the start, so that the host reads uploads from there when it buys them. It must be closed before the
// host stops.
func codexHandler(p *node.Process, c config.Config, client *requester.Client, log *logrus.Entry) *codexapi.API {
	return codexapi.New(codexapi.Config{
		Host: running(p, c), Market: p.Market, Buyer: client, Shelf: client.Shelf, Content: p.Content,
		Room: func() (events.Bytes, error) {
			free, err := p.Repo.Room()
			return free - min(free, c.Storage.KeepFree), err
		},
		Log: log,
	})
}
