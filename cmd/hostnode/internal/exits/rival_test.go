package exits

import (
	"context"
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
)

// rival is another host, which does what the test says and has no rules of its own.
type rival struct {
	w    *world
	name string
}

func (w *world) rival(name string) rival {
	w.t.Helper()
	w.give(name, 100_000_000)
	return w.brute(name)
}

// brute is an account that has money already.
func (w *world) brute(name string) rival {
	w.t.Helper()
	approve := bindings.NewTestToken().PackApprove(common.Address(w.at.Marketplace), events.MaxAmount().Big())
	if r := w.mined(name, w.at.Token, approve); r.Status == 0 {
		w.t.Fatalf("the token refused an approval of %s", name)
	}
	return rival{w, name}
}

func (r rival) reserves(c events.SlotCall) {
	r.w.t.Helper()
	r.w.succeeded(r.name, r.w.market.PackReserveSlot(c.Request, c.Index))
}

// fills fills a slot that it holds a reservation for.
func (r rival) fills(c events.SlotCall) {
	r.w.t.Helper()
	r.w.succeeded(r.name, r.w.market.PackFillSlot(c.Request, c.Index, anyProof()))
}

func (r rival) takes(c events.SlotCall) {
	r.w.t.Helper()
	r.reserves(c)
	r.fills(c)
}

// frees collects what it is owed, or gives its slot up.
func (r rival) frees(c events.SlotCall) {
	r.w.t.Helper()
	r.w.succeeded(r.name, r.w.market.PackFreeSlot(c.Slot))
}

// anyProof is one that the verifier of the tests takes.
func anyProof() bindings.Groth16Proof {
	n := func() *big.Int { return big.NewInt(1) }
	pair := func() bindings.Fp2Element { return bindings.Fp2Element{Real: n(), Imag: n()} }
	return bindings.Groth16Proof{
		A: bindings.G1Point{X: n(), Y: n()}, B: bindings.G2Point{X: pair(), Y: pair()},
		C: bindings.G1Point{X: n(), Y: n()},
	}
}

// withdraws collects what is left of the client's money.
func (w *world) withdraws(r events.Request) {
	w.t.Helper()
	w.drive(func(ctx context.Context) error { return w.client.WithdrawFunds(ctx, r.ID) })
}
