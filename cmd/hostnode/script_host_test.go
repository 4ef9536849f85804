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
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerting"
	cmdalerts "github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/witness"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/storage/sectors"
)

// accountMarket is a market as the account of the scripts sees it.
type accountMarket struct{ port.Market }

func (accountMarket) Account() events.Address { return events.Must(events.ParseAddress(scriptAccount)) }

// silentProvider is a contract of sectors whose chain does not answer, so that only operators
// change a sector's state.
type silentProvider struct{ port.ProviderChain }

var errSilent = errors.New("no node answers")

func (silentProvider) Config(context.Context) (c events.SectorConfig, err error) { return c, errSilent }

func (silentProvider) Head(context.Context) (h events.Head, err error) { return h, errSilent }

func (silentProvider) Owed(context.Context) (owed events.Amount, err error) { return owed, errSilent }

func (silentProvider) Window(context.Context) (w events.SectorWindow, err error) { return w, errSilent }

func (silentProvider) Sectors(context.Context, []uint64) (all []events.SectorOnChain, err error) {
	return all, errSilent
}

// host runs a host over the record of the data directory, on a market on which nothing
// happens, and answers on the socket. With the argument sectors it has these, with a slot's id that slot on its disk,
// and with the argument rotten behind that damaged.
func host(ts *testscript.TestScript, _ bool, args []string) {
	dir, err := datadir.Open(ts.Getenv("DATA"), time.Now())
	ts.Check(err)
	opened, _, err := embedded.Open(dir.Events(), embedded.Config{})
	ts.Check(err)
	store, _, err := witness.New(context.Background(), opened, dir.Acknowledged())
	ts.Check(err)
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(context.Background())
	world := sim.NewWorld(events.NewAmount(1 << 40))
	ports := world.Ports(store)
	ports.Market, ports.Witness = accountMarket{ports.Market}, store
	var pieces *sectors.Pieces
	switch {
	case len(args) > 0 && args[0] != "sectors":
		slot, err := events.ParseSlotID(args[0])
		ts.Check(err)
		world.Put(slot, events.BlockSize, time.Now().Add(time.Hour))
		if len(args) > 1 {
			world.Rot(slot, 0)
		}
	case len(args) > 0:
		pieces, err = sectors.OpenPieces(dir.Pieces(), nil)
		ts.Check(err)
		files, err := sectors.Open(dir.Sectors(), nil)
		ts.Check(err)
		ports.Sectors = &actors.SectorPorts{
			Chain: silentProvider{}, Pieces: pieces, Files: files,
			Space: func(size events.Bytes) capacity.Space { return capacity.Space{Unsealed: size} },
		}
	}
	desk := cmdalerts.NewDesk(cmdalerts.Config{
		Command: ts.Getenv("ALERTS_COMMAND"), Log: logrus.NewEntry(log),
	}, "", "")
	running := make(chan *actors.Host, 1)
	room, alerting, err := alerting.MakeRoom(node.Wiring{
		Options: node.Options{Means: node.Means{Alerts: desk, Account: ports.Market.Account()}}, Node: &node.Node{},
		Running: func(context.Context) *actors.Host {
			h := <-running
			running <- h
			return h
		},
	})
	ts.Check(err)
	ports.Rooms = append(ports.Rooms, room)
	host, err := actors.Start(ctx, actors.Config{
		Node: "script", Version: "v1", ChainID: 31337, Genesis: events.Hash{1}, Contract: events.Address{9},
	}, ports, logrus.NewEntry(log))
	ts.Check(err)
	running <- host
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
		Source: api.Source{
			Account: ports.Market.Account(), DataDir: ts.Getenv("DATA"), Files: node.FilesOf(config.Config{}, dir.Layout),
			Machines: machines.API(),
		},
		Host: host, Answerers: []any{alerting}, Store: opened, Projector: views, Pieces: pieces, SectorSize: 2048,
		Standing: func() (none rpc.Reachability) { return none }, Signing: func() string { return "" },
		FeeLimit: func() (none tx.FeeLimit, _ bool) { return none, false },
		Outage:   func() (none health.OutageFacts) { return none },
	}), logrus.NewEntry(log))
	ts.Check(err)
	end := sync.OnceFunc(func() {
		err := server.Close()
		host.Kill()
		desk.Close()
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
