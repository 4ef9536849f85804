package projections

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// SectorsView shows the sectors of each host.
type SectorsView struct {
	AsOf      events.Position `json:"asOf"`
	Providers []Provider      `json:"providers"`
}

// Provider is a host that has, or had, sectors.
type Provider struct {
	Host string `json:"host"`
	// Counts are of the states that some sector is in, in the order of a good life.
	Counts []StateCount `json:"counts"`
	Parked uint64       `json:"parked"` // of all: those that wait for an operator
	Paused uint64       `json:"paused"` // and those that wait until they are tried again
	// Sectors are first those that bleed, then the parked, then the paused ones, then the others, each in order of
	// their numbers. Forgotten counts those that are over and no longer listed (Limits.ClosedSectors).
	Sectors   []Sector `json:"sectors"`
	Forgotten uint64   `json:"forgotten,omitempty"`
}

// StateCount is how many sectors are in a state.
type StateCount struct {
	State   string `json:"state"`
	Sectors uint64 `json:"sectors"`
}

// Sector is a sector as it is. Fields that the SectorInfo of storage providers has are named as there, and the
// others alike; instead of its Log there is the stream, and of what a prover made only the length is here: the
// stream has it whole. Hashes are empty where there is none. Points in time are of the machine's clock.
type Sector struct {
	Host         string
	SectorNumber uint64
	State        string
	Since        time.Time // when it came into this state
	StartedAt    time.Time
	Size         events.Bytes // padded
	Pieces       []SectorPiece
	Pending      []SectorPiece // that are to be added

	TicketValue        string `json:",omitempty"`
	TicketEpoch        uint64 `json:",omitempty"`
	PreCommit1OutBytes int    `json:",omitempty"`
	CommD              string `json:",omitempty"`
	CommR              string `json:",omitempty"`
	Proves             string `json:",omitempty"` // what its proofs show, if the record has it
	ProofBytes         int    `json:",omitempty"`
	PreCommitMessage   string `json:",omitempty"`
	SeedValue          string `json:",omitempty"`
	SeedEpoch          uint64 `json:",omitempty"`
	CommitMessage      string `json:",omitempty"`
	InvalidProofs      uint64 `json:",omitempty"` // in a row
	FaultReportMsg     string `json:",omitempty"`
	RecoveryMsg        string `json:",omitempty"`
	TerminateMsg       string `json:",omitempty"`
	LastErr            string `json:",omitempty"`

	// Bleeds: the contract has it, and nobody proves, mends or ends it: it loses a part of its deposit with each
	// window.
	Bleeds bool `json:",omitempty"`
	// OnChain: the contract has it and expects its proofs, as it said last.
	OnChain bool `json:",omitempty"`

	Over bool // nothing is left to do, and nothing is held
	// Step is what runs, with its attempt; empty: nothing does.
	Step    string `json:",omitempty"`
	Attempt uint32 `json:",omitempty"`
	// PausedUntil is when what failed is tried again, or what was away is asked again (Outage).
	PausedUntil time.Time `json:",omitzero"`
	Outage      bool      `json:",omitempty"`
	// Parked is why nothing is done until an operator does one of the Actions.
	Parked   string     `json:",omitempty"`
	Actions  []string   `json:",omitempty"`
	ForcedBy string     `json:",omitempty"` // who put it into this state
	Wanted   string     `json:",omitempty"` // who wanted it terminated or removed, and why
	Steps    []StepTime // that were begun, in order of their names

	// Space is what the ledger holds for it now, Deposit what is at stake.
	Space           SectorSpace
	Deposit         string
	DepositReturned string
	DepositLost     string

	LastEvent Place

	// Fault says since when and by which event it has the fault that is not recovered; nil: it has none.
	Fault *SectorFault `json:"-"`
}

// SectorFault is how a sector came by its fault.
type SectorFault struct {
	At     time.Time
	Reason string
}

// SectorPiece is a piece in a sector; one without a payload is zeros.
type SectorPiece struct {
	PieceCID string
	Size     events.Bytes // padded
	Payload  events.Bytes
}

// SectorSpace is bytes by part.
type SectorSpace struct{ Unsealed, Sealed, Tree, Scratch events.Bytes }

// StepTime is how long a step took, in seconds: the last time, and in all its attempts.
type StepTime struct {
	Step     string
	Attempts uint32
	Last     float64
	Total    float64
}

type sectors struct {
	All map[uint64]*openSector
	// Over are the numbers of those that are, in the order in which they were.
	Over      []uint64
	Forgotten uint64
	// shown is the view, which is kept until the next event that may change it; nil: it is not made. It is not saved.
	shown atomic.Pointer[Provider]
}

// openSector is the core's fold with what the core does not keep.
type openSector struct {
	State sector.Info
	// OutBytes and ProofBytes are the lengths of what the state has without its content: ten
	// thousand proofs are hundreds of megabytes.
	OutBytes, ProofBytes int
	Since, Began         time.Time
	Times                map[sector.Step]stepTime
	// Mined are messages of the sector that its own stream does not have: when the chain told what a message did
	// before that was answered, the sector had gone on.
	Mined map[sector.Step]events.Hash
	Last  Place
	Fault *SectorFault
}

type stepTime struct{ Last, Total time.Duration }

// something stands for hex whose content is not kept.
const something = "0x"

func (h *host) foldSector(r events.Recorded, e sector.Event) {
	_, number, _ := events.ParseSectorStream(r.Stream)
	s := h.sectors.All[number]
	if s == nil {
		s = &openSector{State: sector.New(sector.Policy{})}
		s.State.Number = number
		h.sectors.All[number] = s
	}
	was, since := s.State, s.Since
	s.fold(r, e)
	h.sectors.shown.Store(nil)
	if s.State.State != was.State {
		h.tally.left(events.CategorySector, string(was.State), since, s.Since)
	}
	if s.State.Over() && !was.Over() {
		h.sectors.end(number, h.limits.ClosedSectors)
	}
}

func (s *openSector) fold(r events.Recorded, e sector.Event) {
	before := s.State
	s.State = sector.Evolve(s.State, e)
	s.Last = Place{r.Type, at(e), r.Revision, r.Position}
	switch e.(type) {
	case *messages.SectorOldTicket, *messages.SectorRetrySeal:
		s.OutBytes, s.ProofBytes = 0, 0
	case *messages.SectorSeedReady, *messages.SectorRetryInvalidProof:
		s.ProofBytes = 0
	}
	if out := s.State.PreCommit1Out; out != "" && out != something {
		s.OutBytes, s.State.PreCommit1Out = bytesOf(out)
	}
	if proof := s.State.Proof; proof != "" && proof != something {
		s.ProofBytes, s.State.Proof = bytesOf(proof)
	}
	for step, mined := range s.Mined {
		if mined == messageOf[step](s.State) {
			delete(s.Mined, step)
		}
	}
	if s.State.State != before.State {
		s.Since = s.Last.At
	}
	switch {
	case !s.State.State.Faulty():
		s.Fault = nil
	case !before.State.Faulty():
		s.Fault = &SectorFault{s.Last.At, r.Type + ": " + sectorSentence(e)}
	}
	if before.Step.Key != "" && s.State.Step.Key != before.Step.Key {
		took := max(0, s.Last.At.Sub(s.Began))
		if s.Times == nil {
			s.Times = map[sector.Step]stepTime{}
		}
		s.Times[before.Step.Name] = stepTime{took, s.Times[before.Step.Name].Total + took}
	}
	if _, begins := e.(*messages.SectorStepScheduled); begins {
		s.Began = s.Last.At
	}
}

// messageOf is the newest message of each kind, by the stream of the sector.
var messageOf = map[sector.Step]func(sector.Info) events.Hash{
	sector.StepSendPreCommit:   func(s sector.Info) events.Hash { return s.PreCommitMessage },
	sector.StepSendCommit:      func(s sector.Info) events.Hash { return s.CommitMessage },
	sector.StepDeclareFault:    func(s sector.Info) events.Hash { return s.FaultReportMsg },
	sector.StepDeclareRecovery: func(s sector.Info) events.Hash { return s.RecoveryMsg },
	sector.StepTerminate:       func(s sector.Info) events.Hash { return s.TerminateMsg },
}

// mined notes a message of the account that was mined, if it is one of a sector: its key ends with that of the step.
func (all *sectors) mined(key, message string) {
	const parts = 5 // kind, sector, and the three of a step's key: step, sector, attempt
	of := strings.Split(key, ":")
	if len(of) != parts || messageOf[sector.Step(of[2])] == nil {
		return
	}
	number, err1 := strconv.ParseUint(of[3], 10, 64)
	hash, err2 := events.ParseHash(message)
	if s := all.All[number]; s != nil && err1 == nil && err2 == nil {
		if s.Mined == nil {
			s.Mined = map[sector.Step]events.Hash{}
		}
		s.Mined[sector.Step(of[2])] = hash
		all.shown.Store(nil)
	}
}

func (s *openSector) message(step sector.Step) string {
	return hashOf(cmp.Or(s.Mined[step], messageOf[step](s.State)))
}

// bytesOf is the length of hex that is not empty, and what is kept of it.
func bytesOf(hex string) (n int, kept string) {
	return (len(hex) - len(something)) / 2, something
}

// end lets those go that were over first.
func (all *sectors) end(number uint64, limit int) {
	var dropped *uint64
	all.Over = slices.DeleteFunc(all.Over, func(n uint64) bool { return n == number }) // It was over once before.
	if all.Over, dropped = recent(all.Over, number, limit); dropped != nil {
		delete(all.All, *dropped)
		all.Forgotten++
	}
}

// Sectors is the view of the sectors.
func (v *Views) Sectors() SectorsView { return SectorsView{v.asOf, rows(v, (*host).provider)} }

func (h *host) provider(out []Provider) []Provider {
	if len(h.sectors.All) == 0 {
		return out
	}
	if known := h.sectors.shown.Load(); known != nil {
		return append(out, *known)
	}
	p := Provider{
		Host: h.address, Counts: []StateCount{}, Sectors: make([]Sector, 0, len(h.sectors.All)),
		Forgotten: h.sectors.Forgotten,
	}
	counts := map[sector.State]uint64{}
	inOrder := slices.SortedFunc(maps.Values(h.sectors.All), func(a, b *openSector) int {
		return cmp.Or(cmp.Compare(a.urgency(), b.urgency()), cmp.Compare(a.State.Number, b.State.Number))
	})
	for _, s := range inOrder {
		counts[s.State.State]++
		if s.State.Parked() {
			p.Parked++
		} else if !s.State.Until.IsZero() {
			p.Paused++
		}
		p.Sectors = append(p.Sectors, s.row(h))
	}
	for _, state := range sector.States() {
		if n := counts[state]; n > 0 {
			p.Counts = append(p.Counts, StateCount{string(state), n})
		}
	}
	h.sectors.shown.Store(&p)
	return append(out, p)
}

// listedSectors are the rows of the sectors alone, shared.
func (h *host) listedSectors() any {
	out := []*Sector{}
	for _, p := range h.provider(nil) {
		for i := range p.Sectors {
			out = append(out, &p.Sectors[i])
		}
	}
	return out
}

// urgency orders sectors, the least first: those of the first two need an operator, those of the third time.
func (s *openSector) urgency() int {
	switch {
	case s.State.Bleeds():
		return 0
	case s.State.Parked():
		return 1
	case !s.State.Until.IsZero():
		return 2
	}
	return 3
}

func (s *openSector) row(h *host) Sector {
	st := s.State
	row := Sector{
		Host: h.address, SectorNumber: st.Number, State: string(st.State), Since: s.Since, StartedAt: st.BeganAt,
		Size: st.Size, Pieces: piecesOf(st.Pieces), Pending: piecesOf(st.Pending), TicketValue: hashOf(st.TicketValue),
		TicketEpoch: st.TicketEpoch, PreCommit1OutBytes: s.OutBytes, CommD: hashOf(st.CommD), CommR: hashOf(st.CommR),
		Proves: st.Proves, ProofBytes: s.ProofBytes, SeedValue: hashOf(st.SeedValue),
		PreCommitMessage: s.message(sector.StepSendPreCommit),
		SeedEpoch:        st.SeedEpoch, InvalidProofs: st.InvalidProofs,
		CommitMessage:  s.message(sector.StepSendCommit),
		FaultReportMsg: s.message(sector.StepDeclareFault), RecoveryMsg: s.message(sector.StepDeclareRecovery),
		TerminateMsg: s.message(sector.StepTerminate), LastErr: st.LastErr, Bleeds: st.Bleeds(), OnChain: st.OnChain,
		Over: st.Over(), Step: string(st.Step.Name),
		Attempt: st.Step.Attempt, PausedUntil: st.Until, Outage: st.Outage, Parked: st.Reason, Actions: st.Actions,
		ForcedBy: st.ForcedBy, Wanted: st.Doing, Steps: s.steps(), LastEvent: s.Last, Fault: s.Fault,
	}
	one := h.sectorSpace(st.Number)
	row.Space = SectorSpace(one.Space)
	lost := one.Lost
	if st.Settled {
		lost = st.Lost
	}
	row.Deposit, row.DepositReturned, row.DepositLost = one.Deposit.String(), st.Returned.String(), lost.String()
	return row
}

func (s *openSector) steps() []StepTime {
	out := make([]StepTime, 0, len(s.State.Attempts))
	for _, of := range s.State.Attempts {
		t := s.Times[of.Step]
		out = append(out, StepTime{string(of.Step), of.N, t.Last.Seconds(), t.Total.Seconds()})
	}
	return out
}

func piecesOf(all []sector.Piece) []SectorPiece {
	out := make([]SectorPiece, 0, len(all))
	for _, p := range all {
		out = append(out, SectorPiece{p.CID, p.Size, p.Payload})
	}
	return out
}

func hashOf(h events.Hash) string {
	if h.Zero() {
		return ""
	}
	return h.String()
}

// sectorSpace is what the host's ledgers hold for a sector. One of them does, if any.
func (h *host) sectorSpace(number uint64) (held capacity.Sector) {
	for _, state := range h.ledgers.Of {
		if one, known := state.Sector(number); known {
			held = one
		}
	}
	return held
}
