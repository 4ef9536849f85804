package contracts

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// FirstDeploymentBlock is the first block in which the marketplace can be deployed. Before it there
// are too few block hashes to make challenges from.
const FirstDeploymentBlock = 257

// PublicInputs is the number of public inputs of a storage proof: entropy, dataset root and slot
// index. A verifying key has one point more.
const PublicInputs = 3

var (
	// ErrInvalidKey says that a verifying key cannot belong to a storage proof.
	ErrInvalidKey = errors.New("invalid verifying key")
	// ErrInvalidConfig says that the marketplace's constructor would refuse a
	// configuration.
	ErrInvalidConfig = errors.New("invalid marketplace configuration")
)

// TokenCreation returns the data of the transaction that creates the test token.
func TokenCreation() []byte {
	return common.FromHex(bindings.TestTokenMetaData.Bin)
}

// VerifierCreation returns the data of the transaction that creates a verifier for
// key, or ErrInvalidKey. It does not check that points lie on their curves; with
// such a key the verifier refuses every proof.
func VerifierCreation(key bindings.VerifyingKey) ([]byte, error) {
	if len(key.Ic) != PublicInputs+1 {
		return nil, fmt.Errorf("%w: %d points for the inputs, want %d",
			ErrInvalidKey, len(key.Ic), PublicInputs+1)
	}
	for _, x := range coordinates(key) {
		if x == nil || x.Sign() < 0 || x.BitLen() > 256 {
			return nil, fmt.Errorf("%w: coordinate %v is no 256-bit number", ErrInvalidKey, x)
		}
	}
	return creation(&bindings.Groth16VerifierMetaData, key)
}

// MarketplaceCreation returns the data of the transaction that creates a
// marketplace which pays in token and asks verifier, or ErrInvalidConfig.
func MarketplaceCreation(
	config bindings.MarketplaceConfig,
	token, verifier common.Address,
) ([]byte, error) {
	if err := CheckConfig(config); err != nil {
		return nil, err
	}
	return creation(&bindings.MarketplaceMetaData, config, token, verifier)
}

// CheckConfig returns ErrInvalidConfig with the reason when the marketplace's
// constructor would refuse the configuration.
func CheckConfig(config bindings.MarketplaceConfig) error {
	c := config.Collateral
	slashed := int(c.MaxNumberOfSlashes) * int(c.SlashPercentage)
	switch {
	case config.Proofs.Period == 0:
		return fmt.Errorf("%w: a period of 0 seconds", ErrInvalidConfig)
	case c.RepairRewardPercentage > 100:
		return fmt.Errorf("%w: repair reward of %d %%", ErrInvalidConfig, c.RepairRewardPercentage)
	case c.SlashPercentage > 100:
		return fmt.Errorf("%w: slash of %d %%", ErrInvalidConfig, c.SlashPercentage)
	case slashed > 100:
		return fmt.Errorf("%w: %d slashes of %d %% are more than all",
			ErrInvalidConfig, c.MaxNumberOfSlashes, c.SlashPercentage)
	}
	return nil
}

func creation(of *bind.MetaData, args ...any) ([]byte, error) {
	parsed, err := of.ParseABI()
	if err != nil {
		return nil, fmt.Errorf("parse abi: %w", err)
	}
	packed, err := parsed.Pack("", args...)
	if err != nil {
		return nil, fmt.Errorf("pack constructor arguments: %w", err)
	}
	return append(common.FromHex(of.Bin), packed...), nil
}

func coordinates(key bindings.VerifyingKey) []*big.Int {
	all := []*big.Int{key.Alpha1.X, key.Alpha1.Y}
	for _, p := range []bindings.G2Point{key.Beta2, key.Gamma2, key.Delta2} {
		all = append(all, p.X.Real, p.X.Imag, p.Y.Real, p.Y.Imag)
	}
	for _, p := range key.Ic {
		all = append(all, p.X, p.Y)
	}
	return all
}
