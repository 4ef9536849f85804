package chainview

import (
	"context"
	"errors"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// This file checks the answers of the contract of sectors, as doubt.go does those of the market.

// doubtfulProvider is a contract of sectors whose answers are checked.
type doubtfulProvider struct {
	port.ProviderChain
	view *View
}

// Doubted returns a contract of sectors whose impossible answers count as none.
func (c *Chain) Doubted(p port.ProviderChain) port.ProviderChain { return doubtfulProvider{p, c.View} }

// DutiesDue passes on when proofs are due, if the contract's adapter wants to know.
func (d doubtfulProvider) DutiesDue(next time.Time) {
	if told, ok := d.ProviderChain.(interface{ DutiesDue(next time.Time) }); ok {
		told.DutiesDue(next)
	}
}

func (d doubtfulProvider) Head(ctx context.Context) (events.Head, error) {
	h, err := d.ProviderChain.Head(ctx)
	return checked(h, err, d.view.Possible)
}

func (d doubtfulProvider) Sector(ctx context.Context, number uint64) (events.SectorOnChain, error) {
	s, err := d.ProviderChain.Sector(ctx, number)
	return checked(s, err, func(s events.SectorOnChain) error {
		return d.possible(ctx, []uint64{number}, []events.SectorOnChain{s})
	})
}

func (d doubtfulProvider) Sectors(ctx context.Context, numbers []uint64) ([]events.SectorOnChain, error) {
	all, err := d.ProviderChain.Sectors(ctx, numbers)
	return checked(all, err, func(all []events.SectorOnChain) error { return d.possible(ctx, numbers, all) })
}

// possible checks what is said of sectors. Who asks compares how many they are.
func (d doubtfulProvider) possible(ctx context.Context, numbers []uint64, all []events.SectorOnChain) error {
	cfg, err := d.Config(ctx)
	if err != nil {
		return err
	}
	for i, s := range all[:min(len(all), len(numbers))] {
		if err := errors.Join(events.CheckSector(cfg, numbers[i], s), d.view.Possible(s.Block)); err != nil {
			return err
		}
	}
	return nil
}

func (d doubtfulProvider) Window(ctx context.Context) (events.SectorWindow, error) {
	w, err := d.ProviderChain.Window(ctx)
	return checked(w, err, func(w events.SectorWindow) error {
		cfg, err := d.Config(ctx)
		if err == nil {
			err = events.CheckWindow(cfg, w)
		}
		return err
	})
}

func (d doubtfulProvider) Ticket(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error) {
	if value, epoch, err = d.ProviderChain.Ticket(ctx, number); err == nil {
		err = events.CheckDrawn(value, epoch)
	}
	return value, epoch, err
}

func (d doubtfulProvider) Seed(ctx context.Context, number uint64) (value events.Hash, epoch uint64, err error) {
	if value, epoch, err = d.ProviderChain.Seed(ctx, number); err == nil {
		err = events.CheckDrawn(value, epoch)
	}
	return value, epoch, err
}

// mined checks that the block of a receipt can be on the chain.
func (d doubtfulProvider) mined(r events.Receipt, err error) (events.Receipt, error) {
	return checked(r, err, d.view.mined)
}

func (d doubtfulProvider) PreCommit(ctx context.Context, call events.PreCommitCall) (events.Receipt, error) {
	return d.mined(d.ProviderChain.PreCommit(ctx, call))
}

func (d doubtfulProvider) PinSeed(ctx context.Context, key string, number uint64) (events.Receipt, error) {
	return d.mined(d.ProviderChain.PinSeed(ctx, key, number))
}

func (d doubtfulProvider) Commit(ctx context.Context, key string, number uint64, proof []byte) (events.Receipt, error) {
	return d.mined(d.ProviderChain.Commit(ctx, key, number, proof))
}

func (d doubtfulProvider) ProvePossession(ctx context.Context, call events.PossessionCall) (events.Receipt, error) {
	return d.mined(d.ProviderChain.ProvePossession(ctx, call))
}

func (d doubtfulProvider) DeclareFaults(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return d.mined(d.ProviderChain.DeclareFaults(ctx, key, numbers))
}

func (d doubtfulProvider) DeclareRecoveries(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return d.mined(d.ProviderChain.DeclareRecoveries(ctx, key, numbers))
}

func (d doubtfulProvider) Terminate(ctx context.Context, key string, number uint64) (events.Receipt, error) {
	return d.mined(d.ProviderChain.Terminate(ctx, key, number))
}

func (d doubtfulProvider) Settle(ctx context.Context, key string, number uint64) (events.SectorSettlement, error) {
	s, err := d.ProviderChain.Settle(ctx, key, number)
	s.Receipt, err = d.mined(s.Receipt, err)
	return s, err
}

func (d doubtfulProvider) Withdraw(ctx context.Context, key string) (events.SectorWithdrawal, error) {
	w, err := d.ProviderChain.Withdraw(ctx, key)
	w.Receipt, err = d.mined(w.Receipt, err)
	return w, err
}
