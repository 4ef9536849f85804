package node

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// This file is what a member of a host does at its start beside a process that is the whole host.

// recordFacts names the form of the record that all members must understand.
const recordFacts = "1"

// who finds out which account this process works for, and has its key; nil: a signer
// has it, or this process needs none.
func (p *Process) who(ctx context.Context) (events.Address, *ecdsa.PrivateKey, error) {
	c := p.config
	owner, err := p.owner(ctx)
	if err != nil {
		return owner, nil, err
	}
	if p.begin.Dry || c.Clustered() && !c.Account.Transactions {
		return c.AccountAddress(), nil, nil
	}
	account, key, err := p.keyOf(owner)
	if err != nil || key == nil {
		return account, nil, err
	}
	if named := c.AccountAddress(); !named.Zero() && named != account {
		return account, nil, fmt.Errorf("%w: account.address is %s, and the key in %s is that of %s",
			config.ErrInvalid, named, KeyFile(c), account)
	}
	return account, key, nil
}

// keyOf is the account of a data directory that belongs to owner, zero: to nobody yet, and its key; nil: a signer
// has it.
func (p *Process) keyOf(owner events.Address) (events.Address, *ecdsa.PrivateKey, error) {
	if p.config.Account.Signer != "" {
		account, err := p.openSigner(owner)
		return account, nil, err
	}
	key, err := AccountKey(p.config, p.Dir.Layout, owner, p.config.Embedded(), p.log)
	if err != nil {
		return owner, nil, err
	}
	return keys.AddressOf(key), key, nil
}

// join joins the other members. It comes before the event store is opened, because the library that
// speaks to them changes the logging of the one that both speak through.
func (p *Process) join(ctx context.Context, account events.Address) error {
	c := p.config
	if err := p.Dir.OwnMember(c.Member()); err != nil {
		return err
	}
	id, genesis, err := p.whichChain(ctx, c, p.start.waits)
	if err != nil {
		return err
	}
	provingKeys, err := p.loadKeys(ctx)
	if err != nil {
		return err
	}
	cc := c.Cluster
	p.start.does("joining the other members")
	p.cluster, err = cluster.Open(ctx, cluster.Config{
		Name: cc.Name, Host: account, Member: c.Member(), Version: p.begin.Version, MayOwn: c.Account.Transactions,
		Facts: map[string]string{
			"chain": strconv.FormatUint(id, 10), "genesis": genesis.String(),
			"contract": strings.ToLower(c.Chain.Contract), "proving keys": provingKeys.Hash(), "record": recordFacts,
		},
		Listen: cc.Listen, Advertise: cc.Advertise,
		TLS:     cluster.Files{CA: cc.TLS.CAFile, Cert: cc.TLS.CertFile, Key: cc.TLS.KeyFile},
		Etcd:    etcdEndpoints(cc.Etcd.Endpoints),
		EtcdTLS: cluster.Files{CA: cc.Etcd.CAFile, Cert: cc.Etcd.CertFile, Key: cc.Etcd.KeyFile},
		Lease:   cc.Lease,
	}, p.log)
	p.start.does("")
	return err
}

// etcdEndpoints are end points as the adapter wants them: those of plain http without the scheme.
func etcdEndpoints(urls []string) (out []string) {
	for _, u := range urls {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(u, "http://"), "/"))
	}
	return out
}

// memberMayBegin is notElsewhere for a member: only an earlier process of the same member, or one
// that was the whole host, can stand in its way.
func (p *Process) memberMayBegin(ctx context.Context, account events.Address) error {
	known, err := Processes(ctx, p.Store.Store, account, nil)
	if err != nil {
		return fmt.Errorf("look whether the member runs elsewhere: %w", err)
	}
	return membership.MayStart(known, membership.Starting{
		Member: p.config.Member(), Cluster: p.config.Cluster.Name, Node: nodeName(), UsedDirectory: p.used,
	}, time.Now())
}

// Processes folds what a host's stream says of its processes, up to a point; nil: all of it. A stream that does
// not exist says nothing.
func Processes(
	ctx context.Context, store events.Store, host events.Address, until projections.Until,
) (s membership.State, _ error) {
	codec := catalog.Codec()
	for r, err := range store.ReadStream(ctx, events.HostStream(host), events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) || err == nil && until != nil && !until(r) {
			break
		}
		var e messages.HostEvent
		if err == nil {
			e, err = shell.DecodeAs[messages.HostEvent](codec, r)
		}
		if err != nil {
			return s, err
		}
		s = membership.Evolve(s, e)
	}
	return s, nil
}

// ownAccount is the port.Account of a member that has the account's key, or a signer.
type ownAccount struct {
	market *chain.Market
	store  events.Store
	outbox string
}

// Own implements port.Account.
func (a ownAccount) Own(ctx context.Context) error { return a.market.Own(ctx, a.store, a.outbox) }

// Disown implements port.Account.
func (a ownAccount) Disown() error { return a.market.Disown() }

// Lost implements port.Account.
func (a ownAccount) Lost() <-chan struct{} { return a.market.Failed() }

// SubmitProof implements port.Account.
func (a ownAccount) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	return a.market.SubmitProofAnyway(ctx, a.outbox, call, period, proof)
}

// TakenProofs implements port.Account.
func (a ownAccount) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	return a.market.TakenProofsAnyway(ctx, a.outbox, slot, from)
}

// Left tells why this process can be no member of its host any more; nil: it is the whole host.
func (p *Process) Left() <-chan error {
	if p.cluster == nil {
		return nil
	}
	return p.cluster.Failed()
}

// SendingFailed is closed when no transaction is sent any more, so that the process must end. A member
// of a host leaves them to the others instead: nil.
func (p *Process) SendingFailed() <-chan struct{} {
	if p.cluster != nil {
		return nil
	}
	return p.Market.Failed()
}
