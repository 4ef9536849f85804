package contracts_test

import (
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/provider"
)

// sectorCeilings are the most gas that calls about sectors may use, where it matters by the depth
// of the tree: 2 KiB, 8 MiB and 32 GiB.
func sectorCeilings() map[string]uint64 {
	of := provider.MeasuredGas()
	return map[string]uint64{
		"deploy SectorProvider": 4_200_000, "preCommit": of.PreCommit, "pinSeed": of.PinSeed,
		"commit 6": of.Commit[0], "commit 18": of.Commit[1], "commit 30": of.Commit[2],
		"provePossession 6 x1": of.Possession[0], "provePossession 18 x1": of.Possession[1], "provePossession 30 x1": of.Possession[2],
		"provePossession 6 x10": 1_050_000, "provePossession 18 x10": 2_520_000, "provePossession 30 x10": 4_070_000,
		"declareFaults x1": of.Declare, "declareFaults x10": 180_000,
		"declareRecoveries x1": of.Declare, "declareRecoveries x10": 180_000,
		"markMissed": 90_000, "terminate": of.Terminate, "expirePreCommit": of.ExpirePreCommit, "expire": of.Expire,
		"withdraw": of.Withdraw, "burn": 65_000, "fund": 85_000,
	}
}

// A provider's limits for many sectors are not below what those together may take.
func TestLimitsOfSectorsAreNotBelowTheCeilings(t *testing.T) {
	of, ceilings := provider.MeasuredGas(), sectorCeilings()
	for i, depth := range []int{6, 18, 30} {
		name := fmt.Sprintf("provePossession %d x10", depth)
		if all := of.Possession[i] + 9*of.PossessionNext[i]; all < ceilings[name] {
			t.Errorf("%s: %d, ceiling %d", name, all, ceilings[name])
		}
	}
	for _, name := range []string{"declareFaults x10", "declareRecoveries x10"} {
		if all := of.Declare + 9*of.DeclareNext; all < ceilings[name] {
			t.Errorf("%s: %d, ceiling %d", name, all, ceilings[name])
		}
	}
}

// gasYard is a contract for sectors on a chain that charges for everything.
type gasYard struct {
	*chain
	*bill
	t       *testing.T
	address common.Address
}

func TestGasOfSectorsStaysBelowTheCeilings(t *testing.T) {
	c, err := newChain(atOsaka)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.backend.Close() }()
	c.grow(t)
	b := bill{}
	for _, depth := range []int{6, 18, 30} {
		measureProofs(t, c, &b, depth)
	}
	measureRest(t, c, &b)
	page, err := os.ReadFile("../../docs/provider-contract.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range gasRows() {
		row := "| " + r.call
		for _, name := range r.names {
			spent := b[name]
			t.Logf("%-24s %9d - %9d", name, spent[0], spent[1])
			ceiling := sectorCeilings()[name]
			if spent[1] == 0 || spent[1] > ceiling {
				t.Errorf("%s took %d gas, ceiling %d", name, spent[1], ceiling)
			}
			row += " | " + thousands(ceiling)
		}
		if !strings.Contains(string(page), row+" |\n") {
			t.Errorf("docs/provider-contract.md has not the row\n%s |", row)
		}
	}
}

// gasRows is the table of gas in the documentation.
func gasRows() []struct {
	call  string
	names []string
} {
	type row = struct {
		call  string
		names []string
	}
	rows := []row{
		{"`commit`, 44 leaves", []string{"commit 6", "commit 18", "commit 30"}},
		{"`provePossession`, 10 leaves, 1 sector", []string{"provePossession 6 x1", "provePossession 18 x1", "provePossession 30 x1"}},
		{"`provePossession`, 10 leaves, 10 sectors", []string{"provePossession 6 x10", "provePossession 18 x10", "provePossession 30 x10"}},
	}
	for _, name := range []string{
		"deploy SectorProvider", "preCommit", "pinSeed", "declareFaults x1", "declareFaults x10", "declareRecoveries x1",
		"declareRecoveries x10", "markMissed", "terminate", "expirePreCommit", "expire", "withdraw", "burn", "fund",
	} {
		rows = append(rows, row{name, []string{name}})
	}
	return rows
}

func thousands(n uint64) string {
	if n < 1_000_000 {
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return fmt.Sprintf("%d,%03d,%03d", n/1_000_000, n/1000%1000, n%1000)
}

func newGasYard(t *testing.T, c *chain, b *bill) *gasYard {
	t.Helper()
	config := sectorConfig()
	config.Proving.PartitionSectors = 10
	token := c.create(t, contracts.TokenCreation())
	code, err := contracts.SectorProviderCreation(config, token)
	if err != nil {
		t.Fatal(err)
	}
	y := &gasYard{c, b, t, b.deploy(t, c, "SectorProvider", code)}
	plenty := new(big.Int).Lsh(common.Big1, 100)
	c.submit(t, host, &token, packToken.PackMint(c.address(host), plenty))
	c.submit(t, host, &token, packToken.PackApprove(y.address, plenty))
	y.takes("fund", sectorABI.PackFund(new(big.Int).Lsh(common.Big1, 80)))
	return y
}

// takes makes a call of the provider and notes the gas that it used.
func (y *gasYard) takes(name string, data []byte) {
	y.t.Helper()
	receipt := y.submit(y.t, host, &y.address, data)
	if receipt.Status != types.ReceiptStatusSuccessful {
		_, err := y.call(y.t, host, &y.address, data)
		y.t.Fatalf("%s reverted, on the next block with %q", name, revertName(y.t, err))
	}
	y.add(name, receipt)
}

func (y *gasYard) next() uint64 { return y.head(y.t).Number.Uint64() + 1 }

func (y *gasYard) mineTo(block uint64) {
	y.t.Helper()
	y.mine(y.t, int(block-y.next()))
}

func (y *gasYard) hashOf(block uint64) bytes32 {
	y.t.Helper()
	header, err := y.backend.Client().HeaderByNumber(y.t.Context(), new(big.Int).SetUint64(block))
	if err != nil {
		y.t.Fatalf("read header: %v", err)
	}
	return header.Hash()
}

func (y *gasYard) preCommits(number uint64, data *tree) *testSector {
	y.t.Helper()
	epoch := y.next() - lookback
	s := &testSector{
		provider: y.chain.address(host), number: number, tree: data, announced: y.next(),
		ticket: ticketOf(y.hashOf(epoch), y.chain.address(host), number),
	}
	s.said = bindings.PreCommitment{
		Number: number, Size: data.size(), TicketEpoch: epoch,
		Expiration: y.next() + commitDue + minLife, CommD: data.root(),
		CommR: commR(s.provider, number, s.ticket, data.root()),
	}
	y.takes("preCommit", sectorABI.PackPreCommit(s.said))
	return s
}

// possession proves sectors in the window that is open in the next block.
func (y *gasYard) possession(name string, sectors ...*testSector) {
	y.t.Helper()
	var proofs [][]byte
	for _, s := range sectors {
		seed := y.hashOf(s.opens(y.next()/periodBlocks) - 1)
		c := challenge{"possession", s.ticket, seed, s.provider, s.number}
		proofs = append(proofs, s.tree.prove(c, windowLeaves))
	}
	y.takes(name, sectorABI.PackProvePossession(
		sectors[0].number%deadlines, 0, numbersOf(sectors), proofs))
}

// nextWindow goes on until the next block is the first of a period.
func (y *gasYard) nextWindow() {
	y.t.Helper()
	y.mineTo((y.next()/periodBlocks + 1) * periodBlocks)
}

// measureProofs takes ten sectors of one partition from precommit to their second window.
func measureProofs(t *testing.T, c *chain, b *bill, depth int) {
	t.Helper()
	y := newGasYard(t, c, b)
	data := newTree(depth, masked(bytes32{0xff, 1, 2, 3, 31: 0xff}), nil)
	y.nextWindow()
	var sectors []*testSector
	for i := range uint64(10) {
		sectors = append(sectors, y.preCommits(i*deadlines, data))
	}
	y.mine(t, seedDelay)
	for _, s := range sectors {
		s.seed = y.hashOf(s.announced + seedDelay)
		y.takes(fmt.Sprintf("commit %d", depth), s.packCommit())
	}
	y.nextWindow()
	one := fmt.Sprintf("provePossession %d x1", depth)
	for _, s := range sectors {
		y.possession(one, s)
	}
	y.nextWindow()
	y.possession(fmt.Sprintf("provePossession %d x10", depth), sectors...)
	y.takes("withdraw", sectorABI.PackWithdraw())
}

// measureRest measures what does not depend on the size of sectors.
func measureRest(t *testing.T, c *chain, b *bill) {
	t.Helper()
	y := newGasYard(t, c, b)
	data := fullTree(6, "data")
	y.nextWindow()
	var sectors []*testSector
	for i := range uint64(11) {
		sectors = append(sectors, y.preCommits(i*deadlines, data))
	}
	y.mine(t, seedDelay)
	for _, s := range sectors {
		s.seed = y.hashOf(s.announced + seedDelay)
		y.takes("pinSeed", sectorABI.PackPinSeed(s.provider, s.number))
		y.takes("commit 6", s.packCommit())
	}
	void := y.preCommits(1, data)
	y.takes("declareFaults x1", sectorABI.PackDeclareFaults(numbersOf(sectors[10:])))
	y.takes("declareRecoveries x1", sectorABI.PackDeclareRecoveries(numbersOf(sectors[10:])))
	y.takes("declareFaults x10", sectorABI.PackDeclareFaults(numbersOf(sectors[:10])))
	y.takes("declareRecoveries x10", sectorABI.PackDeclareRecoveries(numbersOf(sectors[:10])))
	y.nextWindow()
	y.mine(t, windowBlocks)
	period := y.next() / periodBlocks
	y.takes("markMissed", sectorABI.PackMarkMissed(y.chain.address(host), 0, period))
	y.takes("terminate", sectorABI.PackTerminate(0))
	y.takes("terminate", sectorABI.PackTerminate(5)) // Its miss is settled with it.
	y.takes("burn", sectorABI.PackBurn())
	y.mineTo(void.announced + commitDue + 1)
	y.takes("expirePreCommit", sectorABI.PackExpirePreCommit(y.chain.address(host), 1))
	y.nextWindow()
	last := y.preCommits(2, data)
	y.mine(t, seedDelay)
	last.seed = y.hashOf(last.announced + seedDelay)
	y.takes("commit 6", last.packCommit())
	for open := last.opens(y.next() / periodBlocks); open < last.said.Expiration; open += periodBlocks {
		if open >= y.next() {
			y.mineTo(open)
			y.possession("provePossession 6 x1", last)
		}
	}
	y.mineTo(max(last.said.Expiration, y.next()))
	y.takes("expire", sectorABI.PackExpire(last.number))
}
