package contracts_test

import (
	"encoding/binary"
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/contracts/contractstest"
)

var packVerifier = bindings.NewGroth16Verifier()

func decimal(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil // The deployer's check refuses such a key.
	}
	return n
}

func g1(x, y string) bindings.G1Point {
	return bindings.G1Point{X: decimal(x), Y: decimal(y)}
}

func g2(xReal, xImag, yReal, yImag string) bindings.G2Point {
	return bindings.G2Point{
		X: bindings.Fp2Element{Real: decimal(xReal), Imag: decimal(xImag)},
		Y: bindings.Fp2Element{Real: decimal(yReal), Imag: decimal(yImag)},
	}
}

func fieldModulus() *big.Int {
	return decimal("21888242871839275222246405745257275088696311157297823662689037894645226208583")
}

func groupOrder() *big.Int {
	return decimal("21888242871839275222246405745257275088548364400416034343698204186575808495617")
}

// The golden vector was made with the public key of the Codex test network for
// developers.
func goldenInputs() []*big.Int {
	return []*big.Int{
		decimal("10941033813"),
		decimal("16074246370508166450132968585287196391860062495017081813239200574579640171677"),
		decimal("3"),
	}
}

func goldenProof() bindings.Groth16Proof {
	return bindings.Groth16Proof{
		A: g1("6534256117371673392078914918983405561950705741555607896616281548993166767050",
			"4683704071819826577549511087725295557628226569657977399743888281350488008160"),
		B: g2("5214601005301447749408976517903523691026761713935248596363525026084207179898",
			"12928862018496028019248584699701543976607635004280021323367162829172676142063",
			"6802359022534661924490571652741723715650845080843101596088257121470226373081",
			"13026065833109947056007317243769626467054545801812125911606045634450472294131"),
		C: g1("4064922718155280187684708354118623661512911161238889435233679092743470899962",
			"16109406845320108508342512724551388830826795687369147885401665396548555026064"),
	}
}

func goldenKey() bindings.VerifyingKey {
	return bindings.VerifyingKey{
		Alpha1: g1("20491192805390485299153009773594534940189261866228447918068658471970481763042",
			"9383485363053290200918347156157836566562967994039712273449902621266178545958"),
		Beta2: g2("6375614351688725206403948262868962793625744043794305715222011528459656738731",
			"4252822878758300859123897981450591353533073413197771768651442665752259397132",
			"10505242626370262277552901082094356697409835680220590971873171140371331206856",
			"21847035105528745403288232691147584728191162732299865338377159692350059136679"),
		Gamma2: g2("10857046999023057135944570762232829481370756359578518086990519993285655852781",
			"11559732032986387107991004021392285783925812861821192530917403151452391805634",
			"8495653923123431417604973247489272438418190587263600148770280649306958101930",
			"4082367875863433681332203403145435568316851327593401208105741076214120093531"),
		Delta2: g2("3431611495862121747865613070227194870328323956412989443038622984801922101560",
			"1839332345901382467668376261123176838724068493614256702976446713083234015641",
			"4267694917739299737209021244200092851467599237028086467255985366439671917679",
			"14005704598922119245150389324584568926199987543485693236347173598336567030859"),
		Ic: []bindings.G1Point{
			g1("11919420103024546168896650006162652130022732573970705849225139177428442519914",
				"17747753383929265689844293401689552935018333420134132157824903795680624926572"),
			g1("13158415194355348546090070151711085027834066488127676886518524272551654481129",
				"18831701962118195025265682681702066674741422770850028135520336928884612556978"),
			g1("20882269691461568155321689204947751047717828445545223718893788782534717197527",
				"11996193054822748526485644723594571195813487505803351159052936325857690315211"),
			g1("18155166643053044822201627105588517913195535693446564472247126736722594445000",
				"13816319482622393060406816684195314200198627617641073470088058848129378231754"),
		},
	}
}

func deployVerifier(t *testing.T, key bindings.VerifyingKey) common.Address {
	t.Helper()
	code, err := contracts.VerifierCreation(key)
	if err != nil {
		t.Fatalf("verifier creation: %v", err)
	}
	return shared.create(t, code)
}

func verify(
	t *testing.T, verifier common.Address, proof bindings.Groth16Proof, inputs []*big.Int,
) bool {
	t.Helper()
	output, err := shared.call(t, stranger, &verifier, packVerifier.PackVerify(proof, inputs))
	if err != nil {
		t.Fatalf("verify reverts with %q", revertName(t, err))
	}
	valid, err := packVerifier.UnpackVerify(output)
	if err != nil {
		t.Fatalf("unpack: %v", err)
	}
	return valid
}

func swapped(p bindings.G2Point) bindings.G2Point {
	return bindings.G2Point{
		X: bindings.Fp2Element{Real: p.X.Imag, Imag: p.X.Real},
		Y: bindings.Fp2Element{Real: p.Y.Imag, Imag: p.Y.Real},
	}
}

func TestGoldenProofIsVerified(t *testing.T) {
	verifier := deployVerifier(t, goldenKey())
	if !verify(t, verifier, goldenProof(), goldenInputs()) {
		t.Fatalf("the golden proof is refused")
	}
	receipt := shared.submit(t, stranger, &verifier,
		packVerifier.PackVerify(goldenProof(), goldenInputs()))
	t.Logf("a transaction that verifies costs %d gas", receipt.GasUsed)
}

func TestWhateverDoesNotHoldIsFalseAndNoRevert(t *testing.T) {
	verifier := deployVerifier(t, goldenKey())
	one := big.NewInt(1)
	for name, spoil := range map[string]func(*bindings.Groth16Proof, *[]*big.Int){
		"coordinates swapped": func(p *bindings.Groth16Proof, _ *[]*big.Int) { p.B = swapped(p.B) },
		"another input": func(_ *bindings.Groth16Proof, in *[]*big.Int) {
			(*in)[2] = big.NewInt(4)
		},
		"an input plus the group order": func(_ *bindings.Groth16Proof, in *[]*big.Int) {
			(*in)[0].Add((*in)[0], groupOrder())
		},
		"the group order as input": func(_ *bindings.Groth16Proof, in *[]*big.Int) {
			(*in)[0] = groupOrder()
		},
		"one input less": func(_ *bindings.Groth16Proof, in *[]*big.Int) { *in = (*in)[:2] },
		"one input more": func(_ *bindings.Groth16Proof, in *[]*big.Int) {
			*in = append(*in, new(big.Int))
		},
		"no inputs":          func(_ *bindings.Groth16Proof, in *[]*big.Int) { *in = nil },
		"zeros":              func(p *bindings.Groth16Proof, _ *[]*big.Int) { *p = badProof() },
		"a not on the curve": func(p *bindings.Groth16Proof, _ *[]*big.Int) { p.A.X.Add(p.A.X, one) },
		"b not on the curve": func(p *bindings.Groth16Proof, _ *[]*big.Int) {
			p.B.X.Real.Add(p.B.X.Real, one)
		},
		"c not on the curve": func(p *bindings.Groth16Proof, _ *[]*big.Int) { p.C.Y.Add(p.C.Y, one) },
		"a negated": func(p *bindings.Groth16Proof, _ *[]*big.Int) {
			p.A.Y.Sub(fieldModulus(), p.A.Y)
		},
		"c exchanged for a": func(p *bindings.Groth16Proof, _ *[]*big.Int) { p.C = p.A },
		"x above the modulus": func(p *bindings.Groth16Proof, _ *[]*big.Int) {
			p.A.X.Add(p.A.X, fieldModulus())
		},
		"y at the modulus": func(p *bindings.Groth16Proof, _ *[]*big.Int) { p.A.Y = fieldModulus() },
		"c.y above the modulus": func(p *bindings.Groth16Proof, _ *[]*big.Int) {
			p.C.Y.Add(p.C.Y, fieldModulus())
		},
	} {
		t.Run(name, func(t *testing.T) {
			proof, inputs := goldenProof(), goldenInputs()
			spoil(&proof, &inputs)
			if verify(t, verifier, proof, inputs) {
				t.Fatalf("accepted")
			}
		})
	}
}

// The reference computes the negation in checked arithmetic, and so does ours.
func TestNegationOfAnImpossibleCoordinatePanics(t *testing.T) {
	verifier := deployVerifier(t, goldenKey())
	proof := goldenProof()
	proof.A.Y.Add(fieldModulus(), big.NewInt(1))
	_, err := shared.call(t, stranger, &verifier, packVerifier.PackVerify(proof, goldenInputs()))
	if got := revertName(t, err); got != "Panic(0x11)" {
		t.Fatalf("reverts with %q", got)
	}
}

func TestKeyWithSwappedCoordinatesRefusesTheGoldenProof(t *testing.T) {
	for name, swap := range map[string]func(*bindings.VerifyingKey){
		"beta":  func(k *bindings.VerifyingKey) { k.Beta2 = swapped(k.Beta2) },
		"gamma": func(k *bindings.VerifyingKey) { k.Gamma2 = swapped(k.Gamma2) },
		"delta": func(k *bindings.VerifyingKey) { k.Delta2 = swapped(k.Delta2) },
		"a point off the curve": func(k *bindings.VerifyingKey) {
			k.Ic[1].X.Add(k.Ic[1].X, big.NewInt(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			key := goldenKey()
			swap(&key)
			if verify(t, deployVerifier(t, key), goldenProof(), goldenInputs()) {
				t.Fatalf("accepted")
			}
		})
	}
}

func TestDummyVerifierRefusesOnlyZeros(t *testing.T) {
	verifier := shared.create(t, common.FromHex(contractstest.DummyVerifierMetaData.Bin))
	if verify(t, verifier, badProof(), nil) {
		t.Fatalf("eight zeros are accepted")
	}
	for i := range 8 {
		proof := badProof()
		numbers := []*big.Int{
			proof.A.X, proof.A.Y, proof.B.X.Real, proof.B.X.Imag,
			proof.B.Y.Real, proof.B.Y.Imag, proof.C.X, proof.C.Y,
		}
		numbers[i].SetInt64(1)
		if !verify(t, verifier, proof, nil) {
			t.Fatalf("a proof whose number %d is 1 is refused", i)
		}
	}
}

var packProbe = contractstest.NewPublicInputsProbe()

func publicInputs(
	t rapid.TB, probe common.Address, challenge, root [32]byte, index uint64,
) []*big.Int {
	t.Helper()
	message := packProbe.PackInputs(challenge, root, index)
	output, err := shared.callAs(stranger, &probe, message)
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	inputs, err := packProbe.UnpackInputs(output)
	if err != nil {
		t.Fatalf("unpack: %v", err)
	}
	return inputs
}

func TestChallengeAndRootAreReadLittleEndian(t *testing.T) {
	probe := shared.create(t, common.FromHex(contractstest.PublicInputsProbeMetaData.Bin))
	var bytes [32]byte
	for i := range bytes {
		bytes[i] = byte(i + 1)
	}
	got := publicInputs(t, probe, bytes, bytes, 7)
	want := []string{
		"1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a090807060504030201",
		"201f1e1d1c1b1a191817161514131211100f0e0d0c0b0a090807060504030201",
		"7",
	}
	for i := range want {
		if text := got[i].Text(16); text != want[i] {
			t.Fatalf("input %d is %s, want %s", i, text, want[i])
		}
	}
}

func TestPublicInputsOfAnyBytes(t *testing.T) {
	probe := shared.create(t, common.FromHex(contractstest.PublicInputsProbeMetaData.Bin))
	littleEndian := func(b []byte) *big.Int {
		b = slices.Clone(b)
		slices.Reverse(b)
		return new(big.Int).SetBytes(b)
	}
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SliceOfN(rapid.Byte(), 32, 32)
		challenge := [32]byte(word.Draw(rt, "challenge"))
		root := [32]byte(word.Draw(rt, "root"))
		index := binary.BigEndian.Uint64(word.Draw(rt, "index"))
		got := publicInputs(rt, probe, challenge, root, index)
		want := []*big.Int{
			littleEndian(challenge[:31]), littleEndian(root[:]), new(big.Int).SetUint64(index),
		}
		if !slices.EqualFunc(got, want, func(a, b *big.Int) bool { return a.Cmp(b) == 0 }) {
			rt.Fatalf("inputs are %x, want %x", got, want)
		}
	})
}
