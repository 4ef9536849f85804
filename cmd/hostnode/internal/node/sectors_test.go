package node

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/provider"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/projections/audit"
	"github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/prover/sealer/remotetest"
	files "github.com/hostnode/hostnode/storage/sectors"
)

func TestSealersAreTakenFromTheSettings(t *testing.T) {
	contract := "0x00000000000000000000000000000000000000bb"
	for name, c := range map[string]struct {
		set  config.Sectors
		want error
	}{
		"nothing is sealed":                    {config.Sectors{Sealer: "none"}, nil},
		"possession":                           {config.Sectors{Sealer: "commd"}, nil},
		"simulated":                            {config.Sectors{Sealer: "sim"}, nil},
		"an outside prover":                    {remoteAs("possession"), nil},
		"one whose token is not there":         {withToken("/nowhere/at/all"), os.ErrNotExist},
		"one whose token everybody may read":   {withToken(write(t, "hush", 0o644)), config.ErrInvalid},
		"one with a token for this host alone": {withToken(write(t, "hush\n", 0o600)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Sectors = c.set
			cfg.Sectors.Contract = contract
			o, err := FromConfig(cfg, Parts{Means: Means{Dir: datadir.At("/data")}})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if len(o.Chain.OtherContracts) != 1 {
				t.Error("transactions to the contract of sectors would not be known")
			}
			if s := o.Sectors; err == nil && c.set.Sealer != "none" {
				if s.Contract.Contract.String() != contract || s.FilesDir != "/data/sectors" || s.PiecesDir != "/data/pieces" {
					t.Errorf("%+v", s)
				}
				if c.set.Remote.TokenFile != "" && s.Remote.Token != "hush" {
					t.Errorf("the token is %q", s.Remote.Token)
				}
			}
		})
	}
}

// What the contract does not verify would be sealed for nothing, and precommitted in vain.
func TestASealerWhoseProofsTheContractDoesNotVerifyIsRefused(t *testing.T) {
	possession := events.SectorConfig{Rewards: map[string]events.Amount{events.ProvesPossession: {}}}
	both := events.SectorConfig{Rewards: map[string]events.Amount{events.ProvesPossession: {}, events.ProvesSimulated: {}}}
	for _, c := range []struct {
		proves string
		rules  events.SectorConfig
		want   error
	}{
		{events.ProvesPossession, possession, nil},
		{events.ProvesSimulated, both, nil},
		{events.ProvesSimulated, possession, config.ErrInvalid},
		{events.ProvesReplication, both, config.ErrInvalid},
	} {
		err := verified(c.proves, "remote", c.rules)
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.proves) {
			t.Errorf("%s: %v, want %v", c.proves, err, c.want)
		}
	}
	if proves := config.Default().Sectors.Remote.Proves; verified(proves, "remote", possession) != nil {
		t.Errorf("an outside prover shows %s by default", proves)
	}
}

// Each type of proofs that the development chain takes is sealed and proven there.
func TestSectorsOfEachSealerAreProvenOnTheEmbeddedChain(t *testing.T) {
	leaves := int(devchain.DefaultSectorConfig().Sealing.Leaves)
	outside := func(newSealer func(sealer.Files, int) port.Sealer) func(*config.Config) {
		return func(c *config.Config) {
			store, err := files.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			made := newSealer(store, leaves)
			prover := remotetest.New(made, "hush")
			server := httptest.NewServer(prover)
			t.Cleanup(func() { server.Close(); prover.Close() })
			c.Sectors.Sealer = "remote"
			c.Sectors.Remote.URL, c.Sectors.Remote.Proves = server.URL, made.Proves()
			c.Sectors.Remote.TokenFile, c.Sectors.Remote.Poll = write(t, "hush", 0o600), 50*time.Millisecond
		}
	}
	for name, set := range map[string]func(*config.Config){
		"sim":                func(c *config.Config) { c.Sectors.Sealer = "sim" },
		"remote, possession": outside(func(f sealer.Files, leaves int) port.Sealer { return sealer.NewCommD(f, leaves) }),
		"remote, simulated": outside(func(f sealer.Files, leaves int) port.Sealer {
			return sealer.NewSim(f, leaves)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			c := sealing(t)
			set(&c)
			run(t, c, func(p *Process) {
				ctx := t.Context()
				begins(t, p)
				until(t, p, "it is proven", func(all []sectors.Standing) bool {
					return len(all) == 1 && all[0].Info.State == sector.Proving
				})
				all, err := p.Host.Sectors(ctx)
				if err != nil || all[0].Info.Proves != p.Proves {
					t.Fatalf("the record says %q, it proves %q: %v", all[0].Info.Proves, p.Proves, err)
				}
				first, err := p.Provider.Sector(ctx, 1)
				if err != nil || first.Proves != p.Proves {
					t.Fatalf("%+v, %v", first, err)
				}
				until(t, p, "two windows are over", func([]sectors.Standing) bool {
					on, err := p.Provider.Sector(ctx, 1)
					return err == nil && on.NextPeriod >= first.NextPeriod+2 && on.Deposit == first.Deposit && !on.Faulty
				})
				owed, err := p.Provider.Owed(ctx)
				if err != nil || owed.IsZero() != (p.Proves == events.ProvesSimulated) {
					t.Errorf("for %s it owes %s: %v", p.Proves, owed, err)
				}
			})
		})
	}
}

// slowSealer takes two hours of chain time for the first half of sealing.
type slowSealer struct {
	port.Sealer
	chain func() *devchain.Chain
}

func (s slowSealer) PreCommit1(
	ctx context.Context, ref events.SectorRef, ticket events.Hash, pieces []events.SectorPiece, told events.SectorProgress,
) ([]byte, error) {
	const hours, apart = 2 * time.Hour, time.Second
	if _, err := s.chain().Seal(ctx, uint64(hours/apart)); err != nil {
		return nil, err
	}
	return s.Sealer.PreCommit1(ctx, ref, ticket, pieces, told)
}

// A ticket lives as long as a real first half takes: with the hashes that the EVM itself knows, 256 blocks, each would be
// too old at the precommit.
func TestASectorWhoseFirstHalfTakesTwoHoursIsSealed(t *testing.T) {
	if testing.Short() {
		t.Skip("7200 blocks beside the host")
	}
	store, err := files.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var local *devchain.Chain
	inner := sealer.NewCommD(store, int(devchain.DefaultSectorConfig().Sealing.Leaves))
	prover := remotetest.New(slowSealer{inner, func() *devchain.Chain { return local }}, "hush")
	prover.Async = true
	server := httptest.NewServer(prover)
	t.Cleanup(func() { server.Close(); prover.Close() })
	c := sealing(t)
	c.Sectors.Sealer, c.Sectors.Remote.URL, c.Sectors.Remote.Proves = "remote", server.URL, sealer.Possession
	c.Sectors.Remote.TokenFile, c.Sectors.Remote.Poll = write(t, "hush", 0o600), 50*time.Millisecond
	run(t, c, func(p *Process) {
		ctx := t.Context()
		local = p.Local.Chain
		begins(t, p)
		until(t, p, "it has left its first half", func(all []sectors.Standing) bool {
			return len(all) == 1 && all[0].Info.Attempts.Of(sector.StepPreCommit2) > 0
		})
		until(t, p, "it is precommitted", func(all []sectors.Standing) bool {
			return len(all) == 1 && all[0].Info.State == sector.WaitSeed
		})
		on, err := p.Provider.Sector(ctx, 1)
		if err != nil || on.PreCommitEpoch < on.TicketEpoch+7200 {
			t.Errorf("its ticket is of %d, its precommit of %d: %v", on.TicketEpoch, on.PreCommitEpoch, err)
		}
		until(t, p, "it is proven", func(all []sectors.Standing) bool {
			return len(all) == 1 && all[0].Info.State == sector.Proving && all[0].Info.Attempts.Of(sector.StepPreCommit1) == 1
		})
	})
}

func TestTheLimitsOfSectorsReachTheHost(t *testing.T) {
	c := config.Default()
	c.Sectors = config.Sectors{
		Sealer: "commd", WatchEvery: 5, ProveMargin: 4, StepLimit: time.Hour, ChallengeLimit: time.Minute,
		Retries: config.SectorRetries{FirstPause: time.Second, MostPause: time.Minute, MaxFailures: 3},
	}
	o, err := FromConfig(c, Parts{Development: true, Means: Means{Dir: datadir.At("/data")}})
	if err != nil {
		t.Fatal(err)
	}
	s := o.Host.Sectors
	if s.WatchEvery != 5 || s.ProveMargin != 4 || s.StepLimit != time.Hour || s.ChallengeLimit != time.Minute {
		t.Errorf("%+v", s)
	}
	if want := (sector.Policy{FirstPause: time.Second, MostPause: time.Minute, MaxFailures: 3}); o.Host.SectorPolicy != want {
		t.Errorf("%+v", o.Host.SectorPolicy)
	}
	for margin, want := range map[uint64]error{3: nil, 4: nil, 5: config.ErrInvalid, 100: config.ErrInvalid} {
		if err := marginFits(margin, events.SectorConfig{PeriodBlocks: 60, Deadlines: 6}); !errors.Is(err, want) {
			t.Errorf("%d of 10 blocks: %v, want %v", margin, err, want)
		}
	}
}

func remoteAs(proves string) config.Sectors {
	return config.Sectors{Sealer: "remote", Remote: config.RemoteProver{URL: "https://prover.example", Proves: proves}}
}

func withToken(path string) config.Sectors {
	s := remoteAs("possession")
	s.Remote.TokenFile = path
	return s
}

func write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// keysDir has the proving keys of all hosts that seal, made by the first.
var keysDir string

func TestMain(m *testing.M) {
	var err error
	if keysDir, err = os.MkdirTemp("", "hn"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(keysDir)
	os.Exit(code)
}

// sealing is a host on the embedded chain, with faster blocks than usual.
func sealing(t *testing.T) config.Config {
	c := config.Default()
	c.DataDir = t.TempDir()
	c.Account.KeyFile = filepath.Join(c.DataDir, "account.key")
	c.Prover.KeysDir, c.Prover.Samples, c.Prover.MaxDepth = keysDir, 1, 12
	c.Devchain.BlockInterval = 50 * time.Millisecond
	c.Sectors.Sealer = "commd"
	return c
}

// run runs a host while a test needs it.
func run(t *testing.T, c config.Config, while func(*Process)) {
	t.Helper()
	p, err := Take(c, Begin{Version: "test"}, logrus.NewEntry(quiet()))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), func() {}); err != nil {
		t.Fatal(errors.Join(err, p.Close()))
	}
	while(p)
	if err := errors.Join(p.Stop(context.WithoutCancel(t.Context())), p.Close()); err != nil {
		t.Fatal(err)
	}
}

// until waits until the host's sectors meet a condition.
// begins has a host that runs seal a sector of fillers.
func begins(t *testing.T, p *Process) {
	t.Helper()
	until(t, p, "it runs", func(all []sectors.Standing) bool { return len(all) == 0 })
	n, err := p.Host.BeginSector(t.Context(), sectors.Create{Size: 2 << 10, By: "alice"})
	if err == nil {
		_, err = p.Host.OrderSector(t.Context(), sectors.StartPacking{Number: n, By: "alice"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func until(t *testing.T, p *Process, what string, holds func([]sectors.Standing) bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(4 * time.Minute) // It ends a test that hangs, on a busy machine, too.
	var all []sectors.Standing
	for {
		var err error
		select {
		case <-ticker.C:
			if all, err = p.Host.Sectors(t.Context()); errors.Is(err, actors.ErrStarting) {
				continue
			}
		case <-p.Host.Done():
			err = p.Host.Err()
		case <-late:
			err = errors.New("it takes too long")
		}
		if err != nil {
			t.Fatalf("%s: %v; sectors: %+v", what, err, all)
		}
		if holds(all) {
			return
		}
	}
}

func TestASectorIsSealedAndProvenOnTheEmbeddedChain(t *testing.T) {
	c := sealing(t)
	state := func(want sector.State) func([]sectors.Standing) bool {
		return func(all []sectors.Standing) bool { return len(all) == 1 && all[0].Info.State == want }
	}
	run(t, c, func(p *Process) {
		ctx := t.Context()
		until(t, p, "it runs", func(all []sectors.Standing) bool { return len(all) == 0 })
		text := rand.Text() + strings.Repeat("data", 3000)
		piece, err := files.Identify(ctx, strings.NewReader(text))
		if err == nil {
			err = p.Host.Ledger(ctx, capacity.HoldPiece{
				At: time.Now(), Piece: capacity.Piece{CID: piece.CID, Bytes: piece.Payload},
			})
		}
		if err == nil {
			err = p.Pieces.Put(ctx, piece, strings.NewReader(text))
		}
		if err != nil {
			t.Fatal(err)
		}
		n, err := p.Host.BeginSector(ctx, sectors.Create{
			Size: 64 << 10, Pieces: []events.SectorPiece{piece}, By: "alice",
		})
		if err != nil || n != 1 {
			t.Fatalf("sector %d: %v", n, err)
		}
		until(t, p, "it waits for its seed", state(sector.WaitSeed))
	})
	run(t, c, func(p *Process) {
		o := Options{Sectors: &SectorOptions{Contract: provider.Config{Contract: p.Local.Marketplace}}}
		if _, err := p.Node.sectorContract(t.Context(), o); !errors.Is(err, config.ErrInvalid) {
			t.Fatalf("the marketplace is no contract of sectors: %v", err)
		}
		until(t, p, "it is proven", state(sector.Proving))
		sealed, err := p.Provider.Sector(t.Context(), 1)
		if err != nil || !sealed.Active {
			t.Fatalf("%+v, %v", sealed, err)
		}
		until(t, p, "its first window is over", func([]sectors.Standing) bool {
			on, err := p.Provider.Sector(t.Context(), 1)
			return err == nil && on.NextPeriod > sealed.NextPeriod && on.Deposit == sealed.Deposit
		})
		had, err := p.Market.Balance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Host.OrderSector(t.Context(), sectors.Terminate{Number: 1, By: "alice", Reason: "seen enough"})
		if err != nil {
			t.Fatal(err)
		}
		until(t, p, "it is over", func(all []sectors.Standing) bool { return len(all) == 0 })
		until(t, p, "its deposit is back", func([]sectors.Standing) bool {
			owed, err := p.Provider.Owed(t.Context())
			return err == nil && owed.IsZero()
		})
		var book capacity.Snapshot
		until(t, p, "the ledger has what was paid", func([]sectors.Standing) bool {
			book, err = p.Host.ViewLedger(t.Context())
			return err != nil || book.Deposits.Withdrawals > 0
		})
		if err != nil || book.Book.Sectors != 0 {
			t.Errorf("sectors hold %d bytes: %v", book.Book.Sectors, err)
		}
		mine, err := p.Market.Balance(t.Context())
		d := book.Deposits
		if err != nil || mine.Tokens != had.Tokens.Add(d.Withdrawn) || !d.Returned.Less(d.Withdrawn) {
			t.Errorf("the account has %s tokens, and had %s before the deposit came back; the ledger: %+v; %v",
				mine.Tokens, had.Tokens, d, err)
		}
		var report audit.Report
		look := FilesOf(config.Config{Sectors: config.Sectors{Sealer: "commd"}}, p.Dir.Layout)
		list := func() (audit.Files, error) { return look(p.Account) }
		until(t, p, "its last message is mined, by the record, too", func([]sectors.Standing) bool {
			report, err = audit.Run(t.Context(), p.Store, audit.Options{Files: list})
			return err != nil || len(report.Findings) == 0 || report.Findings[0].Rule != "transaction-open"
		})
		if err != nil || len(report.Findings) != 0 {
			t.Errorf("%+v, %v", report.Findings, err)
		}
	})
}

func TestAnOutsideProverCanCallBackWhileTheNodeIsOpen(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Sectors = remoteAs("possession")
	c.Sectors.Remote.CallbackListen = at
	o, err := FromConfig(c, Parts{Means: Means{Dir: datadir.At("/data"), Log: logrus.NewEntry(quiet())}})
	if err != nil {
		t.Fatal(err)
	}
	if o.Sectors.Remote.Callback != "http://"+at {
		t.Fatalf("it would call %s", o.Sectors.Remote.Callback)
	}
	n := &Node{}
	if _, err := n.remoteSealer(*o.Sectors, o); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Node{}).remoteSealer(*o.Sectors, o); !errors.Is(err, config.ErrInvalid) {
		t.Fatalf("the address is in use: %v", err)
	}
	call := func(token string) (int, error) {
		body := strings.NewReader(`{"Provider":"0x00000000000000000000000000000000000000aa","Number":1}`)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.Sectors.Remote.Callback, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	if code, err := call(o.Sectors.Remote.CallbackToken); err != nil || code != http.StatusNoContent {
		t.Errorf("with the token: %d, %v", code, err)
	}
	if code, err := call("another"); err != nil || code != http.StatusUnauthorized {
		t.Errorf("with another token: %d, %v", code, err)
	}
	if err := n.close(); err != nil {
		t.Fatal(err)
	}
	if code, err := call(o.Sectors.Remote.CallbackToken); err == nil {
		t.Errorf("after the end: %d", code)
	}
}
