package events

import (
	"errors"
	"fmt"
	"math/bits"
)

// ErrUnsoundRequest means that the contract accepted the request, but no host
// should: it can never be filled, or its numbers make no sense.
var ErrUnsoundRequest = errors.New("request is unsound")

// MaxSlots is how many slots a dataset can have in the deployed circuits (2^8).
const MaxSlots = 256

// fieldOrder is the order of the BN254 scalar field, little-endian.
var fieldOrder = [32]byte{
	0x01, 0x00, 0x00, 0xf0, 0x93, 0xf5, 0xe1, 0x43, 0x91, 0x70, 0xb9, 0x79, 0x48, 0xe8, 0x33, 0x28,
	0x5d, 0x58, 0x81, 0x81, 0xb6, 0x45, 0x50, 0xb8, 0x29, 0xa0, 0x31, 0xe1, 0x72, 0x4e, 0x64, 0x30,
}

// Canonical reports whether the root is below the field order. The contract
// accepts requests whose root is not; no slot of them can ever be filled
// (spec/ethereum.md §2).
func (r Root) Canonical() bool {
	for i := 31; i >= 0; i-- {
		if r[i] != fieldOrder[i] {
			return r[i] < fieldOrder[i]
		}
	}
	return false
}

// CheckRequest reports whether a host can serve a request at all, whatever it
// offers. Nothing of a request that fails is stored. The error wraps
// ErrUnsoundRequest and says which number is wrong.
func CheckRequest(r Request) error {
	a := r.Ask
	_, priceFits := a.PricePerSecond()
	_, collateralFits := a.CollateralPerSlot()
	blocks := uint64(a.SlotSize / BlockSize)
	switch {
	case a.Slots < 1 || a.Slots > MaxSlots:
		return unsound("%d slots, want 1 to %d", a.Slots, MaxSlots)
	case a.SlotSize%BlockSize != 0 || bits.OnesCount64(blocks) != 1:
		return unsound("slot size of %d bytes, want a power of two times %d", a.SlotSize, BlockSize)
	case a.MaxSlotLoss > a.Slots:
		return unsound("loss of %d slots allowed of %d", a.MaxSlotLoss, a.Slots)
	case a.Duration <= 0 || r.Expiry <= 0 || r.Expiry >= a.Duration:
		return unsound("duration %s, expiry %s", a.Duration, r.Expiry)
	case a.PricePerBytePerSecond.IsZero():
		return unsound("price of zero")
	case a.CollateralPerByte.IsZero():
		return unsound("collateral of zero")
	case a.ProofProbability.IsZero():
		return unsound("proof probability of zero")
	case !priceFits || !collateralFits:
		return unsound("price or collateral of a slot exceeds 256 bits")
	case r.Content.CID == "":
		return unsound("no content id")
	case len(r.Content.CID) > MaxCIDBytes:
		return unsound("content id of %d bytes, the limit is %d", len(r.Content.CID), MaxCIDBytes)
	case !r.Content.MerkleRoot.Canonical():
		return unsound("dataset root %s is not below the field order", r.Content.MerkleRoot)
	}
	return nil
}

// MaxCIDBytes is the most bytes of a content id; those of hostnode have 38.
const MaxCIDBytes = 128

func unsound(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsoundRequest, fmt.Sprintf(format, args...))
}
