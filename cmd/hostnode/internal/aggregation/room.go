package aggregation

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/actors"
	room "github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/storage"
	"github.com/hostnode/hostnode/storage/car"
	"github.com/hostnode/hostnode/storage/sectors"
	"github.com/hostnode/hostnode/storage/sources"
)

// MakeRoom makes the room in which CARs are aggregated, if the settings say so.
func MakeRoom(w node.Wiring) (made actors.Room, answers any, err error) {
	set := w.Config.Aggregation
	if !set.Run {
		return made, nil, nil
	}
	files := w.Node.Pieces
	if files == nil { // This host seals no sectors.
		dir := w.Dir.Pieces()
		place := &storage.Place{Dir: dir, Memory: w.Dir.Identity("pieces")}
		if files, err = sectors.OpenPieces(dir, place); err != nil {
			return made, nil, err
		}
	}
	from, err := sources.New(sources.Config{
		Roots: set.Sources.Roots, AllowPrivate: set.Sources.Private, MaxBytes: uint64(set.Sources.MaxBytes),
		Idle: set.Sources.Idle, BytesPerSecond: uint64(set.Sources.BytesPerSecond),
	})
	if err != nil {
		return made, nil, err
	}
	part := shell.NewPart(room.Name)
	o := &orders{w, part, from}
	contents := contents{from, car.Options{
		ZeroPadded: set.ZeroPadded, RootRequired: set.RootRequired, MaxPiece: uint64(set.Size) / 2,
	}}
	objects := objects{part, files, contents, w.Store, w.Account}
	w.Node.AddPieces(objects)
	broker, err := brokerOf(w, set.Broker, o)
	if err != nil {
		return made, nil, err
	}
	if err := serve(w, set.Broker, objects, part); err != nil {
		return made, nil, err
	}
	kept, turns := copies{files, w.Running, w.Quota, time.Now}, room.NewTurns()
	made = actors.Room{
		Part: part, Runs: actors.Owner, Lost: "no CAR is read, and no aggregate is made or offered while it is down",
		Takes: actors.Taker[room.Answer, room.Order](part),
		Start: func(c *chainview.Chain, _ int, broken func(error)) shell.Behavior {
			alerts := w.Alerting(c.Base)
			return room.New(room.Deps{
				Base: c.Base, Settings: settings(set), Contents: contents,
				Copies: kept.butFor(proofsShare(set.Size)), Proofs: kept, Turns: turns, Broker: broker,
				Decide: cargo.Decide, Broken: broken,
				Tell: func(n room.Notice) {
					alerts.RaiseAbout(health.AlertAggregation, n.About, n.Text, n.Hint)
				},
				Over: func(about string) { alerts.ClearAbout(health.AlertAggregation, about, "it is well again") },
			})
		},
	}
	return made, o, nil
}

func settings(a config.Aggregation) room.Settings {
	return room.Settings{
		Packing: a.Packing(), Keep: a.Keep == "copy", Quota: uint64(a.GroupQuota), MaxOpen: a.MaxOpen,
		Parallel: a.Parallel, Attempts: uint8(a.Attempts), //nolint:gosec // At most 100.
		Every: a.Every, Poll: a.Broker.Poll,
		Silent: a.Broker.Silent, Ages: [3]time.Duration{a.Notice, a.Warning, a.Critical}, BrokerName: a.Broker.Kind,
	}
}

// orders passes orders on to the room.
type orders struct {
	node.Wiring
	part    *shell.Part
	sources *sources.Sources
}

// Order implements Ordering.
func (o *orders) Order(ctx context.Context, order room.Order) (answer room.Answer, err error) {
	if r := order.Request; r != nil {
		if err := o.sources.Check(r.Content.Source); err != nil {
			return answer, err
		}
	}
	host := o.Running(ctx)
	if host == nil {
		return answer, ctx.Err()
	}
	return actors.OrderOwner[room.Answer](ctx, host, o.part, order)
}
