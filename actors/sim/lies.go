package sim

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// This file simulates a node that lies for a while: its answers are impossible by the
// contract's types, by its rules, by the question, or by earlier answers. With a single node,
// nobody can detect a lie that is possible.

// falsified returns an impossible answer, chosen by a random number; the true answer if there
// is no impossible one.
func falsified(answer any, n uint64) any {
	switch a := answer.(type) {
	case events.Head:
		return falseHead(a, n)
	case []events.Head:
		return falseHeads(a, n)
	case events.MarketConfig:
		return falseConfig(a, n)
	case events.Request:
		return falseRequest(a, n)
	case events.SlotFacts:
		return falseFacts(a, n)
	case reservation:
		a.at = falseHead(a.at, n)
		return a
	case []events.OwnedSlot:
		return falseOwned(a, n)
	case events.Receipt:
		if a.Block.Number > 0 { // Zero if it was done before.
			a.Block = falseHead(a.Block, n)
		}
		return a
	case events.Fill:
		return falseFill(a, n)
	case []events.TakenProof:
		return falseProofs(a, n)
	case events.PayoutReceipt:
		return falsePayout(a, n)
	case events.ChainUpdate:
		return falseUpdate(a, n)
	case sealed:
		return falseSeal(a, n)
	case drawn, events.SectorOnChain, []events.SectorOnChain, events.SectorWindow, events.Amount:
		return falseOfSectors(a, n)
	case events.DealReport:
		return falseReport(a, n)
	case []events.SectorPiece:
		return a[:len(a)-min(1, len(a))]
	}
	return answer
}

// falseHead returns a block that is not on this chain and does not have the number that was
// asked for.
func falseHead(h events.Head, n uint64) events.Head {
	switch n % 5 {
	case 0:
		h.Number = math.MaxUint64 - n%3
	case 1:
		h.Number += 1 << 40 // Impossible so soon.
	case 2:
		h.Time = time.Unix(-1, 0)
	case 3:
		h.Time = time.Unix(1<<40, 0)
	case 4:
		h.Hash = events.Hash{}
	}
	return h
}

func falseHeads(heads []events.Head, n uint64) []events.Head {
	if len(heads) < 2 {
		return heads
	}
	heads = slices.Clone(heads)
	at := int(n / 8 % uint64(len(heads)))
	switch n % 8 {
	case 0:
		return heads[:at] // A part is missing.
	case 1:
		slices.Reverse(heads)
	case 2:
		heads[at] = heads[(at+1)%len(heads)] // Not the block that was asked for.
	default:
		heads[at] = falseHead(heads[at], n)
	}
	return heads
}

func falseConfig(c events.MarketConfig, n uint64) events.MarketConfig {
	switch n % 4 {
	case 0:
		c.Proofs.Period = 0
	case 1:
		c.Proofs.Period = -time.Second
	case 2:
		c.Proofs.Timeout = math.MinInt64
	case 3:
		c.SlashPercentage = math.MaxUint8
	}
	return c
}

// falseRequest returns another request, or one that the contract would never take.
func falseRequest(r events.Request, n uint64) events.Request {
	switch n % 8 {
	case 0:
		r.ID[31] ^= 1
	case 1:
		r.Ask.Slots = 1 << 63
	case 2:
		r.Ask.PricePerBytePerSecond = events.MaxAmount()
	case 3:
		r.Ask.CollateralPerByte = events.MaxAmount()
	case 4:
		r.Ask.Duration, r.Expiry = math.MaxInt64, math.MaxInt64
	case 5:
		for i := range r.Content.MerkleRoot {
			r.Content.MerkleRoot[i] = 0xff
		}
	case 6:
		r.Content.CID = strings.Repeat("x", 1<<16)
	case 7:
		r.Ask.SlotSize = math.MaxUint64
	}
	return r
}

func falseFacts(f events.SlotFacts, n uint64) events.SlotFacts {
	switch n % 8 {
	case 0:
		f.RequestState = math.MaxUint8
	case 1:
		f.SlotState = events.SlotRepair + 1
	case 2:
		f.RequestKnown, f.SlotState, f.Host = true, events.SlotFilled, events.Address{}
	case 3:
		f.Collateral = events.MaxAmount()
	case 4:
		f.RequestExpiry, f.RequestEnd = time.Unix(math.MaxInt64/2, 0), time.Unix(math.MaxInt64/2, 0)
		f.RequestKnown = true
	default:
		f.At = falseHead(f.At, n)
	}
	return f
}

// falseOwned names slots that do not exist or are not ours.
func falseOwned(owned []events.OwnedSlot, n uint64) []events.OwnedSlot {
	owned = slices.Clone(owned)
	if len(owned) == 0 {
		return append(owned, events.OwnedSlot{Slot: events.SlotID{1}, Index: n})
	}
	at := int(n / 4 % uint64(len(owned)))
	switch n % 4 {
	case 0:
		owned[at].Slot[0] ^= 1
	case 1:
		owned[at].Index = 1 << 63
	case 2:
		owned[at].Request.ID[0] ^= 1
	case 3:
		owned = append(owned, owned[at])
	}
	return owned
}

func falseFill(f events.Fill, n uint64) events.Fill {
	switch n % 4 {
	case 0:
		f.Collateral = events.MaxAmount()
	case 1:
		f.RepairReward = events.MaxAmount()
	case 2:
		f.Block = math.MaxUint64
	case 3:
		f.Receipt.Block = falseHead(f.Receipt.Block, n/4)
	}
	return f
}

func falseProofs(taken []events.TakenProof, n uint64) []events.TakenProof {
	if len(taken) == 0 {
		return append(taken, events.TakenProof{Period: math.MaxUint64})
	}
	taken = slices.Clone(taken)
	at := int(n / 4 % uint64(len(taken)))
	switch n % 4 {
	case 0:
		taken[at].Period = math.MaxUint64
	case 1:
		taken[at].Period = 0
	default:
		taken[at].Receipt.Block = falseHead(taken[at].Receipt.Block, n/4)
	}
	return taken
}

func falsePayout(p events.PayoutReceipt, n uint64) events.PayoutReceipt {
	switch n % 4 {
	case 0:
		p.Paid = events.MaxAmount()
	case 1:
		p.Paid, p.Collateral = events.MaxAmount(), events.MaxAmount()
	case 2:
		p.Paid, p.Collateral = events.Amount{}, events.NewAmount(1)
	case 3:
		if p.Block.Number > 0 {
			p.Block = falseHead(p.Block, n/4)
		}
	}
	return p
}

// falseUpdate returns an update that cannot follow the last one.
func falseUpdate(u events.ChainUpdate, n uint64) events.ChainUpdate {
	switch {
	case u.Reorganized != nil:
		return events.ChainUpdate{Reorganized: &messages.ChainReorganized{
			Ancestor: math.MaxUint64 - 1, AncestorHash: u.Reorganized.GetAncestorHash(),
		}}
	case n%4 == 0:
		u.Head.Number-- // It goes back without a reorganisation.
		u.Logs, u.Head.Number = nil, u.Head.Number-min(u.Head.Number, n/4%64)
	case n%4 == 1:
		u.Head.Time = u.Head.Time.Add(-time.Hour)
	case n%4 == 2:
		u.Logs = append(slices.Clone(u.Logs), &messages.ChainSlotFilled{
			RequestId: events.RequestID{1, 0x51}.String(),
			Log: &messages.ChainLog{
				Block: math.MaxUint64, BlockHash: u.Head.Hash.String(), TxHash: u.Head.Hash.String(),
				Time: events.TimeToMessage(u.Head.Time),
			},
		})
	default:
		u.Head = falseHead(u.Head, n/4)
	}
	return u
}
