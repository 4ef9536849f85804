package prover

import (
	"errors"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/std/math/bits"
	"github.com/consensys/gnark/test"

	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// assigned is the circuit with the honest values for an input.
func assigned(t testing.TB, p Params, in Input) *circuit {
	t.Helper()
	samples, err := gather(t.Context(), p, in)
	if err != nil {
		t.Fatal(err)
	}
	return assign(p, in, samples)
}

func solve(p Params, values *circuit) error {
	return test.IsSolved(newCircuit(p), values, ecc.BN254.ScalarField())
}

func TestHonestSlotsOfEveryShapeSatisfyTheCircuit(t *testing.T) {
	for name, s := range map[string]shape{
		"single slot, single block":              {1, 0, 1},
		"single slot, all blocks":                {1, 0, 8},
		"two slots":                              {2, 1, 2},
		"three slots, the last without sibling":  {3, 2, 1},
		"five slots, alone on two levels":        {5, 4, 3},
		"five slots, in the middle":              {5, 2, 5},
		"six slots, alone above the first level": {6, 5, 4},
		"seven slots":                            {7, 6, 7},
		"all slots":                              {8, 7, 2},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(t, s, challengeNumber(uint64(s.slots*100+s.blocks)))
			if err := solve(smallParams(), assigned(t, smallParams(), in)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestEntriesBeyondTheTreesDoNotMatter(t *testing.T) {
	in := newInput(t, shape{1, 0, 1}, challengeNumber(7))
	values := assigned(t, smallParams(), in)
	for i := 1; i < len(values.SlotProof); i++ {
		values.SlotProof[i] = 99
	}
	for i := merkle.BlockTreeDepth + 1; i < len(values.MerklePaths[0]); i++ {
		values.MerklePaths[0][i] = 99
	}
	if err := solve(smallParams(), values); err != nil {
		t.Fatal(err)
	}
}

func TestFalseStatementsDoNotSatisfyTheCircuit(t *testing.T) {
	slot := shape{5, 2, 5}
	for name, tc := range map[string]struct {
		shape  shape
		change func(*circuit)
	}{
		"another cell":                {slot, func(c *circuit) { c.CellData[0][3] = 1 }},
		"another marker":              {slot, func(c *circuit) { c.CellData[0][66] = 1 }},
		"path wrong in the block":     {slot, func(c *circuit) { c.MerklePaths[0][1] = 1 }},
		"path wrong in the slot":      {slot, func(c *circuit) { c.MerklePaths[0][6] = 1 }},
		"slot path wrong":             {slot, func(c *circuit) { c.SlotProof[1] = 1 }},
		"wrong slot index":            {slot, func(c *circuit) { c.SlotIndex = 3 }},
		"slot index too large":        {slot, func(c *circuit) { c.SlotIndex = 8 }},
		"slot index without bits":     {slot, func(c *circuit) { c.SlotIndex = -1 }},
		"other entropy":               {slot, func(c *circuit) { c.Entropy = 8 }},
		"other dataset root":          {slot, func(c *circuit) { c.DataSetRoot = 8 }},
		"other slot root":             {slot, func(c *circuit) { c.SlotRoot = 8 }},
		"fewer slots":                 {slot, func(c *circuit) { c.NSlotsPerDataSet = 4 }},
		"no slots":                    {slot, func(c *circuit) { c.NSlotsPerDataSet = 0 }},
		"too many slots":              {slot, func(c *circuit) { c.NSlotsPerDataSet = 9 }},
		"half the cells":              {slot, func(c *circuit) { c.NCellsPerSlot = 128 }},
		"twice the cells":             {shape{5, 2, 4}, func(c *circuit) { c.NCellsPerSlot = 256 }},
		"more cells than fit":         {slot, func(c *circuit) { c.NCellsPerSlot = 512 }},
		"cells no power of two":       {slot, func(c *circuit) { c.NCellsPerSlot = 96 }},
		"no cells":                    {slot, func(c *circuit) { c.NCellsPerSlot = 0 }},
		"single slot, other root":     {shape{1, 0, 1}, func(c *circuit) { c.DataSetRoot = 8 }},
		"single slot, other index":    {shape{1, 0, 1}, func(c *circuit) { c.SlotIndex = 1 }},
		"single block, other cell":    {shape{1, 0, 1}, func(c *circuit) { c.CellData[0][3] = 1 }},
		"single block, other path":    {shape{1, 0, 1}, func(c *circuit) { c.MerklePaths[0][5] = 1 }},
		"all slots, other root":       {shape{8, 7, 8}, func(c *circuit) { c.DataSetRoot = 8 }},
		"all blocks, other cell":      {shape{8, 7, 8}, func(c *circuit) { c.CellData[0][3] = 1 }},
		"single block with two":       {shape{1, 0, 1}, func(c *circuit) { c.NCellsPerSlot = 64 }},
		"two blocks as one":           {shape{1, 0, 2}, func(c *circuit) { c.NCellsPerSlot = 32 }},
		"a single block cut in half":  {shape{1, 0, 1}, func(c *circuit) { c.NCellsPerSlot = 16 }},
		"single slot as one of two":   {shape{1, 0, 1}, func(c *circuit) { c.NSlotsPerDataSet = 2 }},
		"a slot index past the last":  {shape{3, 0, 1}, func(c *circuit) { c.SlotIndex = 4 }},
		"an only child with a sister": {shape{3, 2, 1}, func(c *circuit) { c.NSlotsPerDataSet = 4 }},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(t, tc.shape, challengeNumber(7))
			values := assigned(t, smallParams(), in)
			if err := solve(smallParams(), values); err != nil {
				t.Fatalf("honest values: %v", err)
			}
			tc.change(values)
			if err := solve(smallParams(), values); err == nil {
				t.Fatal("the circuit is satisfied")
			}
		})
	}
}

// TestHashHasOneDecomposition lets a cheating prover use the bits of digest + order instead of
// those of the digest, which would give it a choice between two cells.
func TestHashHasOneDecomposition(t *testing.T) {
	const decomposedBits = 254 // Those of a canonical field element.
	p := smallParams()
	in := newInput(t, shape{1, 0, 8}, challengeNumber(0))
	room := new(big.Int).Lsh(big.NewInt(1), decomposedBits)
	room.Sub(room, fr.Modulus()) // Smaller digests have a second decomposition.
	digest := new(big.Int)
	for n := uint64(1); ; n++ {
		in.Challenge = challengeNumber(n)
		e := poseidon2.HashElements(Entropy(in.Challenge), in.SlotRoot, fr.NewElement(1))
		if e.BigInt(digest); digest.Cmp(room) < 0 {
			break
		}
	}
	shifted := new(big.Int).Add(digest, fr.Modulus())
	cells := uint64(8 * merkle.CellsPerBlock)
	forged, err := gatherOne(t.Context(), in, shifted.Uint64()&(cells-1), make([]byte, merkle.BlockSize))
	if err != nil {
		t.Fatal(err)
	}
	values := assign(p, in, []sample{forged})
	cheat := func(field *big.Int, inputs, outputs []*big.Int) error {
		value := new(big.Int).Set(inputs[0])
		if len(outputs) == decomposedBits {
			value.Add(value, field)
		}
		for i := range outputs {
			outputs[i].SetUint64(uint64(value.Bit(i)))
		}
		return nil
	}
	system := mustKeys(t).keys[0].system
	override := solver.OverrideHint(nBitsHint(t), cheat)
	if err := system.IsSolved(mustWitness(t, values), override); err == nil {
		t.Fatal("a second decomposition of the hash is accepted")
	}
	// The same cheat succeeds where the order is not compared, so it is the comparison that
	// prevents it.
	loose, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &looseBits{})
	if err != nil {
		t.Fatal(err)
	}
	witness, err := frontend.NewWitness(&looseBits{Value: digest}, ecc.BN254.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	if err := loose.IsSolved(witness, override); err != nil {
		t.Fatalf("the cheat does not work at all: %v", err)
	}
}

// looseBits decomposes without comparing with the order of the field.
type looseBits struct {
	Value frontend.Variable
}

func (c *looseBits) Define(api frontend.API) error {
	bits.ToBinary(api, c.Value, bits.OmitModulusCheck())
	return nil
}

func nBitsHint(t *testing.T) solver.HintID {
	t.Helper()
	for _, hint := range bits.GetHints() {
		if solver.GetHintName(hint) == "github.com/consensys/gnark/std/math/bits.nBits" {
			return solver.GetHintID(hint)
		}
	}
	t.Fatal("the library has no hint named nBits")
	return 0
}

func TestNetworkCircuitHasTheExpectedSize(t *testing.T) {
	sizes := map[int]int{}
	for _, samples := range []int{1, 5} {
		p := NetworkParams()
		p.Samples = samples
		system, err := compile(p)
		if err != nil {
			t.Fatal(err)
		}
		sizes[samples] = system.GetNbConstraints()
		if samples == 5 {
			checkNetworkSlot(t, p, system)
		}
	}
	// 2,277 for the fixed part and 16,701 for each sample.
	if sizes[1] != 18_978 || sizes[5] != 85_782 {
		t.Fatalf("constraints by samples: %v, want 18978 and 85782", sizes)
	}
}

// checkNetworkSlot solves the compiled network circuit for the reference's slot of
// 512 cells.
func checkNetworkSlot(t *testing.T, p Params, system constraint.ConstraintSystem) {
	t.Helper()
	in := newInput(t, shape{11, 10, 16}, challengeNumber(1234567))
	want := "2890404758151050274312606730350692187558493981946059404326311209060864654379"
	if in.SlotRoot != decimal(t, want) {
		t.Fatalf("slot root %s, want %s", in.SlotRoot.String(), want)
	}
	values := assigned(t, p, in)
	if err := system.IsSolved(mustWitness(t, values)); err != nil {
		t.Fatal(err)
	}
	values.MerklePaths[4][0] = 1
	if err := system.IsSolved(mustWitness(t, values)); err == nil {
		t.Fatal("a wrong path in the last sample is accepted")
	}
}

// committing has a commitment, as range checks by lookup would.
type committing struct {
	A, B, C frontend.Variable `gnark:",public"`
	D       frontend.Variable
}

func (c *committing) Define(api frontend.API) error {
	committer, ok := api.(frontend.Committer)
	if !ok {
		return errors.New("no commitments here")
	}
	commitment, err := committer.Commit(c.D)
	if err != nil {
		return err
	}
	api.AssertIsDifferent(commitment, 0)
	api.AssertIsEqual(api.Mul(c.A, c.B), api.Mul(c.C, c.D))
	return nil
}

func TestCircuitsWithCommitmentsAreRefused(t *testing.T) {
	system, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &committing{})
	if err != nil {
		t.Fatal(err)
	}
	if err := refuseCommitments(system); !errors.Is(err, ErrCommitments) {
		t.Fatalf("error %v, want ErrCommitments", err)
	}
}

func TestCircuitsWithOtherPublicInputsAreRefused(t *testing.T) {
	system, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &looseBits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := refuseCommitments(system); !errors.Is(err, ErrCommitments) {
		t.Fatalf("error %v, want ErrCommitments", err)
	}
}

func TestParamsOutsideTheirLimitsAreRefused(t *testing.T) {
	if err := NetworkParams().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Params){
		"depth of a block only":  func(p *Params) { p.MaxDepth = 5 },
		"too deep":               func(p *Params) { p.MaxDepth = 33 },
		"no slots":               func(p *Params) { p.MaxLog2NSlots = 0 },
		"too many slots":         func(p *Params) { p.MaxLog2NSlots = 9 },
		"other blocks":           func(p *Params) { p.BlockTreeDepth = 4 },
		"other cells":            func(p *Params) { p.FieldElementsPerCell = 66 },
		"no samples":             func(p *Params) { p.Samples = 0 },
		"more samples than ever": func(p *Params) { p.Samples = MaxSamples + 1 },
	} {
		p := NetworkParams()
		change(&p)
		if _, err := compile(p); !errors.Is(err, ErrParams) {
			t.Fatalf("%s: error %v, want ErrParams", name, err)
		}
	}
}
