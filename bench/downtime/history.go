package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
)

// begin is where all histories begin, and a window of any of these lengths.
var begin = events.Unix(1_700_006_400)

// audit says whether a node was online in a window.
type audit struct {
	node   events.Node
	window int
	online bool
	id     string
}

func nodeOf(n int) events.Node {
	var a events.Address
	binary.BigEndian.PutUint64(a[:], uint64(n)*0x9e3779b97f4a7c15) // Spread, as addresses are.
	binary.BigEndian.PutUint64(a[12:], uint64(n))
	return events.Node(a.String())
}

// key is a node as the database has it.
func key(node events.Node) []byte {
	b, _ := hex.DecodeString(string(node[2:])) // It is an address of ours.
	return b
}

// documentRules are those of the document: nothing but what SQL does as well.
func documentRules() downtime.Service {
	r := downtime.DocumentRules()
	r.GuardPercent = 0
	return r
}

// load has both sides know the same nodes: each with the three audits of each window, folded as a start folds them;
// and with the bits of each window. A tenth of the nodes was offline too often.
func load(ctx context.Context, db *database, rules downtime.Service, nodes int) (downtime.Fleet, error) {
	rng, fleet := rand.New(rand.NewPCG(1, 1)), make(downtime.Fleet, nodes)
	rows, err := db.copyIn(ctx, "audit_windows", "node_id", "window_start", "results")
	if err != nil {
		return nil, err
	}
	for n := range nodes {
		joined, err := downtime.Decide(downtime.State{}, downtime.Join{At: begin, Rules: rules})
		if err != nil {
			return nil, err
		}
		s, node := downtime.Evolve(downtime.State{}, joined[0]), nodeOf(n)
		for w := range windows {
			chance, at := rng.IntN(100), begin.Add(time.Duration(w)*rules.WindowLength)
			e := &messages.WindowClosed{
				At:    events.TimeToMessage(at.Add(rules.WindowLength)),
				Start: events.TimeToMessage(at), LengthSeconds: uint64(rules.WindowLength / time.Second),
			}
			for k := range 3 {
				outcome := downtime.Online
				if n%10 == 0 && w < 10 || chance < 2 || chance < 7 && k == 0 {
					outcome = downtime.Offline
				}
				t := at.Add(time.Duration(10*k) * time.Minute)
				e.Audits = append(e.Audits, &messages.NodeAudit{
					Id: fmt.Sprint("probe:", t.UnixNano()), Source: downtime.Probe.String(), Outcome: outcome.String(),
					Time: events.TimeToMessage(t),
				})
			}
			s = downtime.Evolve(s, e)
			bits := fmt.Sprintf("%02b", s.Windows[len(s.Windows)-1].Tally().Bits())
			if err := rows.add(key(node), at, bits); err != nil {
				return nil, err
			}
		}
		fleet[node] = s
	}
	if err := rows.end(); err != nil {
		return nil, err
	}
	return fleet, db.settle(ctx, fleet)
}

// compare has both sides live through a random history, and returns on how many nodes their verdicts were compared.
func compare(ctx context.Context, db *database, seed uint64) (compared int, err error) {
	rng := rand.New(rand.NewPCG(seed, seed))
	rules := documentRules()
	span := 2 + rng.IntN(windows-1)
	rules.TrackingPeriod = time.Duration(span) * rules.WindowLength
	rules.GracePeriod = time.Duration(rng.IntN(span)) * rules.WindowLength
	rules.AllowedOfflinePercentage = downtime.Percentage(100 * rng.IntN(60))
	rules.MinimumWindows = 1 + uint32(rng.IntN(4))
	if err := db.begin(ctx, rules); err != nil {
		return 0, err
	}
	lives, fleet := make([]life, 200), downtime.Fleet{}
	for n := range lives {
		lives[n] = life{
			node: nodeOf(n), away: rng.Float64() * rng.Float64(), flaps: rng.Float64(), seldom: 1 - rng.Float64(),
		}
		joined, err := downtime.Decide(downtime.State{}, downtime.Join{At: begin, Rules: rules})
		if err != nil {
			return 0, err
		}
		fleet[lives[n].node] = downtime.Evolve(downtime.State{}, joined[0])
	}
	if err := db.settle(ctx, fleet); err != nil {
		return 0, err
	}
	for w := range 4 * span {
		var audits []audit
		for n := range lives {
			audits = append(audits, lives[n].next(rng, w)...)
		}
		audits = append(audits, audits[:len(audits)/8]...) // Some come twice, and all in any order.
		rng.Shuffle(len(audits), func(i, j int) { audits[i], audits[j] = audits[j], audits[i] })
		now := begin.Add(time.Duration(w+1) * rules.WindowLength)
		if err := db.write(ctx, audits); err != nil {
			return 0, err
		}
		if err := write(rules, fleet, audits, now); err != nil {
			return 0, err
		}
		offending, err := db.chore(ctx, now)
		if err != nil {
			return 0, err
		}
		slices.Sort(offending)
		// Who is disqualified is in SQL's list as long as its windows are, and is not looked at any more.
		offending = slices.DeleteFunc(offending, func(n events.Node) bool {
			return fleet[n].Status == downtime.Disqualified
		})
		if ours := rules.GetOffendingNodes(fleet, now); !slices.Equal(ours, offending) {
			return 0, fmt.Errorf("window %d: offending are %v here, and %v in SQL", w, ours, offending)
		}
		if _, err := chore(rules, fleet, now, true); err != nil {
			return 0, err
		}
		if err := db.same(ctx, fleet); err != nil {
			return 0, fmt.Errorf("window %d: %w", w, err)
		}
		compared += len(fleet)
	}
	return compared, nil
}

// life is how a node comes and goes: how often it goes away, how often it is back or away for a moment only, and which
// part of the windows has audits.
type life struct {
	node                events.Node
	away, flaps, seldom float64
	gone                bool
}

// next are the audits that come at the end of a window: its own, and late ones of those before it.
func (l *life) next(rng *rand.Rand, window int) (all []audit) {
	if rng.Float64() < 0.1 {
		l.gone = rng.Float64() < l.away
	}
	for k := range 3 {
		if rng.Float64() > l.seldom {
			continue
		}
		w, online := window, !l.gone
		if rng.Float64() < 0.05 {
			w = max(0, window-rng.IntN(10))
		}
		if rng.Float64() < l.flaps*0.1 {
			online = !online
		}
		all = append(all, audit{l.node, w, online, fmt.Sprint(window, k)})
	}
	return all
}

// write is ours: each node's audits as one command.
func write(rules downtime.Service, fleet downtime.Fleet, audits []audit, now time.Time) error {
	of := map[events.Node]downtime.Write{}
	for _, a := range audits {
		w, outcome := of[a.node], downtime.Offline
		if a.online {
			outcome = downtime.Online
		}
		w.At = now
		w.Audits = append(w.Audits, downtime.Audit{
			ID: a.id, Source: downtime.Probe, Outcome: outcome,
			Time: begin.Add(time.Duration(a.window) * rules.WindowLength),
		})
		of[a.node] = w
	}
	for node, w := range of {
		all, err := downtime.Decide(fleet[node], w)
		if err != nil {
			return err
		}
		for _, e := range all {
			fleet[node] = downtime.Evolve(fleet[node], e)
		}
	}
	return nil
}
