package contracts_test

import (
	"errors"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

func TestPlannedDeploymentArrivesWhereItWasPlanned(t *testing.T) {
	shared.grow(t)
	config := contracts.DefaultConfig("key")
	from := shared.address(deployer)
	plan, err := contracts.PlanDeployment(from, shared.nonces[deployer], goldenKey(), config)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	names := []string{}
	for _, step := range plan.Steps() {
		names = append(names, step.Contract)
		if step.Deployer != from || step.Nonce != shared.nonces[deployer] {
			t.Fatalf("%s: from %v with nonce %d", step.Contract, step.Deployer, step.Nonce)
		}
		if got := shared.create(t, step.Data); got != step.Address {
			t.Fatalf("%s is at %v, planned at %v", step.Contract, got, step.Address)
		}
	}
	if diff := cmp.Diff([]string{"TestToken", "Groth16Verifier", "Marketplace"}, names); diff != "" {
		t.Fatalf("order differs (-want +got):\n%s", diff)
	}
	m := &market{shared, t, plan.Token.Address, plan.Marketplace.Address}
	if got := view(m, pack.PackToken(), pack.UnpackToken); got != plan.Token.Address {
		t.Fatalf("marketplace pays in %v", got)
	}
	got := view(m, pack.PackConfiguration(), pack.UnpackConfiguration)
	if diff := cmp.Diff(config, got); diff != "" {
		t.Fatalf("configuration differs (-want +got):\n%s", diff)
	}
	if !verify(t, plan.Verifier.Address, goldenProof(), goldenInputs()) {
		t.Fatalf("the verifier refuses the golden proof")
	}
	d := m.ask()
	d.fund(host, collateral)
	d.reserve(host, 0)
	// The proof holds, but for something else.
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
			_, err := contracts.PlanDeployment(
				shared.address(deployer), 0, key, contracts.DefaultConfig(""))
			if !errors.Is(err, contracts.ErrInvalidKey) {
				t.Fatalf("error is %v", err)
			}
		})
	}
}
