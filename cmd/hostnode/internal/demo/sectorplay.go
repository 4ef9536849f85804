package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

// This file is what happens in the demonstration of sectors, in its order.

// act is what somebody does as soon as its condition holds.
type act struct {
	when func() bool
	do   func(context.Context) error
}

// Limits of a demonstration of sectors.
const (
	// daysBefore is on how many days each sector is proven before something happens to it.
	daysBefore = 2
	// daysMore is how many days it may take in addition to those asked for.
	daysMore = 20
	// orderTime is how long the host may take to answer an order; a piece is read meanwhile.
	orderTime = 5 * time.Minute
)

// play runs the host until everything has happened.
func (s *sectorShow) play(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.operator = operator{api.NewClient(s.dir.Socket()), ""}
	s.plan = s.acts()
	pacing, err := s.hosts(ctx, s.hostEnv(), s.operator.sectorProgress)
	if err != nil {
		return err
	}
	hears := func(l line) error {
		if err := s.listen(ctx); err != nil { // What it logged came first.
			return err
		}
		return s.heard(l)
	}
	if err := s.watch(ctx, pacing, hears, s.goesOn); err != nil {
		return err
	}
	return s.stopHost(ctx)
}

// acts are what happens, one after the other.
func (s *sectorShow) acts() []act {
	of := func(roles ...int) func() bool {
		return func() bool {
			return !slices.ContainsFunc(roles, func(role int) bool {
				return len(s.contract.of(s.sectors[role]).proven) < daysBefore
			})
		}
	}
	return []act{
		{func() bool { return true }, s.beginAll},
		{of(damaged, faulty, terminated, sound), s.terminate},
		{of(damaged, faulty), s.declare},
		{of(damaged, faulty), s.hurt},
	}
}

// goesOn looks at sectors and contract, does the next act, and reports whether everything has happened.
func (s *sectorShow) goesOn(ctx context.Context) (bool, error) {
	p, err := s.operator.sectorProgress(ctx)
	if err != nil || p.Head == 0 {
		return false, nil //nolint:nilerr // The host is starting; the chain waits for it, but not for ever.
	}
	all, err := asked(ctx, s.operator, api.ListSectors, api.None{})
	if err != nil {
		return false, nil //nolint:nilerr // The same.
	}
	for _, row := range all.Sectors {
		s.rows[row.SectorNumber] = row
	}
	if err := s.listen(ctx); err != nil {
		return false, err
	}
	for i, n := range s.sectors {
		row := s.rows[n]
		s.display.is(n, row.State, 0)
		s.display.proofs(n, len(s.contract.of(n).proven))
		if row.Parked != "" {
			return false, fmt.Errorf("%w: sector %d, the one that is %s, waits for somebody: %s",
				problem.ErrDemoIncomplete, n, roles[i], row.Parked)
		}
	}
	if len(s.plan) > 0 {
		if !s.plan[0].when() {
			return false, s.late()
		}
		order, cancel := context.WithTimeout(ctx, orderTime)
		defer cancel()
		err := s.plan[0].do(order)
		s.plan = s.plan[1:]
		return false, err
	}
	if s.happened() && !p.Sending {
		return true, nil
	}
	return false, s.late()
}

// listen shows what the contract has logged since the last time.
func (s *sectorShow) listen(ctx context.Context) error {
	said, err := s.contract.read(ctx, s.local.Head().Number)
	for _, sentence := range said {
		s.display.say("Contract: %s", sentence)
	}
	return err
}

// late returns an error when the demonstration takes too many days.
func (s *sectorShow) late() error {
	day, most := s.contract.dayOf(s.local.Head().Number), uint64(s.options.Days+daysMore)
	if day <= most {
		return nil
	}
	var states []string
	for i, n := range s.sectors {
		states = append(states, fmt.Sprintf("sector %d (%s) is %s", n, roles[i], s.rows[n].State))
	}
	return fmt.Errorf("%w after %d days: %s", problem.ErrDemoIncomplete, most, strings.Join(states, ", "))
}

// happened reports whether everything has happened to the sectors, and the last day is proven.
func (s *sectorShow) happened() bool {
	for role, n := range s.sectors {
		row, on := s.rows[n], s.contract.of(n)
		switch {
		case role == terminated:
			if !row.Over {
				return false
			}
			continue
		case row.State != "Proving" || len(on.proven) < s.options.Days:
			return false
		case role != sound && len(on.recovered) == 0:
			return false
		}
	}
	return true
}

// roles are what the sectors are for, by number.
var roles = [manySectors]string{
	damaged: "damaged", faulty: "declared faulty", terminated: "terminated", sound: "sound",
}

// beginAll imports the pieces, and begins all sectors.
func (s *sectorShow) beginAll(ctx context.Context) error {
	for role := range manySectors {
		begun, err := asked(ctx, s.operator, api.BeginSector, api.NewSector{
			Size: s.size, By: whoDemonstrates, Request: api.DrawID().String(),
		})
		n := begun.Number
		if err != nil {
			return fmt.Errorf("begin a sector: %w", err)
		}
		s.sectors = append(s.sectors, n)
		s.display.is(n, "Empty", 0)
		room := s.size
		for _, file := range s.files[role*piecesOfEach : (role+1)*piecesOfEach] {
			piece, err := api.ImportPiece.Ask(ctx, s.operator.Client, api.OfFile{Path: file}) // Which takes as long as an act may.
			if err != nil {
				return fmt.Errorf("import %s: %w", file, refused(err))
			}
			if err := s.operator.order(ctx, n, api.VerbAddPiece, api.SectorOrder{Piece: &piece}); err != nil {
				return fmt.Errorf("add piece %s to sector %d: %w", piece.CID, n, err)
			}
			room -= min(room, piece.Size)
		}
		if room == 0 { // A full one is packed automatically, perhaps already.
			continue
		}
		if err := s.operator.order(ctx, n, api.VerbPack, api.SectorOrder{}); err != nil {
			return fmt.Errorf("seal sector %d: %w", n, err)
		}
	}
	s.display.say("Operator: begins %s with %d pieces of data each, and has them packed",
		numbered("sector", s.sectors), piecesOfEach)
	return nil
}

func (s *sectorShow) terminate(ctx context.Context) error {
	n := s.sectors[terminated]
	s.display.say("Operator: hostnode sectors terminate %d, before its time", n)
	return s.operator.order(ctx, n, api.VerbTerminate, api.SectorOrder{Reason: "its client no longer wants it"})
}

func (s *sectorShow) declare(ctx context.Context) error {
	n := s.sectors[faulty]
	s.display.say("Operator: hostnode sectors force %d Faulty, because a fault that is declared in time costs less", n)
	return s.operator.order(ctx, n, api.VerbForce, api.SectorOrder{
		State: "Faulty", Reason: "its disk is moved to another machine",
	})
}

// Damage is the damage that was done, and how it was found.
type Damage struct {
	Sector uint64       `json:"sector"`
	File   string       `json:"file"`
	Bytes  events.Bytes `json:"bytes"`
	Of     events.Bytes `json:"of"`
	At     time.Time    `json:"at"`
	// Day is when it was done, FoundOn when a challenge found it; 0: none did.
	Day     uint64 `json:"day"`
	FoundOn uint64 `json:"foundOn"`
	Reason  string `json:"reason"`
}

// damagedTenth is the share of the data that is damaged: one byte in ten.
const damagedTenth = 10

// hurt damages the data of a sector behind the back of the host.
func (s *sectorShow) hurt(context.Context) error {
	s.damage.Day = s.contract.dayOf(s.local.Head().Number)
	if err := s.damageFile(s.sectors[damaged]); err != nil {
		return fmt.Errorf("damage a sector: %w", err)
	}
	s.display.say("Somebody: damages %d of the %d bytes of sector %d, in %s. There is no sealed file; "+
		"the data itself is stored.", s.damage.Bytes, s.damage.Of, s.damage.Sector, s.damage.File)
	return nil
}

// damageFile damages a tenth of the data of a sector.
func (s *sectorShow) damageFile(n uint64) (err error) {
	d := &s.damage
	d.Sector, d.File, d.Of, d.At = n, s.unsealed(n), s.size, time.Now()
	d.Bytes = (s.size + damagedTenth - 1) / damagedTenth
	f, err := os.OpenFile(d.File, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data := make([]byte, d.Bytes)
	from := int64(s.size / 4) //nolint:gosec // Below the largest sector.
	if _, err := f.ReadAt(data, from); err != nil {
		return err
	}
	for i := range data {
		data[i] ^= 0x15
	}
	_, err = f.WriteAt(data, from)
	return err
}

// heard shows a line of the host's log, and kills the host when it is time.
func (s *sectorShow) heard(l line) error {
	s.showLine(l)
	if l.Sector == nil || l.State == "" || !s.timeToKillAt(l.ofSector()) {
		return nil
	}
	s.killed = append(s.killed, time.Now())
	return s.crash(s.showLine)
}

// ofSector is the text of a line about a sector.
func (l line) ofSector() SectorLine {
	event, _, _ := strings.Cut(l.Msg, ": ")
	event, _, _ = strings.Cut(event, " ")
	return SectorLine{Sector: *l.Sector, Event: event, State: l.State, Step: l.Step}
}

func (s *sectorShow) showLine(l line) {
	if l.Sector == nil {
		s.show.show(l)
		return
	}
	s.remember(l)
	if l.State == "" { // The line of the event itself follows.
		return
	}
	at := l.ofSector()
	s.display.is(at.Sector, at.State, 0)
	_, reason, given := strings.Cut(l.Msg, ": ")
	if at.Event == "SectorFaulty" && at.Sector == s.damage.Sector && s.damage.FoundOn == 0 {
		s.damage.FoundOn, s.damage.Reason = s.contract.dayOf(s.local.Head().Number), reason
	}
	sentence := sectorNews[at.Event]
	switch {
	case l.Level != "info":
		sentence = l.Msg
	case sentence == "":
		return
	case given:
		sentence += ": " + reason
	}
	s.display.say("sector %d  %-17s %s", at.Sector, at.State, sentence)
}

// timeToKillAt is true twice: when a step of sealing begins, and when a message goes out.
func (s *sectorShow) timeToKillAt(l SectorLine) bool {
	if s.options.KillAt != nil {
		return s.options.KillAt(l)
	}
	if !s.Crash || l.Event != scheduled || len(s.sectors) < manySectors {
		return false
	}
	switch s.kills {
	case 0:
		return l.Sector == s.sectors[sound] && l.Step == "PreCommit1"
	case 1:
		return slices.Contains(s.sectors, l.Sector) && l.Step == "SendCommit"
	}
	return false
}

// sectorNews says what an event means. Other events are not shown.
var sectorNews = map[string]string{
	"SectorOpened":           "the ledger holds its space, and its deposit",
	"SectorPieceAdded":       "a piece is written, and matches its commitment",
	"SectorPacked":           "it is packed",
	"SectorTicket":           "it has a ticket, the hash of a past block",
	"SectorOldTicket":        "its ticket is too old",
	"SectorPreCommit1":       "the tree over its data is built",
	"SectorPreCommit2":       "it has CommD, and CommR under its ticket",
	"SectorPreCommitted":     "it is precommitted; its deposit is at stake",
	"SectorSeedReady":        "its seed is drawn, the hash of a later block",
	"SectorProofReady":       "the proof of its seal is made and recorded; now it may be sent",
	"SectorCommitted":        "the contract took the proof of its seal",
	"SectorFinalized":        "from now on it proves possession every day",
	"SectorFaulty":           "it cannot be proven",
	"SectorForceState":       "an operator put it into this state",
	"SectorFaultReported":    "its fault is declared",
	"SectorFaultedFinal":     "the contract knows of its fault; now its data is repaired",
	"SectorRestored":         "its data is sound again",
	"SectorRecoveryDeclared": "its recovery is declared",
	"SectorRecovered":        "it has recovered",
	"SectorTerminate":        "an operator terminates it",
	"SectorTerminating":      "its termination is mined",
	"SectorTerminated":       "the contract has released it",
	"SectorRemove":           "its files are to be removed",
	"SectorRemoved":          "its files are removed",
	"SectorReleased":         "the ledger has its space back",
	"SectorSettled":          "its deposit is settled; it is over",
	"SectorRetryScheduled":   "a step is tried again after a pause",
	"SectorParked":           "it waits for somebody",
	"SectorEventRefused":     "an order was refused",
}

// sectorStands is roughly how far a sector has come in each state, from 0 to 1.
var sectorStands = map[string]float64{
	"Empty": 0.02, "WaitDeals": 0.04, "AddPiece": 0.06, "Packing": 0.1, "GetTicket": 0.12, "PreCommit1": 0.16,
	"PreCommit2": 0.22, "PreCommitting": 0.28, "WaitSeed": 0.34, "Committing": 0.42, "CommitWait": 0.48,
	"FinalizeSector": 0.5, "Removed": 1,
}

func sectorProgress(l *itemLine) float64 {
	if f, ok := sectorStands[l.state]; ok {
		return f
	}
	return min(0.5+0.1*float64(l.proofs), 1)
}
