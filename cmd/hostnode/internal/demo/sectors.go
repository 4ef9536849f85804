package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/prover/commd"
)

// SectorOptions say what to demonstrate of sectors. Of Options, Slots, Periods and Kill are not used.
type SectorOptions struct {
	Options
	// Days is on how many days, which are proving periods of the contract, each sector is proven at
	// least, unless it is terminated.
	Days int
	// KillAt, for tests, is asked after each line of the host's log about a sector whether to kill the host
	// now; it replaces Crash.
	KillAt func(SectorLine) bool
}

// SectorLine is what the host's log says about a sector: an event, the state after it, and the step
// that it is about, if any.
type SectorLine struct {
	Sector             uint64
	Event, State, Step string
}

// What becomes of each sector of the demonstration.
const (
	damaged    = iota // its data are damaged, a challenge finds out, and they are mended from its pieces
	faulty            // its fault is declared by the operator, and it recovers
	terminated        // it is terminated
	sound             // the host is killed while it is sealed
	manySectors
)

// roles are what the sectors are for, by number.
var roles = [manySectors]string{
	damaged: "damaged", faulty: "declared faulty", terminated: "terminated", sound: "sound",
}

const (
	piecesOfEach = 2
	// madeSectorBytes fill the pieces almost.
	madeSectorBytes = 15 << 20
	// leastFile is the smallest file that can be cut into pieces.
	leastFile        = 1024
	minDays, maxDays = 3, 50
	// daysBefore is on how many days each sector is proven before something happens to it.
	daysBefore = 2
	// daysMore is how many days it may take in addition to those asked for.
	daysMore = 20
	// orderTime is how long the host may take for all pieces, which it reads meanwhile.
	orderTime = 5 * time.Minute
	// damagedTenth is the share of the data that is damaged: one byte in ten.
	damagedTenth = 10
	// shownSealer is the sealer that is shown.
	shownSealer = "commd"
)

// sectorRules are those of the demonstration's chain: a day has 40 blocks and two windows; a challenge
// has 44 leaves, so that one day finds a loss of a tenth with 99 %; a sector of 4 MiB puts down 0.42
// tokens, and a day earns a hundredth of that.
func sectorRules() *bindings.SectorConfig {
	c := devchain.DefaultSectorConfig()
	c.Proving.PeriodBlocks, c.Proving.Deadlines, c.Proving.Leaves = 40, 2, 44
	c.Deposits.DepositPerByte, c.Possession.RewardPerByte = 100_000_000_000, 1_000_000_000
	return &c
}

// fixedForSectors are further settings that the demonstration of sectors chooses itself, and why.
var fixedForSectors = map[string]string{
	"sectors.sealer":     "it shows commd",
	"sectors.contract":   "its chain has its own contract",
	"sectors.deployedAt": "its chain has its own contract",
	"sectors.directory":  "it damages a file there",
	"sectors.size":       "the sectors are as large as their pieces need",
}

// sealing is what demonstrations have in common whose host seals sectors.
type sealing struct {
	*engine
	contract *contractLog
}

// prepare sets up everything but the host.
func (s *sealing) prepare(
	ctx context.Context, made int64, take func(context.Context, string) (events.Amount, error),
) (err error) {
	if err = s.engine.prepare(ctx, made, sectorRules(), take); err != nil {
		return err
	}
	s.contract, err = openContractLog(ctx, s.local, s.account, func(format string, args ...any) {
		s.display.say("Contract: "+format, args...)
	})
	if err == nil {
		s.closers = append(s.closers, s.contract.client.Close)
	}
	return err
}

// hostConfig is the host's configuration.
func (s *sealing) hostConfig() config.Config {
	c := SectorOptions{Options: s.Options}.
		hostConfig(s.local.IPCPath(), s.local.Marketplace.String(), s.local.SectorProvider.String())
	c.Sectors.DeployedAt = s.local.SectorBlock
	return c
}

// start starts the host, and lets chain time run.
func (s *sealing) start(ctx context.Context, c config.Config) error {
	if err := s.addHost("", c); err != nil {
		return err
	}
	s.hosts[0].operator.sectors = true
	return s.engine.start(ctx, s.pace())
}

// sectorDemo is a demonstration of sectors in progress.
type sectorDemo struct {
	sealing
	options SectorOptions
	files   []string // the pieces, those of each sector side by side
	size    events.Bytes
	sectors []uint64 // their numbers, in the order of what becomes of them
	rows    map[uint64]projections.Sector
	damage  Damage
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

// RunSectors runs the demonstration and returns its result. The error is nil only when all of it
// happened, and the audit is clean.
func RunSectors(ctx context.Context, o SectorOptions) (SectorSummary, error) {
	if err := o.check(); err != nil {
		return SectorSummary{}, err
	}
	size, err := o.begin()
	if err != nil {
		return SectorSummary{}, err
	}
	s := &sectorDemo{
		sealing: sealing{engine: newEngine(o.Options)}, options: o, size: size, rows: map[uint64]projections.Sector{},
	}
	s.work, s.display.scale, s.receive = size*manySectors, sectorScale, s.showLine
	s.killAt = func(l line) bool {
		at, ok := l.ofSector()
		return ok && s.killsAt(at)
	}
	return run(ctx, s.engine, s.summarize, s.prepare, s.start, s.fill, s.disturb, s.finish, s.stop)
}

func (o SectorOptions) check() error {
	if o.Config.Sectors.Sealer == shownSealer { // It may be given.
		o.Config.Sectors.Sealer = config.Default().Sectors.Sealer
	}
	return cmp.Or(inRange("days", o.Days, minDays, maxDays), o.refuseSettings(fixedForSectors, fixed))
}

// begin refuses, before anything is written, what cannot be run, and returns how large the sectors are.
func (o SectorOptions) begin() (size events.Bytes, err error) {
	err = o.Options.begin(madeSectorBytes, func(fileBytes uint64) error {
		if fileBytes < leastFile {
			return fmt.Errorf("%w: %s has %d bytes, and is cut into %d pieces; name one of %d bytes at least",
				problem.ErrDemoOptions, o.File, fileBytes, manySectors*piecesOfEach, leastFile)
		}
		piece, err := commd.PieceSize(eachOf(fileBytes))
		sector := max(piece*piecesOfEach, commd.MinSectorSize)
		if err = cmp.Or(err, commd.CheckSectorSize(sector)); err != nil {
			return fmt.Errorf("%w: %s cannot be cut into pieces of sectors: %w", problem.ErrDemoOptions, o.File, err)
		}
		size = events.Bytes(sector)
		return o.hasRoom("sectors", fileBytes, manySectors*(sector+commd.TreeSize(sector))+fileBytes)
	})
	if err != nil {
		return 0, err
	}
	return size, nil
}

// eachOf is how many bytes of a file go into each piece but the last one, which may have fewer.
func eachOf(bytes uint64) uint64 {
	const n = manySectors * piecesOfEach
	return (bytes + n - 1) / n
}

// prepare sets up everything but the host.
func (s *sectorDemo) prepare(ctx context.Context) error {
	if err := s.sealing.prepare(ctx, madeSectorBytes, s.cut); err != nil {
		return err
	}
	p := s.contract.rules.Proving
	s.display.say("Chain: development chain at block %d, contract of sectors %s: a day has %d blocks in %d windows, "+
		"a challenge %d leaves", s.local.Head().Number, s.local.SectorProvider, p.PeriodBlocks, p.Deadlines, p.Leaves)
	return nil
}

// cut writes the pieces of the file, each into a file of its own. They cost no tokens.
func (s *sectorDemo) cut(_ context.Context, file string) (none events.Amount, err error) {
	bytes, err := readable(file)
	if err != nil {
		return none, err
	}
	in, err := os.Open(file)
	if err != nil {
		return none, err
	}
	defer in.Close()
	dir := filepath.Join(s.dir.Root, "client")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return none, err
	}
	each := int64(eachOf(bytes)) //nolint:gosec // The size of a file.
	for i := range manySectors * piecesOfEach {
		path := filepath.Join(dir, fmt.Sprintf("piece-%d", i+1))
		if err := write(path, io.LimitReader(in, each)); err != nil {
			return none, err
		}
		s.files = append(s.files, path)
	}
	s.display.say("Data: %s is %d bytes; cut into %d pieces for %d sectors of %s",
		filepath.Base(file), bytes, len(s.files), manySectors, s.size.Human())
	return none, nil
}

func (s *sectorDemo) start(ctx context.Context) error { return s.sealing.start(ctx, s.hostConfig()) }

// hostConfig is the host's configuration: the given settings, and those that the demonstration chooses.
func (o SectorOptions) hostConfig(endpoint, market, sectors string) config.Config {
	c := o.Options.hostConfig(endpoint, market)
	c.Sectors.Sealer, c.Sectors.Contract = shownSealer, sectors
	return c
}

// wait looks at sectors and contract until something is so.
func (s *sectorDemo) wait(ctx context.Context, what string, is func(Progress) bool) error {
	return s.until(ctx, what, func(ctx context.Context) (bool, error) {
		operator := s.hosts[0].operator
		p, err := operator.progress(ctx)
		if err != nil || p.Head == 0 {
			return false, nil //nolint:nilerr // The host is starting; the chain waits for it, but not for ever.
		}
		all, err := within(ctx, operator, api.ListSectors, api.Then{})
		if err != nil {
			return false, nil //nolint:nilerr // The same.
		}
		for _, row := range all.Sectors {
			s.rows[row.SectorNumber] = row
		}
		if err := s.readContract(ctx); err != nil {
			return false, err
		}
		for i, n := range s.sectors {
			row := s.rows[n]
			s.draw(n, row.State)
			if row.Parked != "" {
				return false, fmt.Errorf("%w: sector %d, the one that is %s, waits for an operator: %s",
					problem.ErrDemoIncomplete, n, roles[i], row.Parked)
			}
		}
		most := uint64(s.options.Days + daysMore)
		if done := is(p); done || s.today() <= most {
			return done, nil
		}
		return false, fmt.Errorf("%w after %d days: %s", problem.ErrDemoIncomplete, most, s.toCome(s.results()))
	})
}

func (s *sectorDemo) readContract(ctx context.Context) error {
	return s.contract.read(ctx, s.local.Head().Number)
}

func (s *sectorDemo) draw(n uint64, state string) {
	s.display.is(n, state, len(s.contract.of(n).proven))
}

func (s *sectorDemo) today() uint64 { return s.contract.dayOf(s.local.Head().Number) }

// fill imports the pieces, and begins all sectors.
func (s *sectorDemo) fill(ctx context.Context) error {
	if err := s.wait(ctx, "the host answers", func(Progress) bool { return true }); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	operator := s.hosts[0].operator
	for role := range manySectors {
		begun, err := within(ctx, operator, api.BeginSector, api.Send(api.NewSector{
			Size: s.size, By: whoDemonstrates, Request: api.DrawID().String(),
		}))
		if err != nil {
			return fmt.Errorf("begin a sector: %w", err)
		}
		n := begun.Number
		s.sectors = append(s.sectors, n)
		s.draw(n, "Empty")
		room := s.size
		for _, file := range s.files[role*piecesOfEach : (role+1)*piecesOfEach] {
			piece, err := api.ImportPiece.Ask(ctx, operator.Client, api.Send(api.OfFile{Path: file}))
			if err != nil {
				return fmt.Errorf("import %s: %w", file, refused(err))
			}
			if err := operator.order(ctx, n, api.VerbAddPiece, api.SectorOrder{Piece: &piece}); err != nil {
				return fmt.Errorf("add piece %s to sector %d: %w", piece.CID, n, err)
			}
			room -= min(room, piece.Size)
		}
		if room > 0 { // A full one is packed automatically, perhaps already.
			if err := operator.order(ctx, n, api.VerbPack, api.SectorOrder{}); err != nil {
				return fmt.Errorf("seal sector %d: %w", n, err)
			}
		}
	}
	s.display.say("Operator: begins %s with %d pieces of data each, and has them packed",
		numbered("sector", s.sectors), piecesOfEach)
	return nil
}

// disturb terminates a sector, declares another one faulty, and damages a third one behind the back of the host.
func (s *sectorDemo) disturb(ctx context.Context) error {
	err := s.wait(ctx, "each sector is proven", func(Progress) bool {
		return !slices.ContainsFunc(s.sectors, func(n uint64) bool { return len(s.contract.of(n).proven) < daysBefore })
	})
	if err != nil {
		return err
	}
	operator, end, fail := s.hosts[0].operator, s.sectors[terminated], s.sectors[faulty]
	s.display.say("Operator: hostnode sectors terminate %d, before its time", end)
	err = operator.order(ctx, end, api.VerbTerminate, api.SectorOrder{Reason: "its client no longer wants it"})
	if err != nil {
		return err
	}
	s.display.say("Operator: hostnode sectors force %d Faulty; a fault that is declared in time costs less", fail)
	err = operator.order(ctx, fail, api.VerbForce, api.SectorOrder{
		State: "Faulty", Reason: "its disk is moved to another machine",
	})
	if err != nil {
		return err
	}
	s.damage.Day = s.today()
	if err := s.damageFile(s.sectors[damaged]); err != nil {
		return fmt.Errorf("damage a sector: %w", err)
	}
	s.display.say("Disk: %d of the %d bytes of sector %d are damaged, in %s. There is no sealed file; "+
		"the data itself is stored.", s.damage.Bytes, s.damage.Of, s.damage.Sector, s.damage.File)
	return nil
}

// damageFile damages a tenth of the data of a sector.
func (s *sectorDemo) damageFile(n uint64) (err error) {
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

// unsealed is the file with the data of a sector.
func (s *sectorDemo) unsealed(number uint64) string {
	provider := strings.TrimPrefix(s.account.String(), "0x")
	return filepath.Join(s.dir.Sectors(), fmt.Sprintf("%s-%d", provider, number), "unsealed")
}

// finish waits until everything has happened to the sectors, and the last day is proven.
func (s *sectorDemo) finish(ctx context.Context) error {
	return s.wait(ctx, "everything has happened", func(p Progress) bool {
		return s.toCome(s.results()) == "" && !p.Sending
	})
}

// scheduled is the event that says that a step begins.
const scheduled = "SectorStepScheduled"

// killsAt is true twice: when a step of sealing begins, and when a message goes out.
func (s *sectorDemo) killsAt(at SectorLine) bool {
	if s.options.KillAt != nil {
		return s.options.KillAt(at)
	}
	if !s.Crash || at.Event != scheduled || len(s.sectors) < manySectors {
		return false
	}
	switch len(s.kills) {
	case 0:
		return at.Sector == s.sectors[sound] && at.Step == "PreCommit1"
	case 1:
		return slices.Contains(s.sectors, at.Sector) && at.Step == "SendCommit"
	}
	return false
}

// ofSector is the text of a line, if it is about an event of a sector.
func (l line) ofSector() (SectorLine, bool) {
	if l.Sector == nil || l.State == "" {
		return SectorLine{}, false
	}
	event, _, _ := strings.Cut(l.Msg, ": ")
	event, _, _ = strings.Cut(event, " ")
	return SectorLine{Sector: *l.Sector, Event: event, State: l.State, Step: l.Step}, true
}

// showLine shows a line of the host's log, after what the contract has said until then.
func (s *sectorDemo) showLine(ctx context.Context, l line) error {
	if err := s.readContract(ctx); err != nil {
		return err
	}
	at, ok := l.ofSector()
	if !ok {
		if l.Sector == nil { // Otherwise the line of the event itself follows.
			s.complain(l)
		}
		return nil
	}
	s.draw(at.Sector, at.State)
	_, reason, given := strings.Cut(l.Msg, ": ")
	if at.Event == "SectorFaulty" && at.Sector == s.damage.Sector && s.damage.FoundOn == 0 {
		s.damage.FoundOn, s.damage.Reason = s.today(), reason
	}
	sentence := sectorNews[at.Event]
	switch {
	case l.Level != "info":
		sentence = l.Msg
	case sentence == "":
		return nil
	case given:
		sentence += ": " + reason
	}
	s.display.say("sector %d  %-17s %s", at.Sector, at.State, sentence)
	return nil
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
	"SectorParked":           "it waits for an operator",
	"SectorEventRefused":     "an order was refused",
}
