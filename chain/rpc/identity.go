package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/events"
)

// Errors about the node at the other end.
var (
	// ErrUnavailable: the node does not answer now. It is temporary.
	ErrUnavailable = errors.New("ethereum node is not available")
	// ErrWrongChain: the node is on another chain than before, or than the configuration demands.
	ErrWrongChain = errors.New("ethereum node follows another chain")
	// ErrNoContract: the address has no code, or not that of the contract.
	ErrNoContract = errors.New("no such contract at the address")
)

// IdentityError says that an endpoint leads to the wrong chain or contract.
type IdentityError struct {
	Reason    error // ErrWrongChain or ErrNoContract
	Want, Got string
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("%v: want %s, got %s", e.Reason, e.Want, e.Got)
}

// Unwrap returns the reason.
func (e *IdentityError) Unwrap() error { return e.Reason }

// Hint says what an operator should check.
func (e *IdentityError) Hint() string {
	if errors.Is(e.Reason, ErrNoContract) {
		return "check the address of the contract, and that the node has caught up"
	}
	return "check the endpoint; the data directory belongs to the chain that it was made with"
}

// Identity is what must never change during the life of a host.
type Identity struct {
	ChainID uint64
	Genesis events.Hash
}

func (i Identity) String() string {
	return fmt.Sprintf("chain %d with genesis %s", i.ChainID, i.Genesis)
}

// readIdentity asks a node which chain it is on, and whether the contract is there.
func readIdentity(ctx context.Context, l *Session, contract common.Address) (id Identity, deployed bool, err error) {
	var number hexutil.Uint64
	genesis := blockAnswer{number: new(uint64)}
	var code hexutil.Bytes
	batch := []rpc.BatchElem{
		{Method: "eth_chainId", Result: &number},
		{Method: "eth_getBlockByNumber", Args: []any{"0x0", false}, Result: &genesis},
		{Method: "eth_getCode", Args: []any{contract, "latest"}, Result: &code},
	}
	if err := l.batch(ctx, batch); err != nil {
		return Identity{}, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for _, e := range batch {
		if e.Error != nil {
			return Identity{}, false, fmt.Errorf("%w: %s: %w", ErrUnavailable, e.Method, e.Error)
		}
	}
	if err := genesis.impossible(); err != nil {
		return Identity{}, false, fmt.Errorf("%w: asked for its genesis block, %w", ErrUnavailable, err)
	}
	if genesis.Header == nil {
		return Identity{}, false, fmt.Errorf("%w: it does not have its genesis block", ErrUnavailable)
	}
	return Identity{ChainID: uint64(number), Genesis: events.Hash(genesis.Hash)}, len(code) > 0, nil
}

// verify checks a node's identity. It needs Conn's lock.
func (c *Conn) verify(ctx context.Context, l *Session) error {
	found, deployed, err := readIdentity(ctx, l, c.contract)
	if err != nil {
		return err
	}
	return c.compare(found, deployed)
}

// compare checks an identity against what is demanded, and against what was found before. It needs
// Conn's lock.
func (c *Conn) compare(found Identity, deployed bool) error {
	want := c.cfg.Want
	want.ChainID = cmp.Or(want.ChainID, found.ChainID)
	want.Genesis = cmp.Or(want.Genesis, found.Genesis)
	if c.identity != nil {
		want = *c.identity
	}
	switch {
	case want != found:
		return &IdentityError{Reason: ErrWrongChain, Want: want.String(), Got: found.String()}
	case !deployed && c.identity != nil:
		// It is the same chain, and the contract was there before: this node lags.
		return fmt.Errorf("%w: it has not reached the block of the contract at %s", ErrUnavailable, c.contract.Hex())
	case !deployed:
		return &IdentityError{Reason: ErrNoContract, Want: "code at " + c.contract.Hex(), Got: "none"}
	}
	c.identity = &found
	return nil
}
