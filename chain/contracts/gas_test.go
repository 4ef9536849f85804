package contracts_test

import (
	"math/big"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark/backend/groth16"
	groth16bn254 "github.com/consensys/gnark/backend/groth16/bn254"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/node"

	adapter "github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/account"
	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// statement has the public inputs of a storage proof but means nothing for storage: the prover
// knows the product of the first two plus the third.
type statement struct {
	Entropy frontend.Variable `gnark:",public"`
	Root    frontend.Variable `gnark:",public"`
	Index   frontend.Variable `gnark:",public"`
	Secret  frontend.Variable
}

func (s *statement) Define(api frontend.API) error {
	api.AssertIsEqual(s.Secret, api.Add(api.Mul(s.Entropy, s.Root), s.Index))
	return nil
}

// prover makes real proofs, so that the real verifier can be measured.
type prover struct {
	system constraint.ConstraintSystem
	key    groth16.ProvingKey
	public *groth16bn254.VerifyingKey
}

func newProver(t *testing.T) *prover {
	t.Helper()
	system, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &statement{})
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	key, public, err := groth16.Setup(system)
	if err != nil {
		t.Fatalf("set up: %v", err)
	}
	return &prover{system, key, public.(*groth16bn254.VerifyingKey)}
}

func pointG1(p bn254.G1Affine) bindings.G1Point {
	return bindings.G1Point{X: p.X.BigInt(new(big.Int)), Y: p.Y.BigInt(new(big.Int))}
}

func pointG2(p bn254.G2Affine) bindings.G2Point {
	return bindings.G2Point{
		X: bindings.Fp2Element{Real: p.X.A0.BigInt(new(big.Int)), Imag: p.X.A1.BigInt(new(big.Int))},
		Y: bindings.Fp2Element{Real: p.Y.A0.BigInt(new(big.Int)), Imag: p.Y.A1.BigInt(new(big.Int))},
	}
}

func (p *prover) verifyingKey() bindings.VerifyingKey {
	key := bindings.VerifyingKey{
		Alpha1: pointG1(p.public.G1.Alpha), Beta2: pointG2(p.public.G2.Beta),
		Gamma2: pointG2(p.public.G2.Gamma), Delta2: pointG2(p.public.G2.Delta),
	}
	for _, point := range p.public.G1.K {
		key.Ic = append(key.Ic, pointG1(point))
	}
	return key
}

// prove answers the current challenge. The pointer must not wrap before the proof is mined.
func (p *prover) prove(d *deal, index uint64) bindings.Groth16Proof {
	d.t.Helper()
	for d.pointer(index) > 250 {
		d.mine(d.t, 1)
	}
	data := pack.PackGetChallenge(d.slot(index))
	challenge := view(d.market, data, pack.UnpackGetChallenge)
	little := func(b []byte) *big.Int {
		b = slices.Clone(b)
		slices.Reverse(b)
		return new(big.Int).SetBytes(b)
	}
	entropy, root := little(challenge[:31]), little(d.request.Content.MerkleRoot[:])
	secret := new(big.Int).Mul(entropy, root)
	secret.Add(secret, new(big.Int).SetUint64(index))
	assignment := &statement{entropy, root, index, secret}
	witness, err := frontend.NewWitness(assignment, ecc.BN254.ScalarField())
	if err != nil {
		d.t.Fatalf("witness: %v", err)
	}
	made, err := groth16.Prove(p.system, p.key, witness)
	if err != nil {
		d.t.Fatalf("prove: %v", err)
	}
	proof := made.(*groth16bn254.Proof)
	return bindings.Groth16Proof{A: pointG1(proof.Ar), B: pointG2(proof.Bs), C: pointG1(proof.Krs)}
}

// bill is the least and the most gas that each kind of call used.
type bill map[string][2]uint64

func (b bill) add(name string, receipt *types.Receipt) {
	spent, found := b[name]
	if !found {
		spent[0] = receipt.GasUsed
	}
	b[name] = [2]uint64{min(spent[0], receipt.GasUsed), max(spent[1], receipt.GasUsed)}
}

func (b bill) deploy(t *testing.T, c *chain, name string, code []byte) common.Address {
	t.Helper()
	receipt := c.submit(t, deployer, nil, code)
	if receipt.Status != types.ReceiptStatusSuccessful {
		t.Fatalf("%s cannot be deployed", name)
	}
	b.add("deploy "+name, receipt)
	return receipt.ContractAddress
}

// ceilings are the most gas that calls may use. A host's limits follow from them.
func ceilings() map[string]uint64 {
	of := adapter.MeasuredGas()
	return map[string]uint64{
		"deploy TestToken": 700_000, "deploy Groth16Verifier": 1_200_000,
		"deploy Marketplace": 4_300_000, "requestStorage": 412_000, "reserveSlot": of.Reserve,
		"fillSlot": of.Fill, "submitProof": of.Proof, "markProofAsMissing": of.Mark,
		"freeSlot finished": of.Free, "freeSlot cancelled": of.Free, "freeSlot filled": of.Free,
		"withdrawFunds": 100_000, "approve": of.Approve,
	}
}

// A host's limits must be above the gas that its calls used by the margin: too little gas looks
// like a wrong proof.
func checkLimits(t *testing.T, b bill) {
	t.Helper()
	limits := adapter.DefaultGas()
	for name, limit := range map[string]uint64{
		"reserveSlot": limits.Reserve, "fillSlot": limits.Fill, "submitProof": limits.Proof,
		"freeSlot finished": limits.Free, "freeSlot cancelled": limits.Free, "approve": limits.Approve,
		"markProofAsMissing": limits.Mark,
	} {
		if spent := b[name]; spent[1] == 0 || limit < spent[1]*(100+account.GasMargin)/100 {
			t.Fatalf("the limit for %s is %d, it took %d", name, limit, spent[1])
		}
	}
}

func TestRealProofsAreAcceptedAndGasStaysBelowTheCeilings(t *testing.T) {
	p := newProver(t)
	for fork, rules := range map[string]func(*node.Config, *ethconfig.Config){"prague": atPrague, "osaka": atOsaka} {
		t.Run(fork, func(t *testing.T) {
			c, err := newChain(rules)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.backend.Close() }()
			checkLimits(t, measure(t, c, p))
		})
	}
}

// measure makes every kind of call, with real proofs.
func measure(t *testing.T, c *chain, p *prover) bill {
	t.Helper()
	c.grow(t)
	b := bill{}
	verifierCode, err := contracts.VerifierCreation(p.verifyingKey())
	if err != nil {
		t.Fatalf("verifier creation: %v", err)
	}
	token := b.deploy(t, c, "TestToken", contracts.TokenCreation())
	verifier := b.deploy(t, c, "Groth16Verifier", verifierCode)
	config := testConfig()
	config.Proofs.ZkeyHash = "65dfa139e1c6dae5f50102cca2a856b759723c6ec6029343c2c6e926b855a6ca"
	code, err := contracts.MarketplaceCreation(config, token, verifier)
	if err != nil {
		t.Fatalf("marketplace creation: %v", err)
	}
	m := &market{c, t, token, b.deploy(t, c, "Marketplace", code)}

	most := new(big.Int).Sub(new(big.Int).Lsh(common.Big1, 96), common.Big1)
	b.add("approve", c.submit(t, stranger, &m.token, packToken.PackApprove(m.address, most)))
	finished, cancelled := b.request(m), b.request(m)
	for index := range uint64(slots) {
		b.fill(finished, p, host, index)
	}
	b.fill(cancelled, p, otherHost, 0)
	for range 2 { // The second one frees the slot.
		b.add("markProofAsMissing", m.send(validator, finished.packMark(1, finished.miss(1))))
	}
	m.goTo(t, nextPeriod(m.now(t)))
	for range 2 {
		proof := p.prove(finished, 0)
		b.add("submitProof", m.send(host, pack.PackSubmitProof(finished.slot(0), proof)))
		m.goTo(t, nextPeriod(m.now(t)))
	}
	early := b.request(m)
	b.fill(early, p, thirdHost, 0)
	b.add("freeSlot filled", m.send(thirdHost, pack.PackFreeSlot(early.slot(0))))

	m.goTo(t, early.expiresAt+1)
	b.add("freeSlot cancelled", m.send(otherHost, pack.PackFreeSlot(cancelled.slot(0))))
	b.add("withdrawFunds", m.send(client, pack.PackWithdrawFunds(cancelled.id)))
	m.goTo(t, finished.endsAt+1)
	b.add("freeSlot finished", m.send(host, pack.PackFreeSlot(finished.slot(0))))
	b.add("freeSlot finished", m.send(host, pack.PackFreeSlot(finished.slot(2))))
	b.add("withdrawFunds", m.send(client, pack.PackWithdrawFunds(finished.id)))

	for name, ceiling := range ceilings() {
		spent := b[name]
		t.Logf("%-22s %9d - %9d", name, spent[0], spent[1])
		if spent[0] == 0 || spent[1] > ceiling {
			t.Fatalf("%s took %d gas, ceiling %d", name, spent[1], ceiling)
		}
	}
	return b
}

func (b bill) request(m *market) *deal {
	m.t.Helper()
	request := newRequest()
	request.Content.Cid = make([]byte, 36) // As long as real ones.
	m.fund(client, price)
	b.add("requestStorage", m.send(client, pack.PackRequestStorage(request)))
	now := m.now(m.t)
	return &deal{
		market: m, request: request, id: requestID(request), createdAt: now,
		endsAt: now + request.Ask.Duration, expiresAt: now + request.Expiry,
	}
}

func (b bill) fill(d *deal, p *prover, account int, index uint64) {
	d.t.Helper()
	d.fund(account, collateral)
	// The host is the last of three, for which the reservation uses most gas.
	for _, other := range []int{fourthHost, stranger, account} {
		b.add("reserveSlot", d.send(other, pack.PackReserveSlot(d.id, index)))
	}
	proof := p.prove(d, index)
	b.add("fillSlot", d.send(account, pack.PackFillSlot(d.id, index, proof)))
}
