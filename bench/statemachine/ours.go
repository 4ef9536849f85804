package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/sector"
)

var provider = events.Address{0xcd}

// host runs sectors as actors/sectors does, each an actor with the journal of its stream and the core as its
// machine, but performs no steps: their calls on sealer and chain would be measured, which the peer has not.
type host struct {
	rt    *shell.Runtime
	store *embedded.Store
	base  shell.Base
}

type journal = shell.Journal[sector.Info, sector.Command, sector.Event]

// agent is the actor of one sector.
type agent struct {
	journal *journal
	number  uint64
	loaded  chan struct{}
}

// said is a command for an agent.
type said struct {
	n     int // of the event
	reply chan<- error
}

func openHost(dir string) (*host, error) {
	store, _, err := embedded.Open(dir, embedded.Config{})
	if err != nil {
		return nil, err
	}
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	log := logrus.NewEntry(quiet)
	h := &host{rt: shell.NewRuntime(context.Background(), log), store: store}
	h.base = shell.Base{
		RT: h.rt, Log: log, Store: store, Codec: events.NewCodec(sector.Table()), Me: provider, Epoch: 1, Node: "bench",
		StoreWatch: shell.NewStoreWatch(clock{}, log, func(context.Context, string) {}),
	}
	return h, nil
}

func (h *host) close() error {
	h.rt.Kill()
	return h.store.Close()
}

func (h *host) spawn(n uint64) (shell.Ref, *agent) {
	a := &agent{number: n, loaded: make(chan struct{})}
	correlation := fmt.Sprintf("sector/%d", n)
	a.journal = &journal{
		Machine: shell.Machine[sector.Info, sector.Command, sector.Event]{
			Empty:  func() sector.Info { return sector.New(sector.Policy{}) },
			Decide: sector.Decide, Evolve: sector.Evolve,
		},
		Stream: events.SectorStream(provider, n), Store: h.store, Codec: h.base.Codec, StoreWatch: h.base.StoreWatch,
		Meta: func(sector.Info, sector.Event) events.Metadata { return h.base.Metadata(correlation) },
		OnDurable: func(_ *shell.Turn, fresh []sector.Event) {
			if len(fresh) == 0 {
				close(a.loaded)
			}
		},
		OnBroken: func(_ *shell.Turn, err error) { panic(err) },
	}
	return h.rt.Root(fmt.Sprintf("Sector %d", n), a), a
}

// Receive implements shell.Behavior.
func (a *agent) Receive(t *shell.Turn, msg any) {
	if a.journal.Handle(t, msg) {
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		a.journal.Load(t)
	case said:
		now := time.Now()
		cause, key := "look", a.journal.Durable.Step.Key
		if key != "" {
			cause = events.SectorCause(key)
		}
		e := ourLife(a.number, m.n, provider.String(), events.TimeToMessage(now))
		a.journal.Submit(t, sector.Happened{Inputs: sector.Inputs{At: now}, Event: e, Key: key}, cause,
			func(r shell.Result[sector.Info, sector.Event]) {
				if r.Err == nil && len(r.Events) == 0 {
					r.Err = fmt.Errorf("sector %d: nothing followed from %s", a.number, sector.NameOf(e))
				}
				m.reply <- r.Err
			})
	}
}

// runOurs brings sectors through their lives, all at once, within a call of timed. The next event of a sector is sent
// when the one before is durable.
func runOurs(dir string, sectors, count int, timed func(func())) (err error) {
	h, err := openHost(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	refs := make([]shell.Ref, sectors)
	for i := range refs {
		ref, a := h.spawn(uint64(i + 1))
		<-a.loaded
		refs[i] = ref
	}
	failed := make(chan error, sectors)
	var all sync.WaitGroup
	timed(func() {
		for _, ref := range refs {
			all.Go(func() {
				reply := make(chan error, 1)
				for n := range count {
					ref.Tell(said{n, reply})
					if err := <-reply; err != nil {
						failed <- err
						return
					}
				}
			})
		}
		all.Wait()
	})
	close(failed)
	if err := <-failed; err != nil {
		return err
	}
	return h.check(sectors, count)
}

// check reads what is stored: each sector has every event, beside the steps that were scheduled.
func (h *host) check(sectors, count int) error {
	for n := uint64(1); n <= uint64(sectors); n++ {
		got := 0
		for r, err := range h.store.ReadStream(context.Background(), events.SectorStream(provider, n), events.ReadStream{}) {
			if err != nil {
				return err
			}
			if r.Type != "SectorStepScheduled" {
				got++
			}
		}
		if got != count {
			return fmt.Errorf("sector %d has %d events, not %d", n, got, count)
		}
	}
	return nil
}

// clock is the machine's.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) After(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}
