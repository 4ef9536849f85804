package prover

import (
	"math/big"

	"github.com/consensys/gnark/frontend"

	"github.com/hostnode/hostnode/prover/poseidon2"
)

// hasher writes the functions of package poseidon2 as constraints. A permutation takes 240: three
// for each of the 80 S-boxes; everything else is linear.
type hasher struct {
	api      frontend.API
	external [poseidon2.FullRounds][3]*big.Int
	internal [poseidon2.PartialRounds]*big.Int
	iv       *big.Int
}

func newHasher(api frontend.API) *hasher {
	h := &hasher{api: api}
	external, internal := poseidon2.Constants()
	for k := range h.external {
		for i, constant := range external[k] {
			h.external[k][i] = constant.BigInt(new(big.Int))
		}
	}
	for k, constant := range internal {
		h.internal[k] = constant.BigInt(new(big.Int))
	}
	// 2^64 + 256*t + rate with t = 3 and rate = 2.
	h.iv = new(big.Int).Lsh(big.NewInt(1), 64)
	h.iv.Add(h.iv, big.NewInt(256*3+2))
	return h
}

type hashState = [3]frontend.Variable

func (h *hasher) permute(s hashState) hashState {
	s = h.mixExternal(s)
	for k := range poseidon2.FullRounds / 2 {
		s = h.fullRound(s, k)
	}
	for _, constant := range h.internal {
		s[0] = h.sbox(h.api.Add(s[0], constant))
		sum := h.api.Add(s[0], s[1], s[2])
		s = hashState{
			h.api.Add(s[0], sum), h.api.Add(s[1], sum), h.api.Add(h.api.Mul(s[2], 2), sum),
		}
	}
	for k := poseidon2.FullRounds / 2; k < poseidon2.FullRounds; k++ {
		s = h.fullRound(s, k)
	}
	return s
}

func (h *hasher) fullRound(s hashState, k int) hashState {
	for i := range s {
		s[i] = h.sbox(h.api.Add(s[i], h.external[k][i]))
	}
	return h.mixExternal(s)
}

func (h *hasher) mixExternal(s hashState) hashState {
	sum := h.api.Add(s[0], s[1], s[2])
	return hashState{h.api.Add(s[0], sum), h.api.Add(s[1], sum), h.api.Add(s[2], sum)}
}

// sbox computes x^5 as x^3 * x^2. That takes the same three constraints as x^4 * x but keeps x^3
// out of the B side of the system, where a wire costs a point of G2: a third fewer points there,
// and a fifth less time for a proof.
func (h *hasher) sbox(x frontend.Variable) frontend.Variable {
	square := h.api.Mul(x, x)
	cube := h.api.Mul(x, square)
	return h.api.Mul(cube, square)
}

func (h *hasher) compress(left, right, key frontend.Variable) frontend.Variable {
	return h.permute(hashState{left, right, key})[0]
}

// newSponge is the state before anything is absorbed.
func (h *hasher) newSponge() hashState { return hashState{0, 0, h.iv} }

// absorb adds pairs to the sponge; elements must have even length.
func (h *hasher) absorb(s hashState, elements ...frontend.Variable) hashState {
	for i := 0; i+1 < len(elements); i += 2 {
		s[0] = h.api.Add(s[0], elements[i])
		s[1] = h.api.Add(s[1], elements[i+1])
		s = h.permute(s)
	}
	return s
}

// hashCell is the sponge over one cell with its padding element.
func (h *hasher) hashCell(elements []frontend.Variable) frontend.Variable {
	padded := append(append([]frontend.Variable(nil), elements...), 1)
	if len(padded)%2 == 1 {
		padded = append(padded, 0)
	}
	return h.absorb(h.newSponge(), padded...)[0]
}

// ordered puts a node and its sibling in the order of the tree: the node is on the right if bit is
// one.
func (h *hasher) ordered(node, sibling, bit frontend.Variable) (left, right frontend.Variable) {
	swap := h.api.Mul(h.api.Sub(sibling, node), bit)
	return h.api.Add(node, swap), h.api.Sub(sibling, swap)
}
