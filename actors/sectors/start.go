package sectors

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
)

// What is there when the host starts: the sectors in the record, their files, and the pieces.

// found is a message to Sectors: what the record has.
type found struct {
	sectors map[uint64]*past
	next    uint64
}

// boot reads which sectors there are. Until then orders wait.
func (s *Sectors) boot(a *shell.Turn) {
	s.Later(a, "sectors", func(ctx context.Context) any {
		m := found{next: 1}
		call := s.StoreWatch.Call(ctx, "")
		err := call.Repeat(func() (err error) {
			m.sectors, m.next, err = scan(ctx, s.room)
			return err
		})
		call.End()
		if err == nil {
			err = s.mounted(m.sectors)
		}
		if err == nil {
			m.next = max(m.next, s.afterFiles(m.sectors))
			var book capacity.Snapshot // A number that the ledger knows is used, whatever the streams say.
			book, err = shell.WhenUp(ctx, s.Base, "sectors", func() shell.Question[capacity.Snapshot] {
				return shell.Ask[capacity.Snapshot](s.Ledger, ledger.Show{})
			})
			for _, one := range book.Sectors {
				m.next = max(m.next, one.Number+1)
			}
			for _, n := range book.Ended {
				m.next = max(m.next, n+1)
			}
			if err == nil && !s.Compared.Load() {
				s.comparePieces(ctx, book.Pieces, m.sectors)
				s.Compared.Store(ctx.Err() == nil)
			}
		}
		if err != nil && ctx.Err() == nil {
			panic(fmt.Errorf("read which sectors there are: %w", err)) // The supervisor tries again, and alerts.
		}
		return m
	})
}

// scan folds the streams of all sectors of the host, in one pass over the record. A sector that cannot be folded is on
// the list all the same: its agent reads the stream itself, and reports the error.
func scan(ctx context.Context, r *room) (map[uint64]*past, uint64, error) {
	sectors, next := map[uint64]*past{}, uint64(1)
	streams := events.CategorySector + "-" + r.Me.String() + "-"
	for rec, err := range events.ReadPrefixed(ctx, r.Store, 0, []string{streams}) {
		if err != nil {
			return nil, 0, err
		}
		_, n, err := events.ParseSectorStream(rec.Stream)
		if err != nil {
			continue // Another host's stream.
		}
		if sectors[n] == nil {
			sectors[n], next = &past{Fold: shell.Fold[sector.Info]{State: sector.New(r.Policy)}}, max(next, n+1)
		}
		sectors[n].add(r.Codec, rec)
	}
	return sectors, next, nil
}

// past is a sector as the scan found it.
type past struct {
	// Of no events, if one of them could not be folded.
	shell.Fold[sector.Info]
	bad bool
}

// add folds one more event of the stream.
func (p *past) add(codec *events.Codec, rec events.Recorded) {
	next := p.Events
	err := shell.Caught(func() error { return shell.Add(&p.Fold, codec, rec, sector.Evolve) })
	if p.bad = p.bad || err != nil || rec.Revision != next; p.bad {
		p.Events = 0
	}
}

func (s *Sectors) onFound(a *shell.Turn, m found) {
	s.booted, s.next = true, m.next
	for n, was := range m.sectors {
		st := was.State
		if st.Request != "" {
			s.requests[st.Request] = n
		}
		if st.Over() {
			continue
		}
		c := newChild(n)
		c.info, c.scanned = st, was.Fold
		if q, ok := s.Quarantined.Has(aboutSector(n)); ok {
			s.family.LeaveAlone(&c.Child, q.Reason)
		}
		s.children[n] = c
		s.waiting = append(s.waiting, n)
	}
	slices.Sort(s.waiting)
	s.spawnNext(a)
	if s.ScrubEvery > 0 {
		a.Do(func(context.Context) { s.scrub(s.ctx, a.Self) })
	}
	for _, order := range s.early {
		order(a)
	}
	s.early = nil
}

// haveFiles are the sectors of the record that have written data, in order. One whose removal was
// begun may have none, also when it was forced into another state since.
func haveFiles(all map[uint64]*past) (numbers []uint64) {
	for _, n := range slices.Sorted(maps.Keys(all)) {
		st := all[n].State
		if st.State == sector.Removing || st.State == sector.RemoveFailed || st.State == sector.Removed || !st.Opened ||
			st.Released || st.Attempts.Of(sector.StepRemove) > 0 {
			continue
		}
		if slices.ContainsFunc(st.Pieces, func(p sector.Piece) bool { return p.Payload > 0 }) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// mounted returns an error when the disk with the files is away, or when sectors have data by the record, and not
// one of them has its files: the disk is not mounted, or the settings name another directory. Nothing may be done
// then: all sectors would be reported faulty, and their pieces written to the wrong disk.
func (r *room) mounted(all map[uint64]*past) error {
	if r.FilesElsewhere {
		return nil
	}
	if err := r.Files.Here(); err != nil {
		return fmt.Errorf("%w: mount it, or correct sectors.directory and start the host again; if it is lost for "+
			"good, set sectors.filesLost", err)
	}
	numbers := haveFiles(all)
	if len(numbers) == 0 || r.FilesLost {
		return nil
	}
	for _, ref := range r.Files.Sectors() {
		if ref.Provider == r.Me && slices.Contains(numbers, ref.Number) {
			return nil
		}
	}
	const most = 5
	return fmt.Errorf("the record has %d sectors with data (the first are %v), and no file of them is there: "+
		"mount their disk, or correct sectors.directory, and start the host again; "+
		"if they are lost, set sectors.filesLost",
		len(numbers), numbers[:min(len(numbers), most)])
}

// afterFiles is the first number after those of sectors with files. One of them that is not in the record is named: the
// record is older than the files, as with a restored backup, and nobody proves it.
func (r *room) afterFiles(all map[uint64]*past) (next uint64) {
	for _, ref := range r.Files.Sectors() {
		if ref.Provider != r.Me {
			continue
		}
		next = max(next, ref.Number+1)
		if _, known := all[ref.Number]; !known {
			r.Log.WithField("sector", ref.Number).Error("there are files of the sector, but it is not in " +
				"the record: if the contract has it, it is not proven, and loses its deposit; restore " +
				"a newer record, or remove its files")
		}
	}
	return next
}

// Needs reports whether a sector has a piece, or is to get it, and is not over: it is repaired from it.
func Needs(st sector.Info, cid string) bool {
	is := func(p events.SectorPiece) bool { return p.CID == cid }
	return !st.Over() && (slices.ContainsFunc(st.Pieces, is) || slices.ContainsFunc(st.Pending, is))
}

// comparePieces compares the files of pieces with the ledger, before one can be added or removed. A
// file that the ledger does not know, because an earlier build stored it, gets its bytes. Bytes for a
// file that is not there, because the host stopped before it was written or after it was removed, are
// given back, unless a sector needs the piece. All else is told.
func (r *room) comparePieces(ctx context.Context, held []capacity.Piece, sectors map[uint64]*past) {
	files, err := r.Pieces.List()
	if err != nil {
		r.Log.Errorf("the files of pieces could not be compared with the ledger: %v", err)
		return
	}
	for _, t := range capacity.ComparePieces(held, files) {
		entry, needed := r.Log.WithField("piece", t.CID), false
		for _, was := range sectors {
			needed = needed || Needs(was.State, t.CID)
		}
		var cmd capacity.Command
		switch {
		case t.Held == 0:
			cmd = capacity.HoldPiece{
				At: r.Clock.Now(), Piece: capacity.Piece{CID: t.CID, Bytes: t.Stored}, Quota: r.Quota,
			}
		case t.Stored == 0 && !needed:
			cmd = capacity.ReleasePiece{At: r.Clock.Now(), CID: t.CID}
		default:
			entry.Errorf("%s; add it again with `hostnode sectors add-piece`: sectors that need it: %t", t, needed)
			continue
		}
		if err := ledger.Do(ctx, r.Ledger, ledger.Command{Cmd: cmd, Cause: "start"}); err != nil {
			entry.Errorf("%s; the ledger was not changed: %v", t, err)
		} else {
			entry.Warnf("%s; the ledger was changed", t)
		}
	}
}
