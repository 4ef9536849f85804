package sim

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
)

// fakeProvider is the ProviderChain port of the host's account over the world. Like the market, it
// reads at the newest block that its node knows, and sends to the newest block of the chain. Like an
// outbox, it remembers by their keys which messages were mined.
type fakeProvider struct{ *world }

func hashOf(of ...any) events.Hash { return sha256.Sum256(fmt.Append(nil, of...)) }

// Provider puts a contract of sectors on the chain, and returns the port of the host's account to it.
// A message counts as confirmed in its own block.
func (w *World) Provider(rules SectorRules) port.ProviderChain {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	w.w.confirmations = 1
	w.w.tip().state.provider = newSectorContract(rules, w.w.me)
	return fakeProvider{w.w}
}

// view is the contract as a node shows it, and the block in which its views are evaluated.
func (f fakeProvider) view(b block) (*sectorContract, blockContext) {
	return b.state.provider, blockContext{b.head.Number, b.head.Time, f.hash}
}

func (f fakeProvider) hash(n uint64) events.Hash { return f.blocks[n].head.Hash }

func (f fakeProvider) look(b block, number uint64) events.SectorOnChain {
	c, m := f.view(b)
	on := c.at(number, m)
	on.Block = b.head
	return on
}

// asks makes a call that reads.
func asks[T any](ctx context.Context, f fakeProvider, name string, read func() (T, error)) (T, error) {
	return do(ctx, f.bus, "provider."+name, locked(f.world, read))
}

func (f fakeProvider) Account() events.Address { return f.me }

// Config does not park: it never changes, and the real one is read once.
func (f fakeProvider) Config(context.Context) (events.SectorConfig, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tip().state.provider.Config, nil
}

func (f fakeProvider) Head(ctx context.Context) (events.Head, error) {
	return asks(ctx, f, "head", func() (events.Head, error) { return f.sight().head, nil })
}

func (f fakeProvider) Final(ctx context.Context, n uint64) (bool, error) {
	return asks(ctx, f, "final", func() (bool, error) { return n+f.confirmations <= f.sight().head.Number+1, nil })
}

// drawn returns randomness of a block.
type drawn struct {
	value events.Hash
	epoch uint64
}

func (f fakeProvider) Ticket(ctx context.Context, number uint64) (events.Hash, uint64, error) {
	d, err := asks(ctx, f, fmt.Sprintf("ticket %d", number), func() (drawn, error) {
		c, m := f.view(f.sight())
		epoch := m.number - c.Config.TicketLookback
		return drawn{c.ticket(number, f.hash(epoch)), epoch}, nil
	})
	return d.value, d.epoch, err
}

func (f fakeProvider) Sector(ctx context.Context, number uint64) (events.SectorOnChain, error) {
	return asks(ctx, f, fmt.Sprintf("sector %d", number), func() (events.SectorOnChain, error) {
		return f.look(f.sight(), number), nil
	})
}

func (f fakeProvider) Sectors(ctx context.Context, numbers []uint64) ([]events.SectorOnChain, error) {
	return asks(ctx, f, fmt.Sprintf("sectors %d", numbers), func() (all []events.SectorOnChain, _ error) {
		for _, n := range numbers {
			all = append(all, f.look(f.sight(), n))
		}
		return all, nil
	})
}

func (f fakeProvider) Window(ctx context.Context) (events.SectorWindow, error) {
	return asks(ctx, f, "window", func() (events.SectorWindow, error) {
		c, m := f.view(f.sight())
		m.number++
		return c.windowIn(m), nil
	})
}

func (f fakeProvider) Seed(ctx context.Context, number uint64) (events.Hash, uint64, error) {
	d, err := asks(ctx, f, fmt.Sprintf("seed %d", number), func() (drawn, error) {
		s := f.look(f.sight(), number)
		if err := waiting(s); err != nil && !s.Active {
			return drawn{}, err
		}
		return drawn{s.Seed, s.SeedEpoch}, nil
	})
	return d.value, d.epoch, err
}

// sectorMessage is a message of the host to the contract of sectors.
type sectorMessage struct {
	// kind and numbers say what the message is about; said names its effect on the contract, and others further ones.
	kind, key string
	numbers   []uint64
	said      string
	others    []string
	// never reports that the wanted state came about without a message; nil: the last one with this effect did it.
	never func() bool
	// so reports, as of the newest block, that the contract is in the wanted state already, or why the message
	// cannot be sent.
	so func() (bool, error)
	// does is what the contract does with the message.
	does func(*contract, blockContext) error
}

// sends puts a message on the chain, once per key, and not at all if it would change nothing.
func (f fakeProvider) sends(ctx context.Context, m sectorMessage) (events.Receipt, error) {
	name := fmt.Sprintf("%s %s %d", f.me, m.kind, m.numbers)
	port := fmt.Sprintf("provider.%s %d %s", m.kind, m.numbers, m.key)
	return do(ctx, f.bus, port, sending(ctx, f.world, name, func() (events.Receipt, error) {
		id := fmt.Sprint(m.kind, m.numbers, m.key)
		r, mined := f.messages[id]
		mined = mined && f.canonical(r.Block)
		if mined && !f.unasking {
			return r, nil
		}
		so, err := m.so()
		if so && m.never != nil && m.never() {
			return events.Receipt{}, nil
		}
		if (so || err != nil) && !f.unasking {
			return f.tip().state.provider.said[m.said], err
		}
		if mined || so {
			f.offend(SentOnce, "%s of sectors %d was sent under %q, and it is so already", m.kind, m.numbers, m.key)
		}
		for _, n := range m.numbers {
			f.did(action{kind: "provider." + m.kind, sector: n, key: keyOfSector(m.key, n)})
		}
		r = events.Receipt{TxHash: hashOf(id), Fee: events.NewAmount(21_000), GasUsed: 21_000}
		_, err = f.send(ctx, name, &transaction{
			ofSectors: true,
			apply:     func(c *contract, b blockContext) ([]messages.MarketEvent, error) { return nil, m.does(c, b) },
			mined: func(head events.Head, c *contract) {
				r.Block = head
				f.messages[id] = r
				for _, said := range append(slices.Clip(m.others), m.said) {
					c.provider.said[said] = r
				}
			},
		})
		if err != nil {
			return events.Receipt{}, err
		}
		return r, nil
	}))
}

// keyOfSector is the key of a sector's step in that of a message about several sectors.
func keyOfSector(key string, number uint64) string {
	step, steps, _ := strings.Cut(key, ":")
	for _, one := range strings.Split(steps, "+") {
		if strings.HasPrefix(one, fmt.Sprintf("%d:", number)) {
			return step + ":" + one
		}
	}
	return key
}

// newest returns a sector as of the newest block.
func (f fakeProvider) newest(number uint64) events.SectorOnChain { return f.look(f.tip(), number) }

func (f fakeProvider) PreCommit(ctx context.Context, call events.PreCommitCall) (events.Receipt, error) {
	return f.sends(ctx, sectorMessage{
		kind: "preCommit", key: call.Key, numbers: []uint64{call.Number}, said: fmt.Sprint("precommitted", call.Number),
		so: func() (bool, error) {
			c, m := f.view(f.tip())
			commR := commd.CommR(f.me, call.Number, call.Ticket, commd.Node(call.CommD))
			switch s := f.newest(call.Number); {
			case commR != commd.Node(call.CommR):
				return false, events.ErrMalformed
			case s.PreCommitted || s.Active:
				if s.Ticket == call.Ticket && s.CommD == call.CommD && s.Size == call.Size {
					return true, nil
				}
				return false, events.ErrNumberUsed
			case call.Deposit.Less(c.Config.Deposit(call.Size)):
				return false, events.ErrInsufficientFunds
			case call.TicketEpoch+c.Config.TicketLookback > m.number:
				return false, events.ErrTicketExpired
			}
			return false, nil
		},
		does: func(c *contract, b blockContext) error { return c.preCommit(b, call) },
	})
}

func (f fakeProvider) PinSeed(ctx context.Context, key string, number uint64) (events.Receipt, error) {
	return f.sends(ctx, sectorMessage{
		kind: "pinSeed", key: key, numbers: []uint64{number}, said: fmt.Sprint("pinned", number),
		so: func() (bool, error) {
			s := f.newest(number)
			if there := f.tip().state.provider.sectors[number]; s.Active || there != nil && there.pinned && !s.Void {
				return true, nil
			}
			return false, waiting(s)
		},
		does: func(c *contract, b blockContext) error { return c.provider.pin(b, number) },
	})
}

func (f fakeProvider) Commit(ctx context.Context, key string, number uint64, proof []byte) (events.Receipt, error) {
	return f.sends(ctx, sectorMessage{
		kind: "commit", key: key, numbers: []uint64{number}, said: fmt.Sprint("committed", number),
		so: func() (bool, error) {
			s := f.newest(number)
			if s.Activation > 0 {
				return true, nil
			}
			return false, waiting(s)
		},
		does: func(c *contract, b blockContext) error { return c.provider.commit(b, number, proof) },
	})
}

func (f fakeProvider) ProvePossession(ctx context.Context, call events.PossessionCall) (events.Receipt, error) {
	left := call // Without those that are proven.
	left.Numbers, left.Proofs = nil, nil
	said := fmt.Sprint("proven", call.Period, call.Deadline, call.Partition)
	return f.sends(ctx, sectorMessage{
		kind: "possession", key: call.Key, numbers: call.Numbers, said: said,
		so: func() (bool, error) {
			c, m := f.view(f.tip())
			if len(call.Numbers) != len(call.Proofs) || len(call.Numbers) == 0 || call.Deadline >= c.Config.Deadlines {
				return false, events.ErrMalformed
			}
			for i, n := range call.Numbers {
				switch s := f.newest(n); {
				case c.missed[sectorPeriod{n, call.Period}], s.Active && s.NextPeriod > call.Period && c.said[said].TxHash.Zero():
					return false, events.ErrDeadlinePassed
				case !s.Active || s.NextPeriod <= call.Period:
					left.Numbers, left.Proofs = append(left.Numbers, n), append(left.Proofs, call.Proofs[i])
				}
			}
			opens := c.opens(call.Deadline, call.Period)
			switch {
			case len(left.Numbers) == 0:
				return true, nil
			case m.number+1 >= opens+c.windowBlocks():
				return false, events.ErrDeadlinePassed
			case m.number < opens:
				return false, events.ErrTooEarly
			}
			return false, nil
		},
		does: func(c *contract, b blockContext) error { return c.provider.prove(b, left) },
	})
}

// declares is a declaration; a fault that the contract found by itself is declared all the same.
func (f fakeProvider) declares(
	ctx context.Context, kind, key string, numbers []uint64, needed func(events.SectorOnChain) bool,
	does func(*sectorContract, blockContext, []uint64) error,
) (events.Receipt, error) {
	said := func(n uint64) string { return fmt.Sprint(kind, n) }
	var others []string
	for _, n := range numbers[1:] {
		others = append(others, said(n))
	}
	return f.sends(ctx, sectorMessage{
		kind: kind, key: key, numbers: numbers, said: said(numbers[0]), others: others,
		so: func() (bool, error) {
			tell := false
			for _, n := range numbers {
				s := f.newest(n)
				if !s.Active {
					return false, events.ErrSectorNotLive
				}
				tell = tell || needed(s)
			}
			_, told := f.tip().state.provider.said[said(numbers[0])]
			return !tell && (told || kind == "declareRecoveries"), nil
		},
		does: func(c *contract, b blockContext) error {
			tell := slices.DeleteFunc(slices.Clone(numbers), func(n uint64) bool { return !needed(c.provider.at(n, b)) })
			return does(c.provider, b, tell)
		},
	})
}

func (f fakeProvider) DeclareFaults(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return f.declares(ctx, "declareFaults", key, numbers, func(s events.SectorOnChain) bool {
		return !s.Faulty || promised(s)
	}, (*sectorContract).declareFaults)
}

func (f fakeProvider) DeclareRecoveries(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return f.declares(ctx, "declareRecoveries", key, numbers, func(s events.SectorOnChain) bool {
		return s.Faulty && !promised(s)
	}, (*sectorContract).declareRecoveries)
}

func (f fakeProvider) Terminate(ctx context.Context, key string, number uint64) (events.Receipt, error) {
	return f.sends(ctx, sectorMessage{
		kind: "terminate", key: key, numbers: []uint64{number}, said: saidEnded(number),
		never: func() bool { return !f.newest(number).Terminated },
		so: func() (bool, error) {
			s := f.newest(number)
			if s.PreCommitted {
				return false, events.ErrTooEarly
			}
			return !s.Active, nil
		},
		does: func(c *contract, b blockContext) error { return c.provider.terminate(b, number) },
	})
}

func (f fakeProvider) Settle(ctx context.Context, key string, number uint64) (events.SectorSettlement, error) {
	said := saidEnded(number)
	r, err := f.sends(ctx, sectorMessage{
		kind: "settle", key: key, numbers: []uint64{number}, said: said,
		so: func() (bool, error) {
			c := f.tip().state.provider
			s, there := f.newest(number), c.sectors[number]
			_, settled := c.settled[number]
			switch {
			case s.PreCommitted || s.Active:
				return false, events.ErrTooEarly
			case s.Void, s.Ended && !there.collected:
				return false, nil
			case settled && c.said[said].TxHash.Zero(): // Its windows ended it, and nobody has settled them.
				return false, nil
			}
			return true, nil
		},
		does: func(c *contract, b blockContext) error { return c.provider.release(b, number) },
	})
	if err != nil || r.TxHash.Zero() {
		return events.SectorSettlement{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.tip().state.provider.settled[number]
	if f.lenient {
		s.Returned, s.Lost = s.Returned.Add(s.Lost), events.Amount{}
	}
	s.Receipt = r
	return s, nil
}

func (f fakeProvider) Owed(ctx context.Context) (events.Amount, error) {
	return asks(ctx, f, "owed", func() (events.Amount, error) { return f.sight().state.provider.owed, nil })
}

func (f fakeProvider) Withdraw(ctx context.Context, key string) (w events.SectorWithdrawal, err error) {
	w.Receipt, err = f.sends(ctx, sectorMessage{
		kind: "withdraw", key: key, said: "withdrawn " + key,
		so: func() (bool, error) { return f.tip().state.provider.owed.IsZero(), nil },
		does: func(c *contract, _ blockContext) error {
			p := c.provider
			c.pay(p.account, p.owed)
			p.paid[key], p.taken, p.owed = p.owed, p.taken.Sub(p.owed), events.Amount{}
			return nil
		},
	})
	if err == nil && !w.Receipt.TxHash.Zero() {
		f.mu.Lock()
		defer f.mu.Unlock()
		w.Amount = f.tip().state.provider.paid[key]
	}
	return w, err
}

// isProvider selects the calls on the contract of sectors.
func isProvider(port string) bool { return strings.HasPrefix(port, "provider.") }
