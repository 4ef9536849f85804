package contracts_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/prover/commd"
)

// The proofs that a host makes are those that the contract takes: data in FR32 form, its tree on
// disk, CommD, CommR, the proof of the seal and that of a window.
func TestTheContractTakesTheProofsOfAHost(t *testing.T) {
	y := newYard(t)
	payload := bytes.Repeat([]byte("real bytes of a piece, "), 90)
	data, tree := sealed(t, payload[:2016])
	y.block = 20*periodBlocks + 40
	s := y.announces(alice, 3) // With the ticket of the present block; the data is another.
	s.said.CommD = [32]byte(tree.Root())
	s.said.CommR = [32]byte(commd.CommR(alice, s.number, s.ticket, tree.Root()))
	y.does(alice, sectorABI.PackPreCommit(s.said))
	y.block += seedDelay + 1

	prove := func(domain commd.Domain, seed bytes32, leaves int) []byte {
		proof, err := commd.Prove(tree, data, commd.Challenge{
			Domain: domain, Ticket: s.ticket, Seed: seed, Provider: alice, Number: s.number, Leaves: leaves,
		})
		if err != nil {
			t.Fatal(err)
		}
		return proof
	}
	seal := prove(commd.Seal, s.seed, sealLeaves)
	foreign := bytes.Clone(seal)
	foreign[40] ^= 1
	y.refused(alice, sectorABI.PackCommit(s.number, foreign), "Sectors_InvalidProof")
	y.refused(alice, sectorABI.PackCommit(s.number, prove(commd.Possession, s.seed, sealLeaves)), "Sectors_InvalidProof")
	y.does(alice, sectorABI.PackCommit(s.number, seal))
	y.wantStatus(s, contracts.SectorActive)

	for range 2 {
		period := y.toWindow(s)
		randomness := y.hash(s.opens(period) - 1)
		y.does(alice, sectorABI.PackProvePossession(s.number%deadlines, s.number/deadlines/inPartition,
			[]uint64{s.number}, [][]byte{prove(commd.Possession, randomness, windowLeaves)}))
		y.block++
	}
	y.wantLeft(s, deposit)
}

// sealed is a sector of 2 KiB with that payload, as a host stores it.
func sealed(t *testing.T, payload []byte) (*os.File, *commd.Tree) {
	t.Helper()
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	data, nodes := create("unsealed"), create("tree")
	w := commd.NewWriter(data)
	if _, err := w.Write(payload); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := data.Truncate(smallest); err != nil { // The rest are zeros.
		t.Fatal(err)
	}
	if _, err := commd.BuildTree(t.Context(), data, smallest, nodes, nil); err != nil {
		t.Fatal(err)
	}
	tree, err := commd.OpenTree(nodes, smallest)
	if err != nil {
		t.Fatal(err)
	}
	return data, tree
}
