package contracts_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm/runtime"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient/simulated"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// inclusion is all that a verifier is asked.
type inclusion struct {
	proof segment.Proof
	piece segment.Piece
	root  commd.Node
	size  uint64
}

// clone shares no nodes with the original.
func (c inclusion) clone() inclusion {
	c.proof.Subtree.Nodes = slices.Clone(c.proof.Subtree.Nodes)
	c.proof.Entry.Nodes = slices.Clone(c.proof.Entry.Nodes)
	return c
}

// holds asks the package and the contract, which must agree.
func (c inclusion) holds(t rapid.TB, verifier common.Address) bool {
	t.Helper()
	here := c.proof.Verify(c.piece, c.root, c.size)
	there := contracts.VerifyInclusion(context.Background(), shared.backend.Client(), verifier,
		c.proof, c.piece, c.root, c.size)
	switch {
	case here == nil && there == nil:
		return true
	case here == nil || !errors.Is(there, segment.ErrProof):
		t.Fatalf("in Go: %v; on chain: %v", here, there)
	}
	return false
}

// some is a node, for each number another one.
func some(number uint64) commd.Node {
	return masked(sha256.Sum256(binary.BigEndian.AppendUint64(nil, number)))
}

// proofIn is for a piece of an aggregate with so many pieces of that size.
func proofIn(t rapid.TB, size uint64, pieces, each uint64, i int) inclusion {
	t.Helper()
	var list []segment.Piece
	for number := range pieces {
		list = append(list, segment.Piece{Root: some(number), Size: each})
	}
	return proofOf(t, size, segment.Order(list), i)
}

func proofOf(t rapid.TB, size uint64, pieces []segment.Piece, i int) inclusion {
	t.Helper()
	a, err := segment.Build(size, pieces)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := a.Proof(i)
	if err != nil {
		t.Fatal(err)
	}
	return inclusion{proof, pieces[i], a.Root(), size}
}

func deployInclusionVerifier(t *testing.T) common.Address {
	t.Helper()
	return shared.create(t, contracts.InclusionVerifierCreation())
}

func TestProofsOfInclusionAreVerifiedOnChain(t *testing.T) {
	verifier := deployInclusionVerifier(t)
	rapid.Check(t, func(rt *rapid.T) {
		size := uint64(1) << rapid.IntRange(9, 36).Draw(rt, "size")
		left := segment.Room(size)
		var pieces []segment.Piece
		for number := range rapid.Uint64Range(1, min(segment.Entries(size), 40)).Draw(rt, "pieces") {
			each := uint64(1) << rapid.IntRange(7, commd.Depth(size)+4).Draw(rt, "piece")
			if each <= left {
				pieces = append(pieces, segment.Piece{Root: some(number), Size: each})
				left -= each
			}
		}
		pieces = segment.Order(pieces)
		c := proofOf(rt, size, pieces, rapid.IntRange(0, len(pieces)-1).Draw(rt, "which"))
		if !c.holds(rt, verifier) {
			rt.Fatal("refused")
		}
		names := rapid.SliceOfN(rapid.SampledFrom(breakNames()), 1, 2).Draw(rt, "breaks")
		broken := c.clone()
		for _, name := range names {
			breaks[name](&broken, rapid.Uint().Draw(rt, name))
		}
		if broken.holds(rt, verifier) && len(names) == 1 {
			rt.Fatalf("taken with %s", names)
		}
	})
}

func TestEachBrokenProofOfInclusionIsRefusedOnChain(t *testing.T) {
	verifier := deployInclusionVerifier(t)
	for name, spoil := range breaks {
		t.Run(name, func(t *testing.T) {
			for at := range uint(8) {
				c := proofIn(t, 1<<20, 5, 1024, int(at%5))
				spoil(&c, 37*at)
				if c.holds(t, verifier) {
					t.Fatalf("taken, with %d", 37*at)
				}
			}
		})
	}
}

// Aggregates made by a liar: all paths are right, and the entry is, but not all is where it must be, or has a possible
// size. Those that are taken show that nothing else is wrong. One of 32 KiB has 1,024 leaves; pieces of 128 bytes may
// be in 254 places of it, entries in the last four of 512.
func TestWhatCannotBeInAnAggregateIsRefusedOnChain(t *testing.T) {
	verifier := deployInclusionVerifier(t)
	for name, at := range map[string]struct {
		depth        int    // of the aggregate
		level        int    // of the piece
		piece, entry uint64 // numbers of a piece and of an entry, from the beginning
		taken        bool
	}{
		"the first places":            {10, 2, 0, 508, true},
		"the last places":             {10, 2, 253, 511, true},
		"the last piece in the index": {10, 2, 255, 508, false},
		"the first one in the index":  {10, 2, 254, 511, false},
		"an entry before the index":   {10, 2, 253, 503, false},
		"an entry beside the index":   {10, 2, 252, 507, false},
		"an entry among the pieces":   {10, 2, 0, 2, false},
		"half of the aggregate":       {10, 9, 0, 508, true},
		"a piece of 64 bytes":         {10, 1, 0, 508, false},
		"a piece of 32 bytes":         {10, 0, 0, 508, false},
		"an aggregate of 128 bytes":   {2, 1, 0, 1, false},
		"an aggregate of 256 bytes":   {3, 2, 0, 2, false},
		"the smallest aggregate":      {4, 2, 1, 7, true},
		"the largest aggregate":       {31, 2, 1, 1<<30 - 1<<19, true},
		"the largest, before":         {31, 2, 1, 1<<30 - 1<<19 - 1, false},
		"an aggregate of 128 GiB":     {32, 2, 1, 1<<31 - 1<<20, false},
	} {
		t.Run(name, func(t *testing.T) {
			each := uint64(1) << at.level
			leaves := map[uint64]bytes32{}
			for i := range min(each, 4) {
				leaves[at.piece*each+i] = some(i)
			}
			piece := newTree(at.depth, bytes32{}, leaves).node(at.level, at.piece)
			entry := entryOf(piece, at.piece*each*32, each*32)
			leaves[2*at.entry], leaves[2*at.entry+1] = bytes32(entry[:32]), bytes32(entry[32:])
			whole := newTree(at.depth, bytes32{}, leaves)
			if whole.node(at.level, at.piece) != piece {
				t.Fatal("the entry lies in the piece")
			}
			c := inclusion{
				proof: segment.Proof{
					Subtree: pathIn(whole, at.level, at.piece), Entry: pathIn(whole, 1, at.entry),
				},
				piece: segment.Piece{Root: piece, Size: each * 32}, root: whole.root(), size: whole.size(),
			}
			if c.holds(t, verifier) != at.taken {
				t.Fatalf("taken: %t", !at.taken)
			}
		})
	}
}

// In an aggregate of 512 bytes made by a liar, all paths are right, with nodes that are none.
func TestWhatIsNoNodeIsRefusedOnChain(t *testing.T) {
	verifier := deployInclusionVerifier(t)
	for name, spoil := range map[string]func(piece, beside, entry, end *bytes32){
		"":                    func(_, _, _, _ *bytes32) {},
		"no piece":            func(piece, _, _, _ *bytes32) { *piece = bytes32{} },
		"of the piece":        func(piece, _, _, _ *bytes32) { piece[31] |= 0x80 },
		"beside the piece":    func(_, beside, _, _ *bytes32) { beside[31] |= 0x40 },
		"beside the entry":    func(_, _, entry, _ *bytes32) { entry[31] |= 0xc0 },
		"at the very end":     func(_, _, _, end *bytes32) { end[31] |= 0x40 },
		"all bits everywhere": func(a, b, c, d *bytes32) { a[31], b[31], c[31], d[31] = 255, 255, 255, 255 },
	} {
		t.Run(name, func(t *testing.T) {
			piece, beside, next, end := bytes32(some(1)), bytes32(some(2)), bytes32(some(3)), bytes32(some(4))
			spoil(&piece, &beside, &next, &end)
			e := entryOf(piece, 0, 128)
			left := parent(piece, beside)
			right := parent(parent(parent(bytes32(e[:32]), bytes32(e[32:])), next), end)
			c := inclusion{
				proof: segment.Proof{
					Subtree: segment.Path{Nodes: []commd.Node{beside, right}},
					Entry:   segment.Path{Index: 4, Nodes: []commd.Node{next, end, left}},
				},
				piece: segment.Piece{Root: piece, Size: 128}, root: parent(left, right), size: 512,
			}
			if (name == "") != c.holds(t, verifier) {
				t.Fatalf("taken: %t", name != "")
			}
		})
	}
}

// In an aggregate of 512 bytes made by a liar, all paths lead to the root, but begin in another layer than they must.
func TestPathsOfAnotherLengthAreRefusedOnChain(t *testing.T) {
	verifier := deployInclusionVerifier(t)
	piece, a, b, c, d := bytes32(some(1)), some(2), some(3), some(4), some(5)
	e := entryOf(piece, 0, 128)
	entry := parent(bytes32(e[:32]), bytes32(e[32:]))
	right := parent(parent(entry, a), b)
	path := func(index uint64, nodes ...commd.Node) segment.Path { return segment.Path{Index: index, Nodes: nodes} }
	for name, row := range map[string]struct {
		root           commd.Node
		subtree, entry segment.Path
	}{
		"a piece too high": {parent(piece, right), path(0, right), path(4, a, b, piece)},
		"a piece too low": {
			parent(parent(parent(piece, c), d), right),
			path(0, c, d, right), path(4, a, b, parent(parent(piece, c), d)),
		},
		"an entry too high": {
			parent(parent(piece, a), parent(entry, b)), path(0, a, parent(entry, b)), path(6, b, parent(piece, a)),
		},
		"an entry too low": {parent(parent(piece, right), c), path(0, right, c), path(4, a, b, piece, c)},
	} {
		t.Run(name, func(t *testing.T) {
			asked := inclusion{
				proof: segment.Proof{Subtree: row.subtree, Entry: row.entry},
				piece: segment.Piece{Root: piece, Size: 128}, root: row.root, size: 512,
			}
			if asked.holds(t, verifier) {
				t.Fatal("taken")
			}
		})
	}
}

// entryOf is a second implementation of an entry of the index.
func entryOf(root bytes32, offset, size uint64) (e [64]byte) {
	copy(e[:], root[:])
	binary.LittleEndian.PutUint64(e[32:], offset)
	binary.LittleEndian.PutUint64(e[40:], size)
	sum := sha256.Sum256(e[:])
	copy(e[48:], sum[:16])
	e[63] &= 0x3f
	return e
}

func pathIn(t *tree, level int, index uint64) segment.Path {
	p := segment.Path{Index: index}
	for i := index; level < t.depth; level++ {
		p.Nodes = append(p.Nodes, t.node(level, i^1))
		i /= 2
	}
	return p
}

func TestDeployedVerifierOfInclusionIsFound(t *testing.T) {
	client := sealing{shared.backend.Client()}
	from := bind.NewKeyedTransactor(shared.keys[deployer], big.NewInt(1337))
	at, err := contracts.DeployInclusionVerifier(t.Context(), client, from)
	if err != nil {
		t.Fatal(err)
	}
	shared.nonces[deployer]++
	c := proofIn(t, 1<<20, 5, 1024, 3)
	if !c.holds(t, at) {
		t.Fatal("refused")
	}
	nowhere := common.HexToAddress("0x1234")
	err = contracts.VerifyInclusion(t.Context(), client, nowhere, c.proof, c.piece, c.root, c.size)
	if !errors.Is(err, bind.ErrNoCode) {
		t.Fatal(err)
	}
	poor := bind.NewKeyedTransactor(crypto.ToECDSAUnsafe(common.Hash{1}.Bytes()), big.NewInt(1337))
	if _, err := contracts.DeployInclusionVerifier(t.Context(), client, poor); err == nil {
		t.Fatal("deployed without wei")
	}
}

// sealing seals a block for each transaction.
type sealing struct{ simulated.Client }

func (s sealing) SendTransaction(ctx context.Context, tx *types.Transaction) error {
	err := s.Client.SendTransaction(ctx, tx)
	shared.backend.Commit()
	return err
}

// The table in docs/performance.md: a transaction that verifies, and the same as a call by another contract.
func TestGasOfInclusionStaysBelowTheCeilings(t *testing.T) {
	deployed := shared.submit(t, deployer, nil, contracts.InclusionVerifierCreation())
	t.Logf("deploy %d", deployed.GasUsed)
	if deployed.GasUsed > 430_000 {
		t.Errorf("the deployment took %d gas, ceiling 430,000", deployed.GasUsed)
	}
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name                   string
		c                      inclusion
		nodes                  [2]int
		transaction, execution uint64
	}{
		{"1 KiB in 1 MiB", proofIn(t, 1<<20, 5, 1024, 4), [2]int{10, 14}, 60_000, 18_000},
		{"128 KiB in 32 GiB", proofIn(t, 32<<30, 1000, 128<<10, 999), [2]int{18, 29}, 90_000, 29_000},
		{"128 bytes in 32 GiB", proofIn(t, 32<<30, 1000, 128, 999), [2]int{28, 29}, 103_000, 34_000},
	} {
		c := row.c
		if got := [2]int{len(c.proof.Subtree.Nodes), len(c.proof.Entry.Nodes)}; got != row.nodes {
			t.Fatalf("%s: %d nodes", row.name, got)
		}
		data := contracts.InclusionCall(c.proof, c.piece, c.root, c.size)
		used := shared.submit(t, stranger, &deployed.ContractAddress, data).GasUsed
		executed := execution(t, contracts.InclusionVerifierCreation(), data)
		t.Logf("%-20s %7d %7d", row.name, used, executed)
		if used > row.transaction || executed > row.execution {
			t.Errorf("%s took %d and %d gas, ceilings %d and %d",
				row.name, used, executed, row.transaction, row.execution)
		}
		line := fmt.Sprintf("| %s | %d + %d | %s | %s |\n", row.name, row.nodes[0], row.nodes[1],
			thousands(row.transaction), thousands(row.execution))
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/performance.md has not the row\n%s", line)
		}
	}
}

// execution is the gas that a contract itself uses in a call.
func execution(t *testing.T, creation, data []byte) uint64 {
	t.Helper()
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		t.Fatal(err)
	}
	config := &runtime.Config{State: db, GasLimit: 10_000_000}
	_, at, _, err := runtime.Create(creation, config)
	if err != nil {
		t.Fatal(err)
	}
	output, left, err := runtime.Call(at, data, config)
	if err != nil || new(big.Int).SetBytes(output).Uint64() != 1 {
		t.Fatalf("%x, %v", output, err)
	}
	return config.GasLimit - left
}

func breakNames() []string {
	var names []string
	for name := range breaks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// flip flips one bit, also of the two that no node has.
func flip(n *commd.Node, at uint) { n[at/8%32] ^= 1 << (at % 8) }

func flipOne(nodes []commd.Node, at uint) {
	if len(nodes) > 0 {
		flip(&nodes[at/256%uint(len(nodes))], at)
	}
}

// breaks are the ways in which a proof can be wrong; the number says where.
var breaks = map[string]func(c *inclusion, at uint){
	"a bit of the piece's root":     func(c *inclusion, at uint) { flip(&c.piece.Root, at) },
	"no root of the piece":          func(c *inclusion, _ uint) { c.piece.Root = commd.Node{} },
	"another piece":                 func(c *inclusion, at uint) { c.piece.Root = some(1000 + uint64(at%1000)) },
	"a bit of the aggregate's root": func(c *inclusion, at uint) { flip(&c.root, at) },
	"a bit of the piece's size":     func(c *inclusion, at uint) { c.piece.Size ^= 1 << (at % 64) },
	"twice the piece's size":        func(c *inclusion, _ uint) { c.piece.Size *= 2 },
	"half the piece's size":         func(c *inclusion, _ uint) { c.piece.Size /= 2 },
	"no size of the piece":          func(c *inclusion, _ uint) { c.piece.Size = 0 },
	"a bit of the aggregate's size": func(c *inclusion, at uint) { c.size ^= 1 << (at % 64) },
	"twice the aggregate's size":    func(c *inclusion, _ uint) { c.size *= 2 },
	"no size of the aggregate":      func(c *inclusion, _ uint) { c.size = 0 },
	"a bit on the piece's path":     func(c *inclusion, at uint) { flipOne(c.proof.Subtree.Nodes, at) },
	"a bit on the entry's path":     func(c *inclusion, at uint) { flipOne(c.proof.Entry.Nodes, at) },
	"another place of the piece":    func(c *inclusion, at uint) { c.proof.Subtree.Index ^= 1 << (at % 64) },
	"another place of the entry":    func(c *inclusion, at uint) { c.proof.Entry.Index ^= 1 << (at % 64) },
	// The bits above those that say left or right do not change the way to the root.
	"the piece beyond the aggregate": func(c *inclusion, _ uint) {
		c.proof.Subtree.Index += 1 << len(c.proof.Subtree.Nodes)
	},
	"the entry beyond the aggregate": func(c *inclusion, _ uint) {
		c.proof.Entry.Index += 1 << len(c.proof.Entry.Nodes)
	},
	"the last node of the piece's path missing": func(c *inclusion, _ uint) {
		c.proof.Subtree.Nodes = c.proof.Subtree.Nodes[:max(1, len(c.proof.Subtree.Nodes))-1]
	},
	"the last node of the entry's path missing": func(c *inclusion, _ uint) {
		c.proof.Entry.Nodes = c.proof.Entry.Nodes[:max(1, len(c.proof.Entry.Nodes))-1]
	},
	"a node more on the piece's path": func(c *inclusion, at uint) {
		c.proof.Subtree.Nodes = append(c.proof.Subtree.Nodes, some(uint64(at)))
	},
	"a node more on the entry's path": func(c *inclusion, at uint) {
		c.proof.Entry.Nodes = append(c.proof.Entry.Nodes, some(uint64(at)))
	},
	"the paths exchanged": func(c *inclusion, _ uint) {
		c.proof.Subtree, c.proof.Entry = c.proof.Entry, c.proof.Subtree
	},
	"paths of 300 nodes": func(c *inclusion, _ uint) {
		c.proof.Subtree.Nodes = make([]commd.Node, 300)
		c.proof.Entry.Nodes = make([]commd.Node, 300)
	},
	"no paths": func(c *inclusion, _ uint) { c.proof = segment.Proof{} },
}
