package node

import (
	"fmt"
	"os"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/signer"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
)

// openSigner begins to use the signer of the settings, once, and returns the account that it signs for.
// It does not wait for the signer. Errors: datadir.ErrOtherAccount.
func (p *Process) openSigner(owner events.Address) (events.Address, error) {
	c := p.config
	account := c.AccountAddress()
	if !owner.Zero() && owner != account {
		return account, fmt.Errorf("%w: %s is of %s, account.address is %s",
			datadir.ErrOtherAccount, p.Dir.Root, owner, account)
	}
	p.opening.Lock()
	defer p.opening.Unlock()
	if p.signer.Load() != nil {
		return account, nil
	}
	left := p.Dir.KeyFile()
	if _, err := os.Lstat(left); err == nil {
		p.log.Warnf("the key in %s is not used, because account.signer is set: if the signer has it, keep no copy "+
			"here", left)
	}
	p.signer.Store(signer.Open(signer.Config{
		Endpoint: c.Account.Signer, Account: account, Timeout: c.Account.SignTimeout, Log: p.log,
		Method: contracts.Signature,
		Troubled: func(t signer.Trouble) {
			facts := health.Facts{Account: account.String(), Chain: health.ChainFacts{Signer: t.String()}}
			tellCause(p.alerts, "not-signing", facts, p.log)
		},
	}))
	return account, nil
}

// Signing says why the account's signer signs nothing, or not everything; empty: it signs, or a key file
// does. It does not block.
func (p *Process) Signing() string {
	if s := p.signer.Load(); s != nil {
		if t, is := s.Trouble(); is {
			return t.String()
		}
	}
	return ""
}

// Facts are known while the host starts and while it stops; in between the host itself
// knows more.
func (p *Process) Facts() health.Facts {
	f := p.start.facts()
	f.Chain.Signer = p.Signing()
	return f
}
