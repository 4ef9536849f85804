package account

import (
	"context"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// Config says whose tokens a contract takes. Everything is set unless its comment says otherwise.
type Config struct {
	Conn              *rpc.Conn
	Account, Contract common.Address
	Token             func() common.Address
	// Renew is what is approved at a time, or more if more is promised. Zero: exactly what each message takes, at the
	// price of an approval for each, and one message at a time.
	Renew events.Amount
	Gas   uint64 // of an approval
}

// Allowance is what a contract may take of the account's tokens. It is safe for concurrent use.
type Allowance struct {
	Config
	abi *bindings.TestToken

	lock    chan struct{} // one approval at a time; its holder may use covered
	covered uint64        // the newest promise for which there is enough

	mu       sync.Mutex
	promised events.Amount
	promises uint64 // how many there were
}

// New is the allowance of a contract.
func New(cfg Config) *Allowance {
	return &Allowance{Config: cfg, abi: bindings.NewTestToken(), lock: make(chan struct{}, 1)}
}

// Plenty is an allowance that lasts for ever: 2^96-1 base units.
func Plenty() events.Amount {
	most := new(big.Int).Lsh(common.Big1, 96)
	return events.Must(events.AmountFromBig(most.Sub(most, common.Big1)))
}

// Taking is what a message will take of the account's tokens.
type Taking struct {
	Amount events.Amount
	As     string        // what it is, for people: collateral, deposit
	Keep   events.Amount // must be left in the account for others
	// Deadline and Correlation are those of an approval; see tx.Call.
	Deadline    time.Time
	Correlation string
	// Shown, if set, refuses a block at which the tokens were read.
	Shown func(context.Context, events.Head) error
}

// Promise is a taking from before it is read what there is until the message is mined or given up. All
// methods may be called of nil, which takes nothing. It is for one goroutine.
type Promise struct {
	Taking
	of       *Allowance
	need     events.Amount // what must be allowed
	number   uint64
	exact    bool // need is that of this one alone, and the allowance this one's
	hasTurn  bool // until Release
	balance  *big.Int
	allowing *big.Int
}

// Promise notes what a message will take, until Release; nil: nothing. Only afterwards is read what there is. So of two
// messages the second counts the first, or its block: together they never use more than is allowed.
func (a *Allowance) Promise(t Taking) *Promise {
	if t.Amount.IsZero() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.promised = a.promised.AddSaturating(t.Amount)
	a.promises++
	p := &Promise{Taking: t, of: a, need: a.promised, number: a.promises}
	if p.exact = a.Renew.IsZero(); p.exact {
		p.need = t.Amount
	}
	return p
}

// Release takes the promise back.
func (p *Promise) Release() {
	if p == nil {
		return
	}
	p.of.mu.Lock()
	p.of.promised = p.of.promised.SubFloor(p.Amount)
	p.of.mu.Unlock()
	if p.hasTurn {
		<-p.of.lock
	}
}

// Views read what there is.
func (p *Promise) Views() []*rpc.View {
	if p == nil {
		return nil
	}
	a, none := p.of, contracts.Outcomes{} // Neither is ever refused.
	return []*rpc.View{
		rpc.NewView(a.Token(), a.abi.PackBalanceOf(a.Account), none.Of, a.abi.UnpackBalanceOf, &p.balance),
		rpc.NewView(a.Token(), a.abi.PackAllowance(a.Account, a.Contract), none.Of, a.abi.UnpackAllowance, &p.allowing),
	}
}

// Suffices says, when Views were read, that nothing has to be approved.
func (p *Promise) Suffices() bool {
	return p == nil || !p.exact && p.balance != nil && p.lacks() == nil && p.allowing.Cmp(p.need.Big()) >= 0
}

// lacks is ErrInsufficientFunds when the account has not what is taken, beside what must be left.
func (p *Promise) lacks() error {
	if p.balance.Cmp(p.Amount.AddSaturating(p.Keep).Big()) >= 0 {
		return nil
	}
	return fmt.Errorf("%w: the %s is %s, the account holds %s, and %s of that must be left for others",
		events.ErrInsufficientFunds, p.As, p.Amount, p.balance, p.Keep)
}

// read reads what there is at the newest block.
func (p *Promise) read(ctx context.Context) error {
	head, err := p.of.Conn.ReadNewest(ctx, p.of.Account, rpc.Reads(p.Views()...))
	if err == nil && p.Shown != nil {
		err = p.Shown(ctx, head.Head())
	}
	if err != nil {
		return err
	}
	return p.lacks()
}

// Secure makes sure that the account has what is taken and that the contract can take it, beside all else that is
// promised. Only those wait here for which there is not enough, and for them a trial may be old afterwards; what one of
// them finds out, or has approved, is for all that were promised before. An exact allowance is this one's until
// Release.
func (p *Promise) Secure(ctx context.Context, with *tx.Manager) (waited bool, err error) {
	if p != nil && p.balance == nil && !p.exact {
		err = p.read(ctx)
	}
	if err != nil || p.Suffices() {
		return false, err
	}
	a := p.of
	select {
	case a.lock <- struct{}{}: // So that two do not ask for the same allowance.
	case <-ctx.Done():
		return true, ctx.Err()
	}
	if p.exact {
		p.hasTurn = true
		return true, p.approve(ctx, with)
	}
	defer func() { <-a.lock }()
	if p.number <= a.covered {
		return true, nil
	}
	a.mu.Lock()
	all := &Promise{Taking: p.Taking, of: a, need: a.promised, number: a.promises}
	a.mu.Unlock()
	return true, all.approve(ctx, with)
}

// approve lets the contract take what is needed, unless it may already.
func (p *Promise) approve(ctx context.Context, with *tx.Manager) error {
	a := p.of
	key := "approve:" + events.Address(a.Contract).String()
	if err := with.Idle(ctx, key); err != nil {
		return err
	}
	if err := p.read(ctx); err != nil {
		return err
	}
	if p.allowing.Cmp(p.need.Big()) < 0 {
		amount := a.Renew
		if amount.Less(p.need) {
			amount = p.need
		}
		_, err := with.Again(ctx, tx.Call{
			Key: key, To: a.Token(), Data: a.abi.PackApprove(a.Contract, amount.Big()),
			Gas: a.Gas, Deadline: p.Deadline, Correlation: p.Correlation,
		})
		if err != nil {
			return fmt.Errorf("approve %s tokens: %w", amount, err)
		}
	}
	if p.balance.Cmp(p.need.Big()) >= 0 {
		a.covered = p.number
	}
	return nil
}
