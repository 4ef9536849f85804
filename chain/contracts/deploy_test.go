package contracts_test

import (
	"errors"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

func TestWhatIsDeployedIsWhatTheConfigurationSays(t *testing.T) {
	shared.grow(t)
	config := defaultConfig("key")
	code, err := contracts.VerifierCreation(goldenKey())
	if err != nil {
		t.Fatalf("verifier: %v", err)
	}
	token, verifier := shared.create(t, contracts.TokenCreation()), shared.create(t, code)
	if code, err = contracts.MarketplaceCreation(config, token, verifier); err != nil {
		t.Fatalf("marketplace: %v", err)
	}
	m := &market{shared, t, token, shared.create(t, code)}
	if got := view(m, pack.PackToken(), pack.UnpackToken); got != token {
		t.Fatalf("marketplace pays in %v", got)
	}
	got := view(m, pack.PackConfiguration(), pack.UnpackConfiguration)
	if diff := cmp.Diff(config, got); diff != "" {
		t.Fatalf("configuration differs (-want +got):\n%s", diff)
	}
	if !verify(t, verifier, goldenProof(), goldenInputs()) {
		t.Fatalf("the verifier refuses the golden proof")
	}
	d := m.ask()
	d.fund(host, collateral)
	d.reserve(host, 0)
	// The proof is valid, but for another statement.
	d.refuses(host, pack.PackFillSlot(d.id, 0, goldenProof()), "Proofs_InvalidProof")
}

func TestKeysThatCannotBelongToAStorageProofAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*bindings.VerifyingKey){
		"a point less":       func(k *bindings.VerifyingKey) { k.Ic = k.Ic[:3] },
		"a point more":       func(k *bindings.VerifyingKey) { k.Ic = append(k.Ic, k.Ic[0]) },
		"nothing":            func(k *bindings.VerifyingKey) { *k = bindings.VerifyingKey{} },
		"a missing number":   func(k *bindings.VerifyingKey) { k.Delta2.Y.Imag = nil },
		"a negative number":  func(k *bindings.VerifyingKey) { k.Alpha1.X = big.NewInt(-1) },
		"a number too large": func(k *bindings.VerifyingKey) { k.Ic[3].Y.Lsh(big.NewInt(1), 256) },
	} {
		t.Run(name, func(t *testing.T) {
			key := goldenKey()
			spoil(&key)
			_, err := contracts.VerifierCreation(key)
			if !errors.Is(err, contracts.ErrInvalidKey) {
				t.Fatalf("error is %v", err)
			}
		})
	}
}

// defaultConfig is the configuration of the public Codex networks: periods of 120 s, 30 s after a
// period to mark its missing proofs, three reservations per slot, and two misses of 20 % each until
// a slot is lost. zkeyHash is the hash of the proving key, for hosts to compare; it may be empty.
func defaultConfig(zkeyHash string) bindings.MarketplaceConfig {
	return bindings.MarketplaceConfig{
		Collateral: bindings.CollateralConfig{
			RepairRewardPercentage:    10,
			MaxNumberOfSlashes:        2,
			SlashPercentage:           20,
			ValidatorRewardPercentage: 20,
		},
		Proofs: bindings.ProofConfig{
			Period:          120,
			Timeout:         30,
			Downtime:        64,
			DowntimeProduct: 67,
			ZkeyHash:        zkeyHash,
		},
		Reservations:         bindings.SlotReservationsConfig{MaxReservations: 3},
		RequestDurationLimit: 30 * 24 * 60 * 60,
	}
}
