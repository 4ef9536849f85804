package main

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/witness"
	"github.com/hostnode/hostnode/projections"
)

// accountMarket is a market as the account of the scripts sees it.
type accountMarket struct{ port.Market }

func (accountMarket) Account() events.Address { return events.Must(events.ParseAddress(scriptAccount)) }

// host runs a host over the record of the data directory, on a market on which nothing
// happens, and answers on the socket.
func host(ts *testscript.TestScript, _ bool, _ []string) {
	dir, err := datadir.Open(ts.Getenv("DATA"), time.Now())
	ts.Check(err)
	opened, _, err := embedded.Open(dir.Events(), embedded.Config{})
	ts.Check(err)
	store, _, err := witness.New(context.Background(), opened, dir.Acknowledged())
	ts.Check(err)
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(context.Background())
	ports := sim.NewWorld(events.NewAmount(1 << 40)).Ports(store)
	ports.Market, ports.Witness = accountMarket{ports.Market}, store
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
		Host: host, Store: opened, Projector: views, Account: ports.Market.Account(), DataDir: ts.Getenv("DATA"),
	}), logrus.NewEntry(log))
	ts.Check(err)
	end := sync.OnceFunc(func() {
		err := server.Close()
		host.Kill()
		cancel()
		ts.Check(errors.Join(err, views.Close(), store.Close(), dir.Close()))
	})
	hosts.Store(ts.Getenv("DATA"), end)
	ts.Defer(end)
}

// hosts are the ends of the hosts that scripts run, by their data directories.
var hosts sync.Map

// kill kills the host that the script runs.
func kill(ts *testscript.TestScript, _ bool, _ []string) {
	end, ok := hosts.Load(ts.Getenv("DATA"))
	if !ok {
		ts.Fatalf("no host runs")
	}
	end.(func())()
}
