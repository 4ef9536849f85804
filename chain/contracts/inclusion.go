package contracts

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// InclusionVerifierCreation returns the data of the transaction that creates the verifier of proofs that a piece is in
// an aggregate. It can be deployed in any block.
func InclusionVerifierCreation() []byte {
	return common.FromHex(bindings.InclusionVerifierMetaData.Bin)
}

// Client is a connection to a chain, such as an ethclient.Client.
type Client interface {
	bind.ContractBackend
	bind.DeployBackend
}

// DeployInclusionVerifier has the verifier created by an account that owns wei, and waits until it is on the chain.
func DeployInclusionVerifier(ctx context.Context, client Client, from *bind.TransactOpts) (common.Address, error) {
	opts := *from
	opts.Context = ctx
	_, tx, err := bind.DeployContract(&opts, InclusionVerifierCreation(), client, nil)
	if err != nil {
		return common.Address{}, fmt.Errorf("deploy the verifier of inclusion: %w", err)
	}
	at, err := bind.WaitDeployed(ctx, client, tx.Hash())
	if err != nil {
		return at, fmt.Errorf("wait for the verifier of inclusion: %w", err)
	}
	return at, nil
}

// InclusionCall is the data of a call that asks a verifier whether a proof shows that a piece is in an aggregate.
func InclusionCall(proof segment.Proof, piece segment.Piece, aggregate commd.Node, size uint64) []byte {
	path := func(p segment.Path) bindings.InclusionVerifierPath {
		nodes := make([][32]byte, len(p.Nodes))
		for i, n := range p.Nodes {
			nodes[i] = n
		}
		return bindings.InclusionVerifierPath{Index: p.Index, Nodes: nodes}
	}
	return bindings.NewInclusionVerifier().PackVerify(
		piece.Root, piece.Size, path(proof.Subtree), path(proof.Entry), aggregate, size)
}

// VerifyInclusion asks a verifier on the chain what segment.Proof.Verify tells without one. It returns
// segment.ErrProof when the verifier refuses the proof.
func VerifyInclusion(
	ctx context.Context, client Client, verifier common.Address,
	proof segment.Proof, piece segment.Piece, aggregate commd.Node, size uint64,
) error {
	contract := bindings.NewInclusionVerifier()
	included, err := bind.Call(contract.Instance(client, verifier), &bind.CallOpts{Context: ctx},
		InclusionCall(proof, piece, aggregate, size), contract.UnpackVerify)
	if err != nil {
		return fmt.Errorf("ask the verifier of inclusion at %s: %w", verifier, err)
	}
	if !included {
		return fmt.Errorf("the verifier at %s, about %s in %s: %w", verifier,
			commd.CID(piece.Root), commd.CID(aggregate), segment.ErrProof)
	}
	return nil
}
