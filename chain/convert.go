package chain

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
)

const selectorBytes = 4

// abis are the contracts' bindings; they never change.
type abis struct {
	market *bindings.Marketplace
	token  *bindings.TestToken
}

func newABIs() abis { return abis{bindings.NewMarketplace(), bindings.NewTestToken()} }

// requestFrom converts the result of getRequest.
func requestFrom(id events.RequestID, r bindings.Request) (events.Request, error) {
	amounts := make([]events.Amount, 3)
	for i, b := range []*big.Int{
		r.Ask.ProofProbability, r.Ask.PricePerBytePerSecond, r.Ask.CollateralPerByte,
	} {
		a, err := events.AmountFromBig(b)
		if err != nil {
			return events.Request{}, fmt.Errorf("request %s: %w", id, err)
		}
		amounts[i] = a
	}
	return events.Request{
		ID:     id,
		Client: events.Address(r.Client),
		Ask: events.Ask{
			ProofProbability:      amounts[0],
			PricePerBytePerSecond: amounts[1],
			CollateralPerByte:     amounts[2],
			Slots:                 r.Ask.Slots,
			SlotSize:              events.Bytes(r.Ask.SlotSize),
			Duration:              events.Seconds(r.Ask.Duration),
			MaxSlotLoss:           r.Ask.MaxSlotLoss,
		},
		Content: events.Content{
			CID:        string(r.Content.Cid),
			MerkleRoot: events.Root(r.Content.MerkleRoot),
		},
		Expiry: events.Seconds(r.Expiry),
		Nonce:  r.Nonce,
	}, nil
}

// requestTo is the inverse of requestFrom.
func requestTo(r events.Request) bindings.Request {
	return bindings.Request{
		Client: common.Address(r.Client),
		Ask: bindings.Ask{
			ProofProbability:      r.Ask.ProofProbability.Big(),
			PricePerBytePerSecond: r.Ask.PricePerBytePerSecond.Big(),
			CollateralPerByte:     r.Ask.CollateralPerByte.Big(),
			Slots:                 r.Ask.Slots,
			SlotSize:              uint64(r.Ask.SlotSize),
			Duration:              uint64(r.Ask.Duration.Seconds()),
			MaxSlotLoss:           r.Ask.MaxSlotLoss,
		},
		Content: bindings.Content{
			Cid:        []byte(r.Content.CID),
			MerkleRoot: r.Content.MerkleRoot,
		},
		Expiry: uint64(r.Expiry.Seconds()),
		Nonce:  r.Nonce,
	}
}

func configFrom(c bindings.MarketplaceConfig) events.MarketConfig {
	return events.MarketConfig{
		RepairRewardPercentage:    c.Collateral.RepairRewardPercentage,
		MaxNumberOfSlashes:        c.Collateral.MaxNumberOfSlashes,
		SlashPercentage:           c.Collateral.SlashPercentage,
		ValidatorRewardPercentage: c.Collateral.ValidatorRewardPercentage,
		Proofs: events.ProofConfig{
			Period:          events.Seconds(c.Proofs.Period),
			Timeout:         events.Seconds(c.Proofs.Timeout),
			Downtime:        c.Proofs.Downtime,
			DowntimeProduct: c.Proofs.DowntimeProduct,
			KeyHash:         c.Proofs.ZkeyHash,
		},
		MaxReservations:      c.Reservations.MaxReservations,
		RequestDurationLimit: events.Seconds(c.RequestDurationLimit),
	}
}

func proofTo(p events.Proof) bindings.Groth16Proof {
	word := func(i int) *big.Int { return new(big.Int).SetBytes(p[i][:]) }
	return bindings.Groth16Proof{
		A: bindings.G1Point{X: word(0), Y: word(1)},
		B: bindings.G2Point{
			X: bindings.Fp2Element{Real: word(2), Imag: word(3)},
			Y: bindings.Fp2Element{Real: word(4), Imag: word(5)},
		},
		C: bindings.G1Point{X: word(6), Y: word(7)},
	}
}

// requestID is the id that the contract gives a request (spec/marketplace.md §1.3).
func requestID(a abis, r bindings.Request) events.RequestID {
	return events.RequestID(crypto.Keccak256Hash(a.market.PackRequestStorage(r)[selectorBytes:]))
}
