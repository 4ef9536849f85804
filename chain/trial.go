package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// Reasons why a refused proof says nothing about the data. Both are temporary.
var (
	// ErrChallengeMoved: the block asks for another challenge than the one that the proof answers.
	ErrChallengeMoved = errors.New("the challenge moved before the proof was mined")
	// ErrGasLimit: the call succeeds with more gas.
	ErrGasLimit = errors.New("the gas limit is too low for the call")
)

// plentyGas is the gas of a trial that finds out whether gas was the cause: more than any of our
// calls can use, and less than nodes allow for a trial.
const plentyGas = 8_000_000

// preflight tries a call in the next block, without sending it, and returns the outcome. What a
// trial cannot tell is left to the transaction.
func (m *Market) preflight(ctx context.Context, head *rpc.Header, call events.SlotCall, data []byte, gas uint64) error {
	t := m.blocks.NextBlock(head, rpc.Trial{To: m.contract, Data: data, Gas: gas})
	return m.whyRefused(ctx, call, t, m.conn.Preflight(ctx, m.account, t, outcomes.OfTrial))
}

// whyRefused says what the refusal of a proof means, in a trial or in a block: a proof counts as wrong
// only if it answered the challenge that was asked and had gas enough (spec/ethereum.md §3). Other
// refusals stay what they are.
func (m *Market) whyRefused(ctx context.Context, call events.SlotCall, t rpc.Trial, refusal error) error {
	if !errors.Is(refusal, events.ErrInvalidProof) {
		return refusal
	}
	asked, err := m.challengeIn(ctx, call.Slot, t.Number, t.Time)
	if err != nil {
		return fmt.Errorf("the contract refused the proof, for an unknown reason: %w", err)
	}
	if call.Challenge != (events.Challenge{}) && call.Challenge != asked {
		return fmt.Errorf("%w: it answers %s, block %d asks for %s", ErrChallengeMoved, call.Challenge, t.Number, asked)
	}
	limit := t.Gas
	t.Gas = plentyGas
	again, err := m.conn.Try(ctx, m.account, []rpc.Trial{t}, outcomes.OfTrial)
	if err != nil {
		return fmt.Errorf("the contract refused the proof, for an unknown reason: %w", err)
	}
	if found := again[0]; found.Known && !errors.Is(found.Refusal, events.ErrInvalidProof) {
		return fmt.Errorf("%w: %d is too little for this proof", ErrGasLimit, limit)
	}
	return refusal
}

// challengeIn is the challenge of a slot in a block. It is computed with the contract's formula, so
// it does not depend on things in which nodes differ.
func (m *Market) challengeIn(ctx context.Context, slot events.SlotID, number, time uint64) (events.Challenge, error) {
	config, err := m.Config(ctx)
	if err != nil {
		return events.Challenge{}, err
	}
	period := duty.Period(config.Proofs, events.Unix(time))
	before, ok := duty.ChallengeBlock(number, duty.Pointer(config.Proofs, slot, number, period))
	if !ok {
		return events.Challenge{}, fmt.Errorf("block %d is too low for a challenge", number)
	}
	block, err := m.conn.ByNumber(ctx, before)
	if err != nil {
		return events.Challenge{}, fmt.Errorf("challenge of block %d: %w", number, err)
	}
	return duty.Challenge(events.Hash(block.Hash)), nil
}

// lastBlockFor is the last block in which a slot's challenge is still that of the block after head;
// after it the pointer wraps (spec/ethereum.md §2). Zero, for any block, when it is not known which
// challenge was answered.
func lastBlockFor(config events.ProofConfig, call events.SlotCall, head *rpc.Header, period uint64) uint64 {
	if call.Challenge == (events.Challenge{}) {
		return 0
	}
	next := uint64(head.Number) + 1
	return next + 255 - uint64(duty.Pointer(config, call.Slot, next, period))
}
