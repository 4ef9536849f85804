package actors_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
)

// silentProvider is a contract of sectors whose chain does not answer.
type silentProvider struct {
	port.ProviderChain
	asked atomic.Int64
	rules *events.SectorConfig // what it was made with; nil: not even that is known
}

func (p *silentProvider) away() error {
	p.asked.Add(1)
	return errors.New("no node answers")
}

func (p *silentProvider) Config(context.Context) (c events.SectorConfig, err error) {
	if p.rules != nil {
		return *p.rules, nil
	}
	return c, p.away()
}
func (p *silentProvider) Head(context.Context) (h events.Head, err error) { return h, p.away() }
func (p *silentProvider) Window(context.Context) (w events.SectorWindow, err error) {
	return w, p.away()
}

func (p *silentProvider) Sectors(context.Context, []uint64) ([]events.SectorOnChain, error) {
	return nil, p.away()
}

func (p *silentProvider) Owed(context.Context) (owed events.Amount, err error) { return owed, p.away() }

// sealing gives a host sectors, on a chain that says nothing of them.
func (r *rig) sealing() *silentProvider {
	chain := &silentProvider{}
	r.ports.Sectors = &actors.SectorPorts{
		Chain: chain, Pieces: noPieces{}, Files: noFiles{},
		Space: func(size events.Bytes) capacity.Space { return capacity.Space{Unsealed: size, Tree: 2 * size} },
	}
	return chain
}

type noFiles struct{ port.SectorStore }

func (noFiles) Here() error { return nil }

func (noFiles) Sectors() []events.SectorRef { return nil }

func (noFiles) ScrubProgress() (none events.SectorScrub) { return none }

func (noFiles) SetScrubProgress(events.SectorScrub) error { return nil }

type noPieces struct{ port.PieceSource }

func (noPieces) List() ([]events.SectorPiece, error) { return nil, nil }

func (r *rig) begin() uint64 {
	r.Helper()
	n, err := r.host.BeginSector(r.Context(), sectors.Create{Size: 2048, By: "alice"})
	if err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
	return n
}

func (r *rig) sectors() []sectors.Standing {
	r.Helper()
	all, err := r.host.Sectors(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return all
}

func TestAHostWithoutASealerHasNoSectors(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		_, begun := r.host.BeginSector(r.Context(), sectors.Create{Size: 2048, By: "alice"})
		_, ordered := r.host.OrderSector(r.Context(), sectors.Remove{Number: 1, By: "alice", Reason: "done"})
		_, listed := r.host.Sectors(r.Context())
		for _, err := range []error{begun, ordered, listed} {
			if !errors.Is(err, actors.ErrNoSectors) {
				r.Errorf("got %v", err)
			}
		}
	})
}

func TestSectorsOfAHostLiveThroughARestart(t *testing.T) {
	inWorld(t, func(r *rig) {
		chain := r.sealing()
		r.start()
		if first, second := r.begin(), r.begin(); first != 1 || second != 2 {
			r.Fatalf("sectors %d and %d were begun", first, second)
		}
		state, err := r.host.OrderSector(r.Context(), sectors.ForceState{
			Number: 1, State: sector.Proving, By: "alice", Reason: "a drill",
		})
		if err != nil || state != sector.Proving {
			r.Fatalf("it was forced to %q: %v", state, err)
		}
		var refused *sector.Refused
		_, err = r.host.OrderSector(r.Context(), sectors.StartPacking{Number: 1, By: "alice"})
		if !errors.As(err, &refused) {
			r.Fatalf("it was packed: %v", err)
		}
		_, err = r.host.OrderSector(r.Context(), sectors.Restart{Number: 3, By: "alice"})
		if !errors.Is(err, sectors.ErrNoSector) {
			r.Fatalf("there is no sector 3: %v", err)
		}
		before := chain.asked.Load()
		r.mine(5)
		if chain.asked.Load() == before {
			r.Error("with each block the chain is asked about sectors")
		}
		r.restart()
		all := r.sectors()
		if len(all) != 2 || all[0].Info.State != sector.Proving || all[1].Info.State != sector.Empty {
			r.Fatalf("after the restart: %+v", all)
		}
		named := false
		for _, p := range r.status().Pools {
			named = named || p.Name == "sector PC1" && p.Size == 1
		}
		if n := r.begin(); n != 3 || !named {
			r.Fatalf("the next sector is %d; pools %v", n, r.status().Pools)
		}
	})
}

// A sector that the rules panic on is left alone; other sectors, and what is sold, go on.
func TestASectorThatTheRulesPanicOnIsLeftAloneUntilSomebodySaysSo(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.sealing()
		told := r.listen()
		var broken atomic.Bool
		r.cfg.Cores.DecideSector = func(s sector.Info, c sector.Command) ([]sector.Event, error) {
			if broken.Load() && s.Number == 1 {
				panic("a bug in the rules of sectors")
			}
			return sector.Decide(s, c)
		}
		hosted := r.hosting()
		r.begin()
		r.begin()
		broken.Store(true)
		restart := func(n uint64) error {
			_, err := r.host.OrderSector(r.Context(), sectors.Restart{Number: n, By: "alice"})
			return err
		}
		if err := restart(1); !errors.Is(err, shell.ErrPartDown) {
			r.Fatalf("the rules panic: %v", err)
		}
		r.mine(5) // It was started again, and panicked again.
		about := r.subjects(shell.SubjectSector)
		if len(about) != 1 || r.sectors()[0].Quarantined == "" || r.sectors()[1].Quarantined != "" {
			r.Fatalf("quarantined: %v, %+v", about, r.sectors())
		}
		alerts := told.of(health.AlertWorkQuarantined)
		if len(alerts) != 1 || !strings.Contains(alerts[0].Text, "sector 1 is left alone") ||
			!strings.Contains(alerts[0].Hint, "hostnode quarantine retry sector:1") {
			r.Fatalf("alerts: %+v", alerts)
		}
		if err := restart(2); err != nil {
			r.Fatalf("the other sector: %v", err)
		}
		broken.Store(false)
		if err := r.host.TryAgain(r.Context(), about[0]); err != nil {
			r.Fatal(err)
		}
		r.mine(1)
		if err := restart(1); err != nil || len(r.subjects(shell.SubjectSector)) != 0 {
			r.Fatalf("it was tried again: %v, %v", err, r.subjects(shell.SubjectSector))
		}
		r.proven(hosted)
	})
}

// Whatever becomes of the sectors, the rest of the host goes on, and they are started again.
func TestSectorsThatPanicAreStartedAgain(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.sealing()
		told := r.listen()
		var broken atomic.Bool
		r.cfg.BeforeMessage = func(actor string, msg any) {
			if _, started := msg.(shell.Started); started && actor == sectors.Name && broken.Load() {
				panic("a bug of the sectors")
			}
			if _, list := msg.(sectors.List); list && broken.Load() {
				panic("a bug of the sectors")
			}
		}
		hosted := r.hosting()
		r.begin()
		broken.Store(true)
		if _, err := r.host.Sectors(r.Context()); !errors.Is(err, shell.ErrPartDown) {
			r.Fatalf("they panicked: %v", err)
		}
		r.mine(30)
		down := r.status().Down
		if len(down) != 1 || down[0].Name != health.PartSectors {
			r.Fatalf("down: %v", down)
		}
		alerts := told.of(health.AlertPartDown)
		if len(alerts) != 1 || !strings.Contains(alerts[0].Hint, "no sector is sealed or proven") {
			r.Fatalf("alerts: %+v", alerts)
		}
		broken.Store(false)
		time.Sleep(time.Minute)
		r.mine(1)
		if len(r.sectors()) != 1 || len(r.status().Down) != 0 {
			r.Fatalf("%+v; down: %v", r.sectors(), r.status().Down)
		}
		r.proven(hosted)
	})
}

// Without a sealer nobody proves what is sealed, and the operator should know it.
func TestAHostThatHasSectorsAndNoSealerSaysSo(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.sealing().rules = &events.SectorConfig{}
		r.cfg.Quota = 1 << 30
		r.start()
		r.begin()
		r.host.Kill()
		for _, sealer := range []*actors.SectorPorts{r.ports.Sectors, nil} {
			r.ports.Sectors = sealer
			log, told := test.NewNullLogger()
			host, err := actors.Start(r.Context(), r.cfg, r.ports, logrus.NewEntry(log))
			if err != nil {
				r.Fatal(err)
			}
			r.host = host
			synctest.Wait()
			said := slices.ContainsFunc(told.AllEntries(), func(e *logrus.Entry) bool {
				return strings.HasPrefix(e.Message, "sectors hold 6144 bytes and are not proven")
			})
			if said != (sealer == nil) {
				r.Errorf("with sealer %v: said %v", sealer != nil, said)
			}
			r.host.Kill()
		}
	})
}
