package demo

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
)

// contractLog is what the contract of sectors has logged about the host since the demonstration began. Only
// the chain knows what is proven.
type contractLog struct {
	client   *ethclient.Client
	contract common.Address
	account  events.Address
	say      func(format string, args ...any) // takes what is news, in sentences
	rules    bindings.SectorConfig

	next     uint64 // the first block that is not read
	firstDay uint64 // the proving period in which the demonstration began
	messages int    // with proofs of possession
	reward   *big.Int
	paid     *big.Int // of what the contract owed
	sectors  map[uint64]*onContract
}

// onContract is what the contract has logged about a sector.
type onContract struct {
	messages map[string]int // that it took, by their kind
	// The days on which it was proven, of which a window closed without a proof, from which a fault is declared, and
	// on which it recovered.
	proven, missed, declared, recovered []uint64
	fees                                *big.Int
}

func openContractLog(
	ctx context.Context, local *localchain.Chain, of events.Address, say func(format string, args ...any),
) (*contractLog, error) {
	c := &contractLog{
		client: ethclient.NewClient(local.Attach()), contract: common.Address(local.SectorProvider), account: of,
		say: say, next: local.Head().Number + 1, reward: new(big.Int), paid: new(big.Int),
		sectors: map[uint64]*onContract{},
	}
	abi := bindings.NewSectorProvider()
	var err error
	if c.rules, err = ask(ctx, c, abi.PackConfiguration(), abi.UnpackConfiguration); err != nil {
		return nil, fmt.Errorf("read the contract of sectors: %w", err)
	}
	c.firstDay = local.Head().Number / c.rules.Proving.PeriodBlocks
	return c, nil
}

func ask[A any](ctx context.Context, c *contractLog, data []byte, unpack func([]byte) (A, error)) (A, error) {
	answer, err := c.client.CallContract(ctx, ethereum.CallMsg{To: &c.contract, Data: data}, nil)
	if err != nil {
		return *new(A), err
	}
	return unpack(answer)
}

// owed is what the contract owes the host's account.
func (c *contractLog) owed(ctx context.Context) (events.Amount, error) {
	abi := bindings.NewSectorProvider()
	owed, err := ask(ctx, c, abi.PackOwed(common.Address(c.account)), abi.UnpackOwed)
	if err != nil {
		return events.Amount{}, fmt.Errorf("ask the contract of sectors what it owes: %w", err)
	}
	return events.AmountFromBig(owed)
}

// dayOf is the day of a block, counted from 1 with the day on which the demonstration began.
func (c *contractLog) dayOf(block uint64) uint64 { return c.day(block / c.rules.Proving.PeriodBlocks) }

func (c *contractLog) day(period uint64) uint64 { return period + 1 - c.firstDay }

func (c *contractLog) of(number uint64) *onContract {
	s := c.sectors[number]
	if s == nil {
		s = &onContract{fees: new(big.Int), messages: map[string]int{
			"precommit": 0, "commit": 0, "fault": 0, "recovery": 0, "termination": 0,
		}}
		c.sectors[number] = s
	}
	return s
}

// read reads what the contract logged up to a block.
func (c *contractLog) read(ctx context.Context, head uint64) error {
	if head < c.next {
		return nil
	}
	logs, err := c.client.FilterLogs(ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(c.next), ToBlock: new(big.Int).SetUint64(head),
		Addresses: []common.Address{c.contract},
	})
	if err != nil {
		return fmt.Errorf("read the logs of the contract of sectors: %w", err)
	}
	c.next = head + 1
	for i := range logs {
		e, err := contracts.UnpackSectorEvent(&logs[i])
		if err != nil {
			return fmt.Errorf("read the logs of the contract of sectors: %w", err)
		}
		c.count(e)
	}
	return nil
}

// count counts one event, and says what it means.
func (c *contractLog) count(e contracts.SectorEvent) {
	switch e := e.(type) {
	case *bindings.SectorProviderPreCommitted:
		c.of(e.Number).messages["precommit"]++
	case *bindings.SectorProviderCommitted:
		c.of(e.Number).messages["commit"]++
		c.say("the seal of sector %d is verified; its first proof is due on day %d",
			e.Number, c.day(e.FirstPeriod))
	case *bindings.SectorProviderProven:
		c.messages++
		c.reward.Add(c.reward, e.Reward)
		for _, n := range e.Numbers {
			s := c.of(n)
			s.proven = append(s.proven, c.day(e.Period))
		}
		c.say("day %d: possession of %s is proven, in one message, %d leaves each",
			c.day(e.Period), numbered("sector", e.Numbers), c.rules.Proving.Leaves)
	case *bindings.SectorProviderMissed:
		s := c.of(e.Number)
		for i := range e.Periods {
			s.missed = append(s.missed, c.day(e.Period+i))
		}
		s.fees.Add(s.fees, e.Fee)
		c.say("sector %d was not proven on day %d; a fee of %s is taken from its deposit",
			e.Number, c.day(e.Period), money.Base(e.Fee.String()))
	case *bindings.SectorProviderFaultDeclared:
		s := c.of(e.Number)
		s.messages["fault"]++
		s.declared = append(s.declared, c.day(e.FromPeriod))
		c.say("the fault of sector %d is declared; it owes no proof from day %d",
			e.Number, c.day(e.FromPeriod))
	case *bindings.SectorProviderRecoveryDeclared:
		c.of(e.Number).messages["recovery"]++
		c.say("sector %d is to recover with its proof of day %d", e.Number, c.day(e.Period))
	case *bindings.SectorProviderRecovered:
		s := c.of(e.Number)
		s.recovered = append(s.recovered, c.day(e.Period))
		c.say("sector %d has recovered on day %d", e.Number, c.day(e.Period))
	case *bindings.SectorProviderWithdrawn:
		if e.Account == common.Address(c.account) {
			c.paid.Add(c.paid, e.Amount)
			c.say("the host has withdrawn %s", money.Base(e.Amount.String()))
		}
	case *bindings.SectorProviderTerminated:
		s := c.of(e.Number)
		s.messages["termination"]++
		s.fees.Add(s.fees, e.Fee)
		c.say("sector %d is terminated: %s are lost, %s are returned",
			e.Number, money.Base(e.Fee.String()), money.Base(e.Returned.String()))
	}
}

// numbered is "day 1", "days 1, 2 and 3", or "none".
func numbered(noun string, numbers []uint64) string {
	switch len(numbers) {
	case 0:
		return "none"
	case 1:
		return fmt.Sprintf("%s %d", noun, numbers[0])
	}
	most, last := numbers[:len(numbers)-1], numbers[len(numbers)-1]
	return fmt.Sprintf("%ss %s and %d", noun, strings.ReplaceAll(strings.Trim(fmt.Sprint(most), "[]"), " ", ", "), last)
}
