package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/projections"
)

// accountMarket is a market as the account of the scripts sees it.
type accountMarket struct{ actors.Market }

func (accountMarket) Account() events.Address { return events.Must(events.ParseAddress(scriptAccount)) }

// host runs a host over the record of the data directory, on a market on which nothing
// happens, and answers on the socket.
func host(ts *testscript.TestScript, _ bool, _ []string) {
	dir, err := datadir.Open(ts.Getenv("DATA"), time.Now())
	ts.Check(err)
	store, _, err := embedded.Open(dir.Events(), embedded.Config{})
	ts.Check(err)
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(context.Background())
	ports := sim.NewWorld(events.NewAmount(1 << 40)).Ports(store)
	ports.Market = accountMarket{ports.Market}
	host, err := actors.Start(ctx, actors.Config{
		Node: "script", Version: "v1", ChainID: 31337, Genesis: events.Hash{1}, Contract: events.Address{9},
	}, ports, logrus.NewEntry(log))
	ts.Check(err)
	views, err := projections.Open(ctx, store, projections.Config{})
	ts.Check(err)
	views.Follow(ctx)
	for { // It answers as soon as it has read its record.
		st, err := host.Status(ctx)
		ts.Check(err)
		if st.Booted {
			break
		}
	}
	socket, err := datadir.At(ts.Getenv("DATA")).SocketPath("hostnode.sock")
	ts.Check(err)
	server, err := api.Listen(socket, api.NewLive(api.LiveConfig{
		Host: host, Store: store, Projector: views, Account: ports.Market.Account(), DataDir: ts.Getenv("DATA"),
	}), logrus.NewEntry(log))
	ts.Check(err)
	ts.Defer(func() {
		err := server.Close()
		host.Kill()
		cancel()
		ts.Check(errors.Join(err, views.Close(), store.Close(), dir.Close()))
	})
}
