package aggregation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// This file has the ledger of pieces decide: which travel together, what became of a full ferry, and which copies are
// needed no more.

type (
	// made is an aggregate that was made of a ferry.
	made struct {
		ferry, aggregate string
		proofs           events.SectorPiece
	}
	// released are copies that are gone.
	released struct {
		pieces []uint64
		proofs []string
	}
)

// decide has a command about pieces decided. then, unless it is nil, learns whether it was.
func (r *Room) decide(a *shell.Turn, cmd cargo.Command, cause string, then func(error)) {
	r.open++
	r.cargo.Submit(a, cmd, cause, func(res shell.Result[cargo.State, cargo.Event]) {
		r.open--
		if res.Err != nil {
			r.due = true // It follows from a later look again, if it is still so.
			r.Log.Warnf("a decision about pieces is not recorded yet: %v", res.Err)
		}
		if then != nil {
			then(res.Err)
		}
	})
}

// pack has the next pieces travel together, has full ferries made into aggregates, and copies released.
func (r *Room) pack(a *shell.Turn) {
	if !r.due || r.open > 0 {
		return
	}
	r.due = false
	for _, cmd := range r.Plan(r.cargo.Durable, r.Clock.Now()) {
		r.decide(a, cmd, causePacked, nil)
	}
	if r.open > 0 {
		return // What follows is seen when that is durable.
	}
	for _, f := range r.cargo.Durable.Ferries() {
		if f.Full && f.State == cargo.Loaded {
			r.make(a, f)
		}
	}
	r.release(a)
}

// onCargo does what follows from what was recorded.
func (r *Room) onCargo(a *shell.Turn, fresh []cargo.Event) {
	r.logCargo(fresh)
	for _, e := range fresh {
		switch m := e.(type) {
		case *messages.AggregateMade:
			r.dealing(a, m.GetAggregate(), shell.Fold[deal.State]{})
		case *messages.AggregateApproved, *messages.AggregateRejected: // A CAR may have been refused meanwhile.
			for _, link := range slices.SortedFunc(maps.Keys(r.contents), compareLinks) {
				if c := r.contents[link]; c.Loaded && c.Durable.Status == content.Refused {
					r.onContent(a, link, c)
				}
			}
		}
	}
}

// make makes an aggregate of a full ferry, with the proof of each piece, which are stored. Made again after a crash, it
// is the same.
func (r *Room) make(a *shell.Turn, f *cargo.Ferry) {
	pieces := r.cargo.Durable.Segments(f)
	log := r.Log.WithField("ferry", f.ID)
	r.run(a, "make/"+f.ID, func(ctx context.Context) (any, error) {
		log.Infof("makes an aggregate of %s; pieces: %d", bytesOf(f.Class), len(pieces))
		m := made{ferry: f.ID}
		aggregate, err := segment.Build(f.Class, pieces)
		if err != nil {
			return m, fmt.Errorf("make an aggregate of %d pieces: %w", len(pieces), err)
		}
		m.aggregate = commd.CID(aggregate.Root())
		// The file with the proofs is a piece, too: so it has a name, a place in the ledger, and a check.
		proofs, calc := bytes.Buffer{}, commd.NewCalc()
		if _, err := aggregate.WriteTo(io.MultiWriter(&proofs, calc)); err != nil {
			return m, fmt.Errorf("write the proofs of %s: %w", m.aggregate, err)
		}
		of, err := calc.Commitment()
		if err != nil {
			return m, fmt.Errorf("name the proofs of %s: %w", m.aggregate, err)
		}
		m.proofs = events.SectorPiece{
			CID: commd.CID(of.Root), Size: events.Bytes(of.Size), Payload: events.Bytes(of.Payload),
		}
		return m, r.Proofs.Keep(ctx, m.proofs, &proofs)
	})
}

func (r *Room) onMade(a *shell.Turn, m made, err error) {
	if err != nil {
		r.Log.Warnf("an aggregate cannot be made yet: %v", err)
		r.fails("make/"+m.ferry, "an aggregate cannot be made yet", err,
			"it needs room for its proofs in the quota and on the disk")
		return
	}
	r.well("make/" + m.ferry)
	delete(r.failing, "make/"+m.ferry) // It is not made again.
	r.decide(a, cargo.Make{
		At: r.Clock.Now(), Ferry: m.ferry, Aggregate: m.aggregate, Proofs: m.proofs.CID,
		ProofsSize: uint64(m.proofs.Payload),
	}, causePacked, nil)
}

// maxRelease is how many copies are released at once.
const maxRelease = 200

// release has copies removed that are needed no more.
func (r *Room) release(a *shell.Turn) {
	s := r.cargo.Durable
	pieces, proofs := s.Releasable()
	m := released{pieces[:min(len(pieces), maxRelease)], proofs[:min(len(proofs), maxRelease)]}
	var cids []string
	for _, priority := range m.pieces {
		p, _ := s.Piece(priority)
		cids = append(cids, commd.CID(p.Root))
	}
	for _, aggregate := range m.proofs {
		cids = append(cids, s.Aggregate(aggregate).Proofs)
	}
	if len(cids) == 0 {
		return
	}
	r.run(a, "release", func(ctx context.Context) (any, error) {
		for _, cid := range cids {
			if err := r.Copies.Drop(ctx, cid); err != nil {
				return m, err
			}
		}
		return m, nil
	})
}

func (r *Room) onReleased(a *shell.Turn, m released, err error) {
	if err != nil {
		r.Log.Warnf("copies of pieces cannot be removed yet: %v", err)
		r.fails("release", "copies of pieces cannot be removed yet", err, "look at the disk")
		return
	}
	r.well("release")
	r.decide(a, cargo.Release{At: r.Clock.Now(), Pieces: m.pieces, Proofs: m.proofs}, causePacked, nil)
}

// fails tells operators once in a row.
func (r *Room) fails(about, text string, err error, hint string) {
	if !r.failing[about] {
		r.failing[about] = true
		r.Tell(Notice{about, text + ": " + err.Error(), hint})
	}
}

// well tells operators that what failed does so no more: also the first time, as it may have failed in the life before.
func (r *Room) well(about string) {
	if failing, known := r.failing[about]; (failing || !known) && r.Over != nil {
		r.Over(about)
	}
	r.failing[about] = false
}

// age tells operators how old the oldest queued piece is.
func (r *Room) age() {
	oldest, waits := r.cargo.Durable.Oldest()
	now := r.Clock.Now()
	for i, limit := range r.Ages {
		late := waits && limit > 0 && now.Sub(oldest) >= limit
		if late && !r.told[i] {
			what := [...]string{"notice", "warning", "critical"}[i]
			r.Tell(Notice{
				"queue",
				fmt.Sprintf("%s: the oldest piece waits since %s, for %s", what, oldest.Format(time.RFC3339),
					now.Sub(oldest).Round(time.Second)),
				"hostnode aggregation queue says what it waits for; lower aggregation.minFill, or send more",
			})
		}
		r.told[i] = late
	}
	if r.told[0] {
		r.failing["queue"] = true
	} else {
		r.well("queue")
	}
}
