package cargo

import (
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// Ferry is a list of pieces that travel together. It is never changed.
type Ferry struct {
	Number uint32
	ID     string // the CID of the list
	Class  uint64 // the bytes that it may have; of an aggregate its size
	Pieces []uint64
	Bytes  uint64 // padded, of its pieces
	Since  int64  // when this list was made, in seconds
	Full   bool   // it becomes an aggregate
	// Isolated: one of its pieces is suspected. Attempt is the highest of its pieces.
	Isolated bool
	Attempt  uint8
	State    FerryState
	// Aggregate is its piece CID, Proofs that of the file with its proofs; empty: it was not made yet, or they are
	// gone.
	Aggregate, Proofs string
	ProofsSize        uint64
	Made, Ended       int64 // in seconds
	Reason            string
}

// FerryState is how far a ferry is.
type FerryState string

// The states of a ferry.
const (
	Loaded   FerryState = "loaded"
	Made     FerryState = "made"
	Stored   FerryState = "approved"
	Rejected FerryState = "rejected"
)

// Live reports whether its pieces are in it.
func (f *Ferry) Live() bool { return f.State == Loaded || f.State == Made }

// leavesProofs reports whether its proofs are there and needed no more.
func (f *Ferry) leavesProofs() bool { return f != nil && f.State == Rejected && f.Proofs != "" }

func (s State) ferryOf(id string) *Ferry { return s.ferries[s.byID[id]] }

// Ferry is the ferry that a piece is on, or was approved with; nil: there is none.
func (s State) Ferry(p Piece) *Ferry { return s.ferries[p.ferry] }

// Aggregate is the ferry that became an aggregate; nil: there is none.
func (s State) Aggregate(cid string) *Ferry { return s.ferries[s.byLink[cid]] }

// Segments are the pieces of a ferry as an aggregate has them.
func (s State) Segments(f *Ferry) []segment.Piece {
	all := make([]segment.Piece, len(f.Pieces))
	for i, priority := range f.Pieces {
		p, _ := s.Piece(priority)
		all[i] = segment.Piece{Root: p.Root, Size: p.Size(), Payload: p.Payload}
	}
	return all
}

// Ferries are all, in the order in which they were made. Those that were merged or emptied are gone.
func (s State) Ferries() (all []*Ferry) {
	for _, n := range slices.Sorted(maps.Keys(s.ferries)) {
		all = append(all, s.ferries[n])
	}
	return all
}

// Releasable are the pieces whose copies, and the aggregates whose proofs, are not needed any more.
func (s State) Releasable() (pieces []uint64, proofs []string) {
	for _, f := range s.Ferries() {
		if f.leavesProofs() {
			proofs = append(proofs, f.Aggregate)
		}
	}
	return slices.Sorted(maps.Keys(s.releasable)), proofs
}

// Evolve folds the next event into s and returns it.
func Evolve(s State, e Event) State {
	switch e := e.(type) {
	case *messages.PieceQueued:
		s.queued(e)
	case *messages.PackingSet:
		s.Packing = packingOf(e)
	case *messages.FerryLoaded:
		s.loaded(e)
	case *messages.FerriesMerged:
		s.merged(e)
	case *messages.AggregateMade:
		if f := s.ferryOf(e.GetFerry()); f != nil {
			s.byLink[e.GetAggregate()] = f.Number
			s.replace(f, func(f *Ferry) {
				f.State, f.Aggregate, f.Made = Made, e.GetAggregate(), e.GetAt().GetSeconds()
				f.Proofs, f.ProofsSize = e.GetProofs(), e.GetProofsSize()
			})
		}
	case *messages.AggregateApproved:
		if f := s.Aggregate(e.GetAggregate()); f != nil {
			s.replace(f, func(f *Ferry) { f.State, f.Ended = Stored, e.GetAt().GetSeconds() })
			for _, priority := range f.Pieces {
				s.move(priority, Approved, f.Number)
			}
		}
	case *messages.AggregateRejected:
		s.rejected(e)
	case *messages.PieceRefused:
		s.refuse(e.GetPriority(), e.GetReason())
	case *messages.CopiesReleased:
		for _, priority := range e.GetPieces() {
			delete(s.releasable, priority)
			s.change(priority, func(p *Piece) { p.Kept = false })
		}
		for _, aggregate := range e.GetProofs() {
			if f := s.Aggregate(aggregate); f != nil {
				s.replace(f, func(f *Ferry) { f.Proofs, f.ProofsSize = "", 0 })
			}
		}
	}
	s.advance()
	return s
}

func (s State) queued(e *messages.PieceQueued) {
	root, _ := commd.ParseCID(e.GetPiece()) // The codec has checked it.
	link, _ := events.ParseContentLink(e.GetContent())
	at := e.GetAt().GetSeconds()
	s.add(Piece{
		Root: root, Content: link, Payload: e.GetPayload(), At: at, log: logOf(e.GetSize()), Kept: e.GetKept(),
	}, e.GetGroup())
	s.flowed(at, e.GetSize())
}

// advance moves the beginnings of searches on, to the first queued and the first loose piece.
func (s State) advance() {
	for ; s.head <= s.count; s.head++ {
		if p, _ := s.Piece(s.head); p.Status == Queued {
			break
		}
	}
	for s.first = max(s.first, s.head); s.first <= s.count; s.first++ {
		if p, _ := s.Piece(s.first); p.loose() {
			break
		}
	}
}

// move has a piece in another place, on a ferry or none.
func (s State) move(priority uint64, to Status, ferry uint32) {
	s.change(priority, func(p *Piece) {
		p.Status, p.ferry = to, ferry
		if to >= Approved && p.Kept {
			s.releasable[priority] = struct{}{}
		}
	})
}

// refuse ends a piece for good.
func (s State) refuse(priority uint64, reason string) {
	s.leave([]uint64{priority})
	s.suspect(priority, false)
	s.move(priority, Refused, 0)
	s.Refusal[priority] = reason
	for i, one := range s.suspects {
		if slices.Contains(one, priority) {
			s.suspects[i] = slices.DeleteFunc(slices.Clone(one), func(n uint64) bool { return n == priority })
		}
	}
	s.suspects = slices.DeleteFunc(s.suspects, func(one []uint64) bool { return len(one) == 0 })
}

func (s State) suspect(priority uint64, so bool) {
	s.change(priority, func(p *Piece) { p.suspect = so })
}

// loaded takes the next part of a list; the last one makes the ferry.
func (s State) loaded(e *messages.FerryLoaded) {
	l := s.loading.with(e.GetFerry(), e.GetPieces(), e.GetPart(), e.GetParts())
	if s.loading = l; l.Part < l.Parts {
		return
	}
	s.loading = nil
	s.leave(l.Pieces)
	if e.GetIsolated() {
		s.suspects = slices.DeleteFunc(s.suspects, func(one []uint64) bool { return slices.Contains(one, l.Pieces[0]) })
	}
	s.board(&Ferry{
		ID: l.ID, Class: e.GetClass(), Pieces: l.Pieces, Full: e.GetFull(), Isolated: e.GetIsolated(),
		Since: e.GetAt().GetSeconds(),
	})
}

func (s State) merged(e *messages.FerriesMerged) {
	var all []uint64
	for _, id := range e.GetFrom() {
		if f := s.ferryOf(id); f != nil {
			all = append(all, f.Pieces...)
			s.forget(f)
		}
	}
	list, _ := s.unused(all)
	if list == nil { // No ledger decides that.
		list = s.Place(all)
	}
	s.board(&Ferry{
		ID: e.GetFerry(), Class: e.GetClass(), Pieces: list, Full: e.GetFull(), Since: e.GetAt().GetSeconds(),
	})
}

// board has the pieces of a new ferry on it.
func (s State) board(f *Ferry) {
	s.last++
	f.Number, f.State = s.last, Loaded
	to := Queued
	if f.Full {
		to = Aggregated
	}
	for _, priority := range f.Pieces {
		p, _ := s.Piece(priority)
		f.Bytes += p.Size()
		f.Attempt = max(f.Attempt, p.Attempts)
		s.move(priority, to, f.Number)
	}
	s.ferries[f.Number], s.byID[f.ID] = f, f.Number
}

// leave takes pieces from the ferries that they are on. What is left of such a ferry is queued again, and loaded anew.
func (s State) leave(pieces []uint64) {
	for _, priority := range pieces {
		p, _ := s.Piece(priority)
		f := s.ferries[p.ferry]
		if f == nil || f.State != Loaded {
			continue
		}
		s.forget(f)
		for _, other := range f.Pieces {
			s.move(other, Queued, 0)
		}
	}
}

func (s State) forget(f *Ferry) {
	delete(s.ferries, f.Number)
	delete(s.byID, f.ID)
}

func (s State) replace(f *Ferry, do func(f *Ferry)) {
	next := *f
	do(&next)
	s.ferries[f.Number] = &next
}

// rejected gives the good pieces of an aggregate back, with the last part of the list of bad ones.
func (s State) rejected(e *messages.AggregateRejected) {
	f := s.Aggregate(e.GetAggregate())
	if f == nil {
		return
	}
	l := s.rejecting.with(f.ID, e.GetBad(), e.GetPart(), e.GetParts())
	if s.rejecting = l; l.Part < l.Parts {
		return
	}
	s.rejecting = nil
	s.replace(f, func(f *Ferry) { f.State, f.Ended, f.Reason = Rejected, e.GetAt().GetSeconds(), e.GetReason() })
	bad := map[uint64]bool{}
	for _, priority := range l.Pieces {
		bad[priority] = true
	}
	if e.GetIsolate() && len(f.Pieces) == 1 {
		bad[f.Pieces[0]] = true
	}
	for _, priority := range f.Pieces {
		s.suspect(priority, false)
		if bad[priority] {
			s.move(priority, Refused, 0)
			s.Refusal[priority] = e.GetReason()
			continue
		}
		if len(bad) == 0 {
			s.change(priority, func(p *Piece) { p.Attempts++ })
		}
		s.move(priority, Queued, 0)
	}
	if e.GetIsolate() && len(bad) == 0 {
		s.isolate(f.Pieces)
	}
}

// isolate has each half of a list tried alone.
func (s State) isolate(pieces []uint64) {
	for _, priority := range pieces {
		s.suspect(priority, true)
	}
	half := (len(pieces) + 1) / 2
	s.suspects = append(s.suspects, pieces[:half:half], pieces[half:])
}
