package actors

import (
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events/duty"
)

// guessedBlockTime is what blocks are taken to be apart until it is known: Ethereum's.
const guessedBlockTime = 12 * time.Second

// BlockTime is how far apart blocks usually are, in chain time.
type BlockTime struct {
	Usual time.Duration // 0: not known yet
	// Set says that it was configured, and not measured.
	Set bool
}

func (e *env) knownBlockTime() BlockTime {
	if e.Margin.BlockTime > 0 {
		return BlockTime{e.Margin.BlockTime, true}
	}
	m, measures := optional[interface{ BlockTime() (time.Duration, bool) }](e.Market)
	if !measures {
		return BlockTime{}
	}
	usual, _ := m.BlockTime()
	return BlockTime{Usual: usual}
}

// blockTime is what is reckoned with: what is known, or else a guess.
func (e *env) blockTime() time.Duration {
	if b := e.knownBlockTime(); b.Usual > 0 {
		return b.Usual
	}
	return guessedBlockTime
}

// margin is what a proof needs before it is on chain.
func (e *env) margin() duty.Margin {
	return duty.Margin{Blocks: e.Margin.Blocks, BlockTime: e.blockTime()}
}

// noRoom says why on this chain no slot could ever be filled by this host, nor be proven
// in time; empty: it can, or that is not known.
func (e *env) noRoom() string {
	each := e.knownBlockTime().Usual
	if each == 0 {
		return "" // A guess is no reason to refuse.
	}
	proofs, blocks := e.terms.Proofs, e.Margin.Blocks
	took, measured := e.load.proofTime()
	needs := time.Duration(blocks) * each
	switch {
	case needs >= proofs.Period:
		return fmt.Sprintf("a proof period of the contract is %s; blocks are %s apart, so that the %d blocks in which "+
			"a proof is made and mined (sales.proofBlocks) take %s", proofs.Period, each, blocks, needs)
	case measured && took+each >= proofs.Period:
		return fmt.Sprintf("a proof period of the contract is %s; to make a proof takes %s, and a block %s more",
			proofs.Period, took.Round(time.Millisecond), each)
	case uint64(proofs.Downtime)+blocks > 255:
		return fmt.Sprintf("the contract's downtime is %d of 256 blocks, which leaves less than the %d in which a "+
			"proof is made and mined (sales.proofBlocks)", proofs.Downtime, blocks)
	}
	return ""
}
