package node

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors"
	actorsectors "github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/chain/provider"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/internal/retry"
	"github.com/hostnode/hostnode/projections/audit"
	"github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/storage"
	"github.com/hostnode/hostnode/storage/sectors"
)

// This file puts together what seals sectors.

// SectorOptions say how sectors are sealed.
type SectorOptions struct {
	// Sealer is commd, sim or remote.
	Sealer string
	// FilesDir holds the files of sectors, PiecesDir the data of pieces.
	FilesDir, PiecesDir string
	// Contract is the contract of sectors.
	Contract provider.Config
	// Remote is the outside prover; what the contract demands of it is filled in.
	Remote sealer.RemoteConfig
	// CallbackListen is where the outside prover may call back; empty: nowhere.
	CallbackListen string
}

// maxTokenBytes is the most bytes of a file with a token.
const maxTokenBytes = 4096

// addSectors adds what the settings say of sectors. The account's transactions know their contract also
// when nothing is sealed now: some may be under way.
func (o *Options) addSectors(c config.Config, p Parts) error {
	contract := cmp.Or(p.Sectors, c.SectorContract())
	if !contract.Zero() {
		o.Chain.OtherContracts = append(o.Chain.OtherContracts, provider.Contract(contract))
	}
	if !c.Seals() {
		return nil
	}
	s, w := c.Sectors, c.Sectors.Workers
	o.Host.Sectors = actorsectors.Settings{
		WithdrawMin: c.WithdrawMin(), WithdrawEvery: s.WithdrawEvery,
		Fetch: w.Fetch, Pack: w.Pack, PreCommit1: w.PreCommit1, PreCommit2: w.PreCommit2, Commit: w.Commit,
		Challenges: w.Challenges, FinalBlocks: s.FinalBlocks, SealAfter: s.SealAfter, Lifetime: s.Lifetime,
		MaxDeposits:    c.MaxDeposits(),
		FilesElsewhere: s.Sealer == "remote", FilesLost: s.FilesLost,
		WatchEvery: s.WatchEvery, ProveMargin: s.ProveMargin,
		StepLimit: s.StepLimit, ChallengeLimit: s.ChallengeLimit,
	}
	o.Host.SectorPolicy = sector.Policy(s.Retries)
	o.Sectors = &SectorOptions{
		Sealer: s.Sealer, FilesDir: cmp.Or(s.Directory, p.Dir.Sectors()), PiecesDir: p.Dir.Pieces(),
		CallbackListen: s.Remote.CallbackListen,
		Contract: provider.Config{
			Contract: contract, DeployedAt: max(p.SectorsDeployedAt, s.DeployedAt), LogRange: o.Chain.LogRange,
		},
	}
	if c.Fees.ExactAllowance {
		o.Sectors.Contract.Allowance = events.NewAmount(1) // Each approval is what its message needs, which is more.
	}
	if s.Sealer != "remote" {
		return nil
	}
	var err error
	o.Sectors.Remote, err = remoteProver(c)
	return err
}

// remoteProver are the settings of an outside prover.
func remoteProver(c config.Config) (sealer.RemoteConfig, error) {
	r := c.Sectors.Remote
	cfg := sealer.RemoteConfig{
		URL: r.URL, Proves: r.Proves, Poll: r.Poll, RequestTimeout: r.RequestTimeout, Callback: c.CallbackURL(),
	}
	if cfg.Callback != "" {
		// It need not outlive this process: whoever calls back only makes the host ask.
		cfg.CallbackToken = rand.Text()
	}
	if r.TokenFile == "" {
		return cfg, nil
	}
	token, err := config.ReadPrivate(r.TokenFile, maxTokenBytes)
	if err != nil {
		return cfg, fmt.Errorf("sectors.remote.tokenFile: %w", err)
	}
	cfg.Token = string(bytes.TrimSpace(token))
	return cfg, nil
}

// openSectorFiles opens the files of sectors and the data of pieces, if sectors are sealed.
func (n *Node) openSectorFiles(o Options) (err error) {
	if o.Sectors == nil {
		return nil
	}
	place := func(of, dir string) *storage.Place {
		return &storage.Place{Dir: dir, Memory: o.Dir.Identity(of), Lost: o.Host.Sectors.FilesLost}
	}
	n.sectors, err = sectors.Open(o.Sectors.FilesDir, place("sectors", o.Sectors.FilesDir))
	if err != nil {
		return err
	}
	for _, what := range n.sectors.Findings() {
		o.Log.Warnf("found in %s: %s", o.Sectors.FilesDir, what)
	}
	n.Pieces, err = sectors.OpenPieces(o.Sectors.PiecesDir, place("pieces", o.Sectors.PiecesDir))
	return err
}

// FilesOf lists the files of sectors and pieces of a host with these settings, and changes nothing.
func FilesOf(c config.Config, dir datadir.Layout) func(events.Address) (audit.Files, error) {
	return func(host events.Address) (audit.Files, error) {
		files := audit.Files{
			Host: host, Local: c.Sectors.Sealer == "commd" || c.Sectors.Sealer == "sim",
			Sectors: map[uint64]map[capacity.Part]events.Bytes{}, Pieces: map[string]events.Bytes{},
		}
		member, err0 := dir.Member()
		files.Member = member
		found, err := sectors.Look(cmp.Or(c.Sectors.Directory, dir.Sectors()))
		for _, one := range found {
			if one.Provider != host {
				continue
			}
			parts := map[capacity.Part]events.Bytes{}
			for part, length := range one.Parts {
				parts[capacity.Part(part.String())] = length
			}
			files.Sectors[one.Number] = parts
		}
		pieces, err2 := sectors.LookAtPieces(dir.Pieces())
		for _, p := range pieces {
			files.Pieces[p.CID] = p.Payload
		}
		return files, errors.Join(err0, err, err2)
	}
}

// sectorUsage is what the files of sectors and the data of pieces occupy.
func (n *Node) sectorUsage() (sum events.Bytes, err error) {
	if n.sectors == nil {
		return 0, nil
	}
	for _, ref := range n.sectors.Sectors() {
		u, err := n.sectors.Usage(ref)
		if err != nil {
			return 0, err
		}
		sum += u.Notes
		for _, part := range u.Parts {
			sum += part
		}
	}
	pieces, err := n.Pieces.List()
	for _, p := range pieces {
		sum += p.Payload
	}
	return sum, err
}

// openSectors opens what seals sectors, when the market is reached; nil: nothing does.
func (n *Node) openSectors(ctx context.Context, o Options) (*actors.SectorPorts, error) {
	s := o.Sectors
	if s == nil {
		return nil, nil
	}
	var err error
	if n.Provider, err = n.sectorContract(ctx, o); err != nil {
		return nil, err
	}
	rules, err := n.Provider.Config(ctx)
	if err != nil {
		return nil, err
	}
	if err := marginFits(o.Host.Sectors.ProveMargin, rules); err != nil {
		return nil, err
	}
	ports := &actors.SectorPorts{Files: n.sectors, Pieces: allPieces{n}, Chain: n.Provider}
	switch s.Sealer {
	case "commd":
		ports.Sealer, ports.Space = sealer.NewCommD(n.sectors, rules.SealLeaves), commdSpace
	case "sim":
		ports.Sealer, ports.Space = sealer.NewSim(n.sectors, rules.SealLeaves), dataSpace
	case "remote":
		s.Remote.SealLeaves = rules.SealLeaves
		ports.Space = dataSpace // Of its pieces, which stay here.
		ports.Sealer, err = n.remoteSealer(*s, o)
	default:
		return nil, fmt.Errorf("%w: sectors.sealer = %q", config.ErrInvalid, s.Sealer)
	}
	if err == nil {
		n.Proves = ports.Sealer.Proves()
		err = verified(n.Proves, s.Sealer, rules)
	}
	if err == nil {
		o.Log.WithField("contract", s.Contract.Contract.String()).Infof(
			"sectors are sealed; what their proofs show: %s", sealer.Describe(n.Proves))
	}
	return ports, err
}

// verified refuses a sealer whose proofs the contract does not verify: each sector would be sealed for nothing.
func verified(proves, sealedBy string, rules events.SectorConfig) error {
	if _, taken := rules.Rewards[proves]; taken {
		return nil
	}
	return fmt.Errorf("%w: sectors.sealer = %s: its proofs show %q (%s), and this contract of sectors verifies %q "+
		"only; set a sealer of such a type (docs/sealers.md), or sectors.remote.proves", config.ErrInvalid, sealedBy,
		proves, sealer.Describe(proves), slices.Sorted(maps.Keys(rules.Rewards)))
}

// marginFits refuses a margin that leaves too little of a window: what is not proven by then is faulty.
func marginFits(margin uint64, rules events.SectorConfig) error {
	if window := rules.PeriodBlocks / max(1, rules.Deadlines); 2*margin >= window {
		return fmt.Errorf("%w: sectors.proveMargin = %d: a window of this contract has %d blocks; "+
			"write less than half of that", config.ErrInvalid, margin, window)
	}
	return nil
}

// sectorContract reads the contract of sectors, and waits for a chain that does not answer.
func (n *Node) sectorContract(ctx context.Context, o Options) (contract *provider.Chain, err error) {
	err = retry.Until(ctx, dialPause, func() error {
		contract, err = provider.New(ctx, o.Sectors.Contract, n.Market.Shared())
		return err
	}, func(err error) bool {
		return !errors.Is(err, rpc.ErrUnavailable)
	}, o.Waits)
	switch {
	case errors.Is(err, provider.ErrNoContract):
		return nil, fmt.Errorf("%w: sectors.contract: %w", config.ErrInvalid, err)
	case err != nil:
		return nil, err
	}
	o.Waits(nil)
	return contract, nil
}

// remoteSealer is an outside prover, which may call back until the node is closed.
func (n *Node) remoteSealer(s SectorOptions, o Options) (*sealer.RemoteSealer, error) {
	remote, err := sealer.NewRemote(s.Remote)
	if err != nil {
		return nil, fmt.Errorf("%w: sectors.remote: %w", config.ErrInvalid, err)
	}
	if s.CallbackListen == "" {
		return remote, nil
	}
	listener, err := net.Listen("tcp", s.CallbackListen)
	if err != nil {
		return nil, fmt.Errorf("%w: sectors.remote.callbackListen: %w", config.ErrInvalid, err)
	}
	n.callbacks = &http.Server{Handler: remote.Callbacks(), ReadTimeout: callbackTimeout, WriteTimeout: callbackTimeout}
	go func() {
		if err := n.callbacks.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Warnf("the outside prover can no longer call back, and is asked from time to time: %v", err)
		}
	}()
	return remote, nil
}

// callbackTimeout limits a call-back, which is a few hundred bytes.
const callbackTimeout = 10 * time.Second

// commdSpace is what a sector takes with its tree, dataSpace without.
func commdSpace(size events.Bytes) capacity.Space {
	parts := sealer.CommDSpace(size)
	return capacity.Space{
		Unsealed: parts[events.SectorUnsealed], Sealed: parts[events.SectorSealed],
		Tree: parts[events.SectorTree], Scratch: parts[events.SectorScratch],
	}
}

func dataSpace(size events.Bytes) capacity.Space { return capacity.Space{Unsealed: size} }
