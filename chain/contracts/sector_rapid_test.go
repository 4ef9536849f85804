package contracts_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/chain/contracts"
)

// life is the life of a sector as its description has it: window by window, in the order of blocks,
// settled at once. The contract settles late, or never.
type life struct {
	*testSector
	first            uint64 // the first period that it owes
	left, lost, back int64  // tokens
	proven           map[uint64]bool
	faulty           bool
	from             uint64 // if faulty: the first period that counts as such
	recover          uint64 // if recovery is declared: its period
	faults           uint16 // periods in a row
	terminated       bool
	expired          bool
}

// closes handles the end of a window.
func (l *life) closes(period uint64) {
	if l.proven[period] || l.terminated || period < l.first || l.opens(period) >= l.said.Expiration {
		return
	}
	fee := int64(faultFee)
	if !l.faulty || period < l.from || l.recover == period {
		fee = missedFee
	}
	if !l.faulty || period < l.from {
		l.faulty, l.from = true, period
	}
	l.pays(fee)
	if l.faults++; l.left == 0 || l.faults == maxFaults {
		l.terminates()
	}
}

func (l *life) pays(fee int64) {
	fee = min(fee, l.left)
	l.left, l.lost = l.left-fee, l.lost+fee
}

func (l *life) terminates() {
	l.pays(terminateFee)
	l.left, l.back = 0, l.left
	l.terminated = true
}

// due says whether a proof is accepted in a block.
func (l *life) due(block uint64) (period uint64, ok bool) {
	period = block / periodBlocks
	open := block >= l.opens(period) && block < l.opens(period)+windowBlocks
	ok = open && !l.terminated && period >= l.first && l.opens(period) < l.said.Expiration && !l.proven[period]
	return period, ok && (!l.faulty || period < l.from || l.recover == period)
}

// ended says whether the expiration and the last window that is owed have passed.
func (l *life) ended(block uint64) bool {
	last := l.said.Expiration / periodBlocks
	if l.opens(last) >= l.said.Expiration {
		last--
	}
	return block >= max(l.said.Expiration, l.opens(last)+windowBlocks)
}

// declares is the first period for which a declaration in that block counts.
func (l *life) declares(block uint64) uint64 {
	period := block / periodBlocks
	for l.opens(period) <= block+faultCutoff {
		period++
	}
	return period
}

func (l *life) status(block uint64) contracts.SectorStatus {
	switch {
	case l.terminated:
		return contracts.SectorTerminated
	case l.expired:
		return contracts.SectorExpired
	case l.ended(block):
		return contracts.SectorEnded
	case l.faulty:
		return contracts.SectorFaulty
	default:
		return contracts.SectorActive
	}
}

// Whatever a provider does, and whenever a miss is marked, if ever: status, deposit and losses are
// the same as if each window is settled as it closes.
func TestSettlingLateChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := newYard(t)
		number := rapid.Uint64Range(0, deadlines-1).Draw(t, "number")
		y.block += rapid.Uint64Range(0, periodBlocks-1).Draw(t, "start")
		s := y.announces(alice, number)
		// Soon after the earliest possible one, and often where something begins or ends.
		last := s.said.Expiration/periodBlocks + rapid.Uint64Range(1, 6).Draw(t, "periods")
		s.said.Expiration = s.opens(last) + rapid.OneOf(
			rapid.SampledFrom([]uint64{0, 1, windowBlocks, windowBlocks + 1}),
			rapid.Uint64Range(0, periodBlocks-1),
		).Draw(t, "place")
		y.does(alice, sectorABI.PackPreCommit(s.said))
		y.block += seedDelay + 1
		y.does(alice, s.packCommit())
		l := &life{testSector: s, left: deposit, proven: map[uint64]bool{}, first: y.block / periodBlocks}
		if s.opens(l.first) <= y.block {
			l.first++
		}
		t.Repeat(l.actions(y))
	})
}

func (l *life) actions(y *yard) map[string]func(*rapid.T) {
	numbers := []uint64{l.number}
	live := func() bool { return !l.terminated && !l.expired && !l.ended(y.block) }
	call := func(t *rapid.T, data []byte, taken bool) {
		if _, _, name := y.attempt(alice, y.address, data); (name == "") != taken {
			t.Fatalf("block %d: %q, want it taken: %t", y.block, name, taken)
		}
	}
	return map[string]func(*rapid.T){
		"wait": func(t *rapid.T) {
			blocks := rapid.OneOf(rapid.Uint64Range(1, 60), rapid.Uint64Range(60, 250))
			for range blocks.Draw(t, "blocks") {
				y.block++
				if behind := y.block - windowBlocks; l.opens(behind/periodBlocks) == behind {
					l.closes(behind / periodBlocks)
				}
			}
		},
		"prove": func(t *rapid.T) {
			period, due := l.due(y.block)
			due = due && live()
			call(t, y.packProof(l.testSector), due)
			if !due {
				return
			}
			if l.faulty && l.recover == period {
				l.faulty, l.faults, l.recover = false, 0, 0
			}
			l.proven[period] = true
		},
		"declareFaults": func(t *rapid.T) {
			call(t, sectorABI.PackDeclareFaults(numbers), live())
			next := l.declares(y.block)
			switch {
			case !live():
			case !l.faulty:
				l.faulty, l.from = true, next
			case l.recover >= next:
				l.recover = 0
			}
		},
		"declareRecoveries": func(t *rapid.T) {
			call(t, sectorABI.PackDeclareRecoveries(numbers), live() && l.faulty)
			kept := l.recover > 0 && l.opens(l.recover)+windowBlocks > y.block
			if live() && l.faulty && !kept {
				l.recover = l.declares(y.block)
			}
		},
		"markMissed": func(*rapid.T) {
			period := y.info(alice, l.number).NextPeriod - 1
			_, _, _ = y.attempt(bob, y.address, sectorABI.PackMarkMissed(alice, l.number, period))
		},
		"end": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
				return
			}
			if l.ended(y.block) && live() {
				t.Fatalf("ended and live")
			}
			if !l.terminated && !l.expired {
				call(t, sectorABI.PackTerminate(l.number), live())
				if live() {
					l.terminates()
				}
			}
		},
		"expire": func(t *rapid.T) {
			if l.terminated || l.expired {
				return
			}
			call(t, sectorABI.PackExpire(l.number), l.ended(y.block))
			if l.ended(y.block) {
				l.expired, l.back, l.left = true, l.left, 0
			}
		},
		"": func(t *rapid.T) {
			info := y.info(alice, l.number)
			if got, want := contracts.SectorStatus(info.Status), l.status(y.block); got != want {
				t.Fatalf("block %d: status is %v, want %v", y.block, got, want)
			}
			y.wantLeft(l.testSector, l.left)
			if l.faulty && !l.terminated && info.FaultPeriods != uint64(l.faults) {
				t.Fatalf("block %d: %d fault periods, want %d", y.block, info.FaultPeriods, l.faults)
			}
			undo := y.scratch()
			defer undo()
			_, _, _ = y.attempt(bob, y.address, sectorABI.PackMarkMissed(alice, l.number, info.NextPeriod-1))
			if lost, back := y.unburnt(), y.owed(alice); lost != l.lost || back != l.back {
				t.Fatalf("block %d: lost %d, returned %d, want %d and %d", y.block, lost, back, l.lost, l.back)
			}
		},
	}
}

// In any order of calls by two providers and strangers, valid or not: each deposited token is
// returned, burnt, or still held for an account, and a refused call moves nothing.
func TestNoTokenIsLostOrMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := newYard(t)
		y.does(alice, sectorABI.PackFund(bigInt(10*reward)))
		accounts := []common.Address{alice, bob, nobody}
		sectors := map[string]*testSector{}
		for name, provider := range map[string]common.Address{"alice": alice, "bob": bob} {
			for _, number := range []uint64{1, 2, 6} {
				sectors[name+string(rune('0'+number))] = y.announces(provider, number)
			}
		}
		names := kinds(sectors)
		all := func() (list []*testSector) {
			for _, name := range names {
				list = append(list, sectors[name])
			}
			return list
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) {
				y.block += rapid.SampledFrom([]uint64{1, 2, seedDelay + 1, windowBlocks, periodBlocks, 260}).Draw(t, "blocks")
			},
			"pay": func(t *rapid.T) {
				data := rapid.SampledFrom([][]byte{
					sectorABI.PackWithdraw(), sectorABI.PackBurn(), sectorABI.PackFund(bigInt(3)),
				}).Draw(t, "call")
				_, _, _ = y.attempt(rapid.SampledFrom(accounts).Draw(t, "by"), y.address, data)
			},
			"announce": func(t *rapid.T) {
				name := rapid.SampledFrom(names).Draw(t, "sector")
				s := y.announces(sectors[name].provider, sectors[name].number)
				if y.trial(s.provider, sectorABI.PackPreCommit(s.said)) == "" {
					y.does(s.provider, sectorABI.PackPreCommit(s.said))
					sectors[name] = s
				}
			},
			"call": func(t *rapid.T) {
				s := sectors[rapid.SampledFrom(names).Draw(t, "sector")]
				calls := y.eachCall(s)
				kind := rapid.SampledFrom(kinds(calls)).Draw(t, "call")
				by := s.provider
				if rapid.IntRange(0, 9).Draw(t, "stranger") == 0 {
					by = rapid.SampledFrom(accounts).Draw(t, "by")
				}
				if kind != "preCommit" {
					_, _, _ = y.attempt(by, y.address, calls[kind])
				}
			},
			"window": func(t *rapid.T) {
				s := sectors[rapid.SampledFrom(names).Draw(t, "sector")]
				y.toWindow(s)
				_, _, _ = y.attempt(s.provider, y.address, y.packProof(s))
			},
			"": func(*rapid.T) { y.checkBooks(all()...) },
		})
	})
}
