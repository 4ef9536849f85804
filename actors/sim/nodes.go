package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/chainview"
	nodes "github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
)

// This file has the nodes that a host watches: who answers when is known, so that each verdict is compared with it.

// nodeWindow is the length of a window. A node that comes and goes does so twice in it, for much longer than a round
// takes, so that a watcher sees both.
const nodeWindow = 40 * time.Second

// nodeRules are of a few minutes, so that a run sees suspensions.
func nodeRules() downtime.Service {
	r := downtime.DocumentRules()
	r.WindowLength, r.TrackingPeriod, r.GracePeriod = nodeWindow, 3*nodeWindow, nodeWindow
	r.GuardPercent = 0 // The fleet is too small to tell a fault here from theirs.
	return r
}

// fleet are the nodes, and whether each answers at a time of the chain.
var fleet = map[events.Node]func(t time.Time) bool{
	"stays":  func(time.Time) bool { return true },
	"gone":   func(time.Time) bool { return false },
	"leaves": func(t time.Time) bool { return t.Unix()/200%2 == 0 },
	"flaps": func(t time.Time) bool {
		return t.Unix()%int64(nodeWindow/time.Second) < int64(nodeWindow/time.Second)/2
	},
}

// fakeProber answers for the fleet.
type fakeProber struct{ *world }

// Nodes implements nodes.Prober.
func (fakeProber) Nodes() []events.Node { return slices.Sorted(maps.Keys(fleet)) }

// Probe implements nodes.Prober.
func (p fakeProber) Probe(ctx context.Context) (map[events.Node]nodes.Answer, error) {
	p.mu.Lock()
	now := p.tip().head.Time
	p.mu.Unlock()
	return do(ctx, p.bus, "nodes.probe", func() (map[events.Node]nodes.Answer, error) {
		all := map[events.Node]nodes.Answer{}
		for name, online := range fleet {
			all[name] = nodes.Answer{Online: online(now), Proven: true}
		}
		return all, nil
	})
}

// AcceptedProofs implements nodes.ContractReads.
func (f fakeMarket) AcceptedProofs(ctx context.Context, first, last uint64) ([]events.AcceptedProof, error) {
	key := fmt.Sprintf("market.acceptedProofs %d %d", first, last)
	return do(ctx, f.bus, key, locked(f.world, func() (all []events.AcceptedProof, err error) {
		if last > f.sight().head.Number {
			return nil, errWorld
		}
		for _, b := range f.blocks[first : last+1] {
			for _, log := range b.logs {
				if p, ok := log.(*messages.ChainProofSubmitted); ok {
					slot := events.Must(events.ParseSlotID(p.GetSlotId()))
					all = append(all, events.AcceptedProof{Slot: slot, Block: b.head.Number, BlockHash: b.head.Hash})
				}
			}
		}
		return all, nil
	}))
}

// MarkedMisses implements nodes.ContractReads.
func (f fakeMarket) MarkedMisses(ctx context.Context, first, last uint64) ([]events.MarkedMiss, error) {
	key := fmt.Sprintf("market.markedMisses %d %d", first, last)
	return do(ctx, f.bus, key, locked(f.world, func() (all []events.MarkedMiss, err error) {
		for id, s := range f.sight().state.slots {
			for p := range s.missing {
				all = append(all, events.MarkedMiss{Slot: id, Period: p})
			}
		}
		return all, nil
	}))
}

// HostOfFill implements nodes.ContractReads. The contract's state of old blocks is gone.
func (f fakeMarket) HostOfFill(
	ctx context.Context, slot events.SlotID, _, block events.Hash,
) (events.Address, error) {
	return do(ctx, f.bus, "market.hostOfFill "+slot.Short(), locked(f.world, func() (host events.Address, err error) {
		for _, b := range slices.Backward(f.blocks) {
			if b.head.Hash == block && b.state != nil {
				host = b.state.slots[slot].host
			}
		}
		return host, nil
	}))
}

// nodesRoom is the room in which the fleet is watched.
func (s *simulator) nodesRoom(w *world) actors.Room {
	decide := s.Plant.Node
	if decide == nil {
		decide = downtime.Decide
	}
	return actors.Room{
		Part: shell.NewPart(nodes.Name), Runs: actors.Owner, Heads: true, Lost: "no node is judged while it is down",
		Start: func(c *chainview.Chain, _ int, broken func(error)) shell.Behavior {
			return nodes.New(nodes.Deps{
				Base: c.Base, Rules: nodeRules(), Every: 3 * time.Second, Gap: 9 * time.Second,
				Prober: fakeProber{w}, Market: &nodes.ChainMarket{
					Chain: c, Contract: fakeMarket{w}, FinalBlocks: s.finality(),
					Stream: events.MarketStream(s.config().ChainID, s.config().Contract),
				},
				Standing: new(nodes.Standing),
				Tell:     func(nodes.Notice) {}, Decide: decide, Broken: broken,
			})
		},
	}
}

// onNode judges an event of a node by the rules and by what is true.
func (a *audit) onNode(stream string, e downtime.Event) error {
	was := a.nodes[stream]
	switch all, err := downtime.Decide(was, downtime.Asked(e)); {
	case err != nil:
		return fmt.Errorf("%s could not be decided: %w", e, err)
	case len(all) == 0 || !proto.Equal(all[0], e):
		return fmt.Errorf("%s is recorded, and decided is %v", e, all)
	}
	_, name, err := events.ParseNodeStream(stream)
	if err != nil {
		return err
	}
	if w, ok := e.(interface{ GetAudits() []*messages.NodeAudit }); ok {
		for _, audit := range w.GetAudits() {
			if err := a.trueProof(audit); err != nil {
				return broken(NobodyIsAccused, "node %s: %w", name, err)
			}
		}
	}
	_, ofFleet := fleet[name]
	if m, ok := e.(interface{ GetVerdict() *messages.NodeVerdict }); ok && m.GetVerdict() != nil && ofFleet {
		if err := trueVerdict(name, was, downtime.VerdictOf(m.GetVerdict())); err != nil {
			return broken(NobodyIsAccused, "node %s: %w", name, err)
		}
	}
	a.nodes[stream] = downtime.Evolve(was, e)
	return nil
}

// trueProof compares an audit of a proof with what the contract has. What is final stays so.
func (a *audit) trueProof(is *messages.NodeAudit) error {
	parts := strings.Split(is.GetId(), ":")
	if parts[0] != downtime.Proof.String() {
		return nil
	}
	period, err := strconv.ParseUint(parts[2], 10, 64)
	slot := a.slot(events.Must(events.ParseSlotID(parts[1])))
	if err != nil || slot == nil {
		return fmt.Errorf("no slot has audit %s: %w", is, err)
	}
	if came := slot.received[period]; came != (is.GetOutcome() == downtime.Online.String()) {
		return fmt.Errorf("%s; the contract has a proof of it: %t", is, came)
	}
	return nil
}

// trueVerdict compares a verdict with how often the node was really away for a whole window.
func trueVerdict(name events.Node, s downtime.State, v downtime.Verdict) error {
	away := uint32(0)
	for start := v.From; start.Before(v.Until); start = start.Add(nodeWindow) {
		gone := true
		for t := start; t.Before(start.Add(nodeWindow)); t = t.Add(time.Second) {
			gone = gone && !fleet[name](t)
		}
		if gone {
			away++
		}
	}
	if v.Offline > away {
		return fmt.Errorf("%s; it was away for %d of them: %+v", v, away, s.Windows)
	}
	return nil
}

// nodesAtTheEnd: all nodes are judged by what is recorded, if the host always ran and could record.
func (s *simulator) nodesAtTheEnd() error {
	if s.Crash+s.Stop+s.Die+s.ChainDown+s.StoreAway+s.Members.Count > 0 {
		return nil
	}
	now := s.world.tip().head.Time
	for stream, st := range s.audit.nodes {
		if now.Sub(st.Latest) < nodeWindow/2 { // The verdict on what was just written may be on its way.
			continue
		}
		if late, err := downtime.Decide(st, downtime.Judge{At: st.Latest}); err != nil || len(late) > 0 {
			return broken(VerdictsAreInTime, "%s at %s: %v, %v", stream, st.Latest, late, err)
		}
	}
	return nil
}
