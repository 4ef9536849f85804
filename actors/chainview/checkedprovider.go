package chainview

import (
	"context"
	"errors"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// This file checks the answers of the contract of sectors, as checkedmarket.go does those of the market.

// checkedProvider is a contract of sectors whose answers are checked.
type checkedProvider struct {
	port.ProviderChain
	view *View
}

// Checked returns a contract of sectors whose impossible answers count as none.
func (c *Chain) Checked(p port.ProviderChain) port.ProviderChain { return checkedProvider{p, c.View} }

// DutiesDue passes on when proofs are due, if the contract's adapter wants to know.
func (p checkedProvider) DutiesDue(next time.Time) {
	if told, ok := p.ProviderChain.(interface{ DutiesDue(next time.Time) }); ok {
		told.DutiesDue(next)
	}
}

func (p checkedProvider) Head(ctx context.Context) (events.Head, error) {
	h, err := p.ProviderChain.Head(ctx)
	return checked(h, err, p.view.Possible)
}

func (p checkedProvider) Sector(ctx context.Context, number uint64) (events.SectorOnChain, error) {
	s, err := p.ProviderChain.Sector(ctx, number)
	return checked(s, err, func(s events.SectorOnChain) error {
		return p.possible(ctx, []uint64{number}, []events.SectorOnChain{s})
	})
}

func (p checkedProvider) Sectors(ctx context.Context, numbers []uint64) ([]events.SectorOnChain, error) {
	all, err := p.ProviderChain.Sectors(ctx, numbers)
	return checked(all, err, func(all []events.SectorOnChain) error { return p.possible(ctx, numbers, all) })
}

// possible checks what is said of sectors. Who asks compares how many they are.
func (p checkedProvider) possible(ctx context.Context, numbers []uint64, all []events.SectorOnChain) error {
	cfg, err := p.Config(ctx)
	if err != nil {
		return err
	}
	for i, s := range all[:min(len(all), len(numbers))] {
		if err := errors.Join(events.CheckSector(cfg, numbers[i], s), p.view.Possible(s.Block)); err != nil {
			return err
		}
	}
	return nil
}

func (p checkedProvider) Window(ctx context.Context) (events.SectorWindow, error) {
	w, err := p.ProviderChain.Window(ctx)
	return checked(w, err, func(w events.SectorWindow) error {
		cfg, err := p.Config(ctx)
		if err == nil {
			err = events.CheckWindow(cfg, w)
		}
		return err
	})
}

func (p checkedProvider) Ticket(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error) {
	if value, epoch, err = p.ProviderChain.Ticket(ctx, number); err == nil {
		err = events.CheckDrawn(value, epoch)
	}
	return value, epoch, err
}

func (p checkedProvider) Seed(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error) {
	if value, epoch, err = p.ProviderChain.Seed(ctx, number); err == nil {
		err = events.CheckDrawn(value, epoch)
	}
	return value, epoch, err
}

// mined checks that the block of a receipt can be on the chain.
func (p checkedProvider) mined(r events.Receipt, err error) (events.Receipt, error) {
	return checked(r, err, p.view.mined)
}

func (p checkedProvider) PreCommit(ctx context.Context, call events.PreCommitCall) (events.Receipt, error) {
	return p.mined(p.ProviderChain.PreCommit(ctx, call))
}

func (p checkedProvider) PinSeed(ctx context.Context, key string, number uint64) (events.Receipt, error) {
	return p.mined(p.ProviderChain.PinSeed(ctx, key, number))
}

func (p checkedProvider) Commit(ctx context.Context, key string, number uint64, proof []byte) (events.Receipt, error) {
	return p.mined(p.ProviderChain.Commit(ctx, key, number, proof))
}

func (p checkedProvider) ProvePossession(ctx context.Context, call events.PossessionCall) (events.Receipt, error) {
	return p.mined(p.ProviderChain.ProvePossession(ctx, call))
}

func (p checkedProvider) DeclareFaults(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return p.mined(p.ProviderChain.DeclareFaults(ctx, key, numbers))
}

func (p checkedProvider) DeclareRecoveries(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return p.mined(p.ProviderChain.DeclareRecoveries(ctx, key, numbers))
}

func (p checkedProvider) Terminate(ctx context.Context, key string, number uint64) (events.Receipt, error) {
	return p.mined(p.ProviderChain.Terminate(ctx, key, number))
}

func (p checkedProvider) Settle(ctx context.Context, key string, number uint64) (events.SectorSettlement, error) {
	s, err := p.ProviderChain.Settle(ctx, key, number)
	s.Receipt, err = p.mined(s.Receipt, err)
	return s, err
}

func (p checkedProvider) Withdraw(ctx context.Context, key string) (events.SectorWithdrawal, error) {
	w, err := p.ProviderChain.Withdraw(ctx, key)
	w.Receipt, err = p.mined(w.Receipt, err)
	return w, err
}
