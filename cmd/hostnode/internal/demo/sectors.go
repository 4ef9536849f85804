package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
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

const (
	piecesOfEach = 2
	// madeSectorBytes fill the pieces almost.
	madeSectorBytes = 15 << 20
	// leastFile is the smallest file that can be cut into pieces.
	leastFile        = 1024
	minDays, maxDays = 3, 50
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

// sectorShow is a demonstration of sectors in progress.
type sectorShow struct {
	*show
	options  SectorOptions
	operator operator
	contract *contractLog
	files    []string // the pieces, those of each sector side by side
	size     events.Bytes
	sectors  []uint64 // their numbers, in the order of what becomes of them
	rows     map[uint64]projections.Sector
	plan     []act
	killed   []time.Time
	damage   Damage
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
	s := &sectorShow{show: newShow(o.Options), options: o, size: size, rows: map[uint64]projections.Sector{}}
	s.work = size * manySectors
	s.display.noun, s.display.stands = "sector", sectorProgress
	return played(ctx, s.show, s.close, s.summarize, s.prepare, s.play)
}

func (s *sectorShow) close() {
	if s.contract != nil {
		s.contract.client.Close()
	}
	s.show.close()
}

func (o SectorOptions) check() error {
	chosen := withMore(fixed, fixedForSectors)
	if o.Config.Sectors.Sealer == sealerOfDemo {
		delete(chosen, "sectors.sealer")
	}
	return cmp.Or(within("days", o.Days, minDays, maxDays), o.refuseSettings(chosen))
}

// withMore is a copy of one with what is in the other.
func withMore(one, other map[string]string) map[string]string {
	all := maps.Clone(one)
	maps.Copy(all, other)
	return all
}

// sealerOfDemo is the sealer that is shown.
const sealerOfDemo = "commd"

// begin refuses, before anything is written, what cannot be run, and returns how large the sectors are.
func (o SectorOptions) begin() (events.Bytes, error) {
	bytes := uint64(madeSectorBytes)
	if o.File != "" {
		var err error
		if bytes, err = readable(o.File); err != nil {
			return 0, err
		}
	}
	if bytes < leastFile {
		return 0, fmt.Errorf("%w: %s has %d bytes, and is cut into %d pieces; name one of %d bytes at least",
			problem.ErrDemoOptions, o.File, bytes, manySectors*piecesOfEach, leastFile)
	}
	piece, err := commd.PieceSize(eachOf(bytes))
	if err == nil {
		err = commd.CheckSectorSize(max(piece*piecesOfEach, commd.MinSectorSize))
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %s cannot be cut into pieces of sectors: %w", problem.ErrDemoOptions, o.File, err)
	}
	size := max(piece*piecesOfEach, commd.MinSectorSize)
	if err := o.hasRoom("sectors", bytes, manySectors*(size+commd.TreeSize(size))+bytes); err != nil {
		return 0, err
	}
	dir, err := datadir.OpenBriefly(o.Config.DataDir, time.Now(), true)
	if err != nil {
		return 0, err
	}
	return events.Bytes(size), dir.Close() // The host takes it.
}

// eachOf is how many bytes of a file go into each piece but the last one, which may have fewer.
func eachOf(bytes uint64) uint64 {
	const n = manySectors * piecesOfEach
	return (bytes + n - 1) / n
}

// prepare sets up everything but the host: data, keys, chain, accounts.
func (s *sectorShow) prepare(ctx context.Context) error {
	key, err := s.accountKey()
	if err != nil {
		return err
	}
	file, err := s.data(madeSectorBytes)
	if err != nil {
		return err
	}
	if err := s.cut(file); err != nil {
		return fmt.Errorf("cut %s into pieces: %w", file, err)
	}
	provingKeys, err := s.provingKeys(ctx)
	if err != nil {
		return err
	}
	if s.local, err = node.LocalChain(ctx, s.Config, s.dir, provingKeys, sectorRules()); err != nil {
		return err
	}
	if s.contract, err = openContractLog(ctx, s.local); err != nil {
		return err
	}
	if err := s.client.enter(ctx, s.local, events.Amount{}); err != nil {
		return err
	}
	if err := s.openAccount(ctx, key); err != nil {
		return err
	}
	s.contract.account = s.account
	p := s.contract.rules.Proving
	s.display.say("Chain: development chain at block %d, contract of sectors %s: a day has %d blocks in %d windows, "+
		"a challenge %d leaves", s.local.Head().Number, s.local.SectorProvider, p.PeriodBlocks, p.Deadlines, p.Leaves)
	s.sayUnits("Days are the contract's, counted in blocks, which come as fast as the host can follow")
	return nil
}

// cut writes the pieces of the file, each into a file of its own.
func (s *sectorShow) cut(file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	dir := filepath.Join(s.dir.Root, "client")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	each := int64(eachOf(uint64(info.Size()))) //nolint:gosec // The size of a file.
	for i := range int64(manySectors * piecesOfEach) {
		path := filepath.Join(dir, fmt.Sprintf("piece-%d", i+1))
		if err := write(path, io.NewSectionReader(in, i*each, min(each, info.Size()-i*each))); err != nil {
			return err
		}
		s.files = append(s.files, path)
	}
	s.display.say("Data: %s is %d bytes; cut into %d pieces for %d sectors of %s",
		filepath.Base(file), info.Size(), len(s.files), manySectors, s.size.Human())
	return nil
}

// hostEnv is the environment of the host.
func (s *sectorShow) hostEnv() []string {
	c := s.options.hostConfig(s.local.IPCPath(), s.local.Marketplace.String(), s.local.SectorProvider.String())
	c.Sectors.DeployedAt = s.local.SectorBlock
	return append(config.Foreign(os.Environ()), c.Environ()...)
}

// hostConfig is the host's configuration: the given settings, and those that the demonstration chooses.
func (o SectorOptions) hostConfig(endpoint, market, sectors string) config.Config {
	c := o.Options.hostConfig(endpoint, market)
	c.Sectors.Sealer, c.Sectors.Contract = sealerOfDemo, sectors
	return c
}

// unsealed is the file with the data of a sector.
func (s *sectorShow) unsealed(number uint64) string {
	provider := strings.TrimPrefix(s.account.String(), "0x")
	return filepath.Join(s.dir.Root, "sectors", fmt.Sprintf("%s-%d", provider, number), "unsealed")
}
