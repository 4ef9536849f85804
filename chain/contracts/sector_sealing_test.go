package contracts_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

func TestSectorIsSealed(t *testing.T) {
	y := newYard(t)
	s := y.announces(alice, 7)
	logs := y.does(alice, sectorABI.PackPreCommit(s.said))
	if diff := cmp.Diff([]string{"PreCommitted"}, y.sectorEvents(logs)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	said, err := sectorABI.UnpackPreCommittedEvent(logs[0])
	if err != nil || said.Said != s.said || said.Ticket != s.ticket ||
		said.SeedEpoch != y.block+seedDelay || said.Deposit.Int64() != deposit {
		t.Fatalf("event is %+v, %v", said, err)
	}
	if got := y.tokens(alice); got != sectorFunding-deposit {
		t.Fatalf("provider has %d", got)
	}
	want := bindings.SectorInfo{
		Status: uint8(contracts.SectorPreCommitted), Size: smallest, Deadline: 2, Partition: 0,
		TicketEpoch: s.said.TicketEpoch, PreCommitEpoch: y.block, SeedEpoch: y.block + seedDelay,
		Expiration: s.said.Expiration, Deposit: bigInt(deposit),
		CommD: s.said.CommD, CommR: s.said.CommR, Ticket: s.ticket,
	}
	same := cmp.Comparer(func(a, b interface{ Int64() int64 }) bool { return a.Int64() == b.Int64() })
	if diff := cmp.Diff(want, y.info(alice, 7), same); diff != "" {
		t.Fatalf("precommitted sector differs (-want +got):\n%s", diff)
	}

	y.block += seedDelay + 1
	logs = y.does(alice, s.packCommit())
	if diff := cmp.Diff([]string{"SeedPinned", "Committed"}, y.sectorEvents(logs)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	pinned, err := sectorABI.UnpackSeedPinnedEvent(logs[0])
	if err != nil || pinned.Seed != s.seed {
		t.Fatalf("seed is %+v, %v, want %x", pinned, err, s.seed)
	}
	want.Status, want.Seed, want.Activation = uint8(contracts.SectorActive), s.seed, y.block
	want.NextPeriod = y.block / periodBlocks // Its window opens 40 blocks into the period.
	if diff := cmp.Diff(want, y.info(alice, 7), same); diff != "" {
		t.Fatalf("active sector differs (-want +got):\n%s", diff)
	}
	committed, err := sectorABI.UnpackCommittedEvent(logs[1])
	if err != nil || committed.FirstPeriod != want.NextPeriod {
		t.Fatalf("event is %+v, %v", committed, err)
	}
	y.checkBooks(s)
}

// Each challenged leaf differs from its neighbours, up to the greatest sector.
func TestProofsAreCheckedAtEveryDepth(t *testing.T) {
	y := newYard(t)
	for depth := 6; depth <= 31; depth++ {
		number := uint64(depth)
		y.toToken(alice, packToken.PackMint(alice, bigInt(10<<36)))
		y.toToken(alice, packToken.PackApprove(y.address, bigInt(10<<36)))
		blank := y.announcesTree(alice, number, newTree(depth, bytes32{}, nil))
		leaves := map[uint64]bytes32{}
		for i := range uint32(sealLeaves) {
			index := blank.sealChallenge().index(i, depth)
			leaves[index] = bytes32{byte(index), byte(index >> 8), byte(index >> 16), byte(index >> 24), 1}
		}
		s := y.announcesTree(alice, number, newTree(depth, bytes32{}, leaves))
		y.does(alice, sectorABI.PackPreCommit(s.said))
		y.block += seedDelay + 1
		proof := s.tree.prove(s.sealChallenge(), sealLeaves)
		for level := range depth + 1 {
			wrong := slices.Clone(proof)
			wrong[len(wrong)-1-32*level] ^= 1
			y.refused(alice, sectorABI.PackCommit(number, wrong), "Sectors_InvalidProof")
		}
		y.does(alice, sectorABI.PackCommit(number, proof))
	}
}

func TestPreCommitsThatMakeNoSenseAreRefused(t *testing.T) {
	type change = func(y *yard, s *testSector)
	again := func(y *yard, s *testSector) { // The same with another ticket or tree.
		s.ticket = ticketOf(y.hash(s.said.TicketEpoch), alice, s.number)
		s.said.CommR = commR(alice, s.number, s.ticket, s.said.CommD)
	}
	ticketAt := func(back uint64) change {
		return func(y *yard, s *testSector) { s.said.TicketEpoch = y.block - back; again(y, s) }
	}
	sized := func(size uint64) change { return func(_ *yard, s *testSector) { s.said.Size = size } }
	until := func(blocks uint64) change {
		return func(y *yard, s *testSector) { s.said.Expiration = y.block + blocks }
	}
	for name, test := range map[string]struct {
		change change
		want   string
	}{
		"as it should be":          {func(*yard, *testSector) {}, ""},
		"ticket as old as allowed": {ticketAt(256), ""},
		"ticket too old":           {ticketAt(257), "Sectors_TicketOutOfReach"},
		"ticket much too old":      {ticketAt(9999), "Sectors_TicketOutOfReach"},
		"ticket too young":         {ticketAt(lookback - 1), "Sectors_TicketOutOfReach"},
		"ticket of this block":     {ticketAt(0), "Sectors_TicketOutOfReach"},
		"ticket of the end of time": {
			func(_ *yard, s *testSector) { s.said.TicketEpoch = 1<<64 - 1 }, "Sectors_TicketOutOfReach",
		},
		"no size":                  {sized(0), "Sectors_InvalidSize"},
		"size too small":           {sized(1024), "Sectors_InvalidSize"},
		"size not a power of two":  {sized(3072), "Sectors_InvalidSize"},
		"size too large":           {sized(128 << 30), "Sectors_InvalidSize"},
		"largest size, no money":   {sized(64 << 30), "ERC20InsufficientAllowance"},
		"largest size of all":      {sized(1 << 63), "Sectors_InvalidSize"},
		"expires as early as can":  {until(commitDue + minLife), ""},
		"expires too early":        {until(commitDue + minLife - 1), "Sectors_InvalidExpiration"},
		"expires as late as can":   {until(maxLife), ""},
		"expires too late":         {until(maxLife + 1), "Sectors_InvalidExpiration"},
		"expires at the very end":  {func(_ *yard, s *testSector) { s.said.Expiration = 1<<64 - 1 }, "Sectors_InvalidExpiration"},
		"commR of nothing":         {func(_ *yard, s *testSector) { s.said.CommR = bytes32{} }, "Sectors_WrongCommR"},
		"commR of another sector":  {func(_ *yard, s *testSector) { s.said.CommR = commR(alice, 2, s.ticket, s.said.CommD) }, "Sectors_WrongCommR"},
		"commR of another ticket":  {func(_ *yard, s *testSector) { s.said.CommR = commR(alice, 1, bytes32{}, s.said.CommD) }, "Sectors_WrongCommR"},
		"commR of other data":      {func(_ *yard, s *testSector) { s.said.CommD[0] ^= 1 }, "Sectors_WrongCommR"},
		"commR of another":         {func(_ *yard, s *testSector) { s.said.CommR = commR(bob, 1, s.ticket, s.said.CommD) }, "Sectors_WrongCommR"},
		"a commD that no tree has": {func(y *yard, s *testSector) { s.said.CommD[31] |= 0x40; again(y, s) }, "Sectors_InvalidCommD"},
		"a commD above the field":  {func(y *yard, s *testSector) { s.said.CommD[31] |= 0x80; again(y, s) }, "Sectors_InvalidCommD"},
		"after a reorganisation":   {func(y *yard, _ *testSector) { y.fork++ }, "Sectors_WrongCommR"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.announces(alice, 1)
			test.change(y, s)
			y.refused(alice, sectorABI.PackPreCommit(s.said), test.want)
			if test.want != "" {
				if got := y.status(s); got != contracts.SectorNone || y.tokens(y.address) != 0 {
					t.Fatalf("left a sector that is %v and %d tokens", got, y.tokens(y.address))
				}
			}
		})
	}
}

func TestPreCommitNeedsTheWholeDeposit(t *testing.T) {
	y := newYard(t)
	s := y.announces(alice, 1)
	y.toToken(alice, packToken.PackApprove(y.address, bigInt(deposit-1)))
	y.refused(alice, sectorABI.PackPreCommit(s.said), "ERC20InsufficientAllowance")
	y.toToken(alice, packToken.PackApprove(y.address, bigInt(sectorFunding)))
	y.toToken(alice, packToken.PackTransfer(bob, bigInt(sectorFunding-deposit+1)))
	y.refused(alice, sectorABI.PackPreCommit(s.said), "ERC20InsufficientBalance")
	y.toToken(bob, packToken.PackTransfer(alice, bigInt(1)))
	y.does(alice, sectorABI.PackPreCommit(s.said))
	if got := y.tokens(alice); got != 0 {
		t.Fatalf("provider has %d", got)
	}
}

// One block decides: the seed's own block is too early, and after 256 more the EVM has forgotten
// the hash.
func TestSeedCanBePinnedFor256Blocks(t *testing.T) {
	for after, want := range map[uint64]string{
		0: "Sectors_SeedTooEarly", 1: "", 2: "", 255: "", 256: "", 257: "Sectors_Void", 290: "Sectors_Void",
	} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			for kind, by := range map[string]common.Address{"pinSeed": nobody, "commit": alice} {
				y := newYard(t)
				s := y.preCommitted(alice, 1)
				y.block += seedDelay + after
				y.refused(by, y.eachCall(s)[kind], want)
				if want != "" {
					continue
				}
				if got := y.info(alice, 1).Seed; got != s.seed {
					t.Fatalf("%s: seed is %x, want %x", kind, got, s.seed)
				}
			}
		})
	}
}

func TestPinnedSeedStays(t *testing.T) {
	y := newYard(t)
	s := y.preCommitted(alice, 1)
	y.block += seedDelay + BlockReach
	if names := y.sectorEvents(y.does(bob, sectorABI.PackPinSeed(alice, 1))); len(names) != 1 {
		t.Fatalf("events are %v", names)
	}
	y.block++
	if names := y.sectorEvents(y.does(bob, sectorABI.PackPinSeed(alice, 1))); len(names) != 0 {
		t.Fatalf("pinned twice: %v", names)
	}
	y.block = s.announced + commitDue
	y.wantStatus(s, contracts.SectorPreCommitted)
	y.refused(bob, sectorABI.PackExpirePreCommit(alice, 1), "Sectors_NotVoid")
	logs := y.does(alice, s.packCommit())
	if diff := cmp.Diff([]string{"Committed"}, y.sectorEvents(logs)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
}

const BlockReach = contracts.BlockHashReach

// Pinning a seed does not let a precommit wait for ever.
func TestPreCommitIsVoidWhenNoCommitCame(t *testing.T) {
	for name, pin := range map[string]bool{"seed pinned": true, "seed forgotten": false} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.preCommitted(alice, 1)
			last := s.announced + seedDelay + BlockReach
			if pin {
				y.block += seedDelay + 1
				y.does(nobody, sectorABI.PackPinSeed(alice, 1))
				last = s.announced + commitDue
			}
			y.block = last
			y.wantStatus(s, contracts.SectorPreCommitted)
			y.refused(nobody, sectorABI.PackExpirePreCommit(alice, 1), "Sectors_NotVoid")
			y.block++
			y.wantStatus(s, contracts.SectorVoid)
			y.refused(alice, s.packCommit(), "Sectors_Void")
			y.refused(alice, sectorABI.PackPreCommit(y.announces(alice, 1).said), "Sectors_NumberUsed")

			logs := y.does(nobody, sectorABI.PackExpirePreCommit(alice, 1))
			expired, err := sectorABI.UnpackPreCommitExpiredEvent(logs[0])
			if err != nil || expired.Fee.Int64() != voidFee || expired.Returned.Int64() != deposit-voidFee {
				t.Fatalf("event is %+v, %v", expired, err)
			}
			if y.owed(alice) != deposit-voidFee || y.owed(nobody) != 0 || y.unburnt() != voidFee {
				t.Fatalf("owed %d, lost %d", y.owed(alice), y.unburnt())
			}
			y.wantStatus(s, contracts.SectorNone)
			// Not even the ticket is the same, however long tickets live: it must be a younger one.
			y.remembers(s.said.TicketEpoch)
			again := y.announces(alice, 1)
			again.said.TicketEpoch = s.said.TicketEpoch
			again.said.CommR = s.said.CommR
			y.refused(alice, sectorABI.PackPreCommit(again.said), "Sectors_TicketOutOfReach")
			again.number, again.said.Number = 6, 6
			again.said.CommR = commR(alice, 6, ticketOf(y.hash(s.said.TicketEpoch), alice, 6), again.said.CommD)
			if name := y.trial(alice, sectorABI.PackPreCommit(again.said)); name != "" {
				t.Fatalf("the same epoch for another number: %s", name)
			}
			again = y.preCommitted(alice, 1)
			if again.ticket == s.ticket {
				t.Fatalf("the ticket is the old one")
			}
			y.block += seedDelay + 1
			y.refused(alice, s.packCommit(), "Sectors_InvalidProof")
			y.does(alice, again.packCommit())
			y.checkBooks(s)
		})
	}
}

func TestProofsOfSomethingElseAreNoCommit(t *testing.T) {
	prove := func(s *testSector, change func(*challenge)) []byte {
		c := s.sealChallenge()
		change(&c)
		return s.tree.prove(c, sealLeaves)
	}
	for name, test := range map[string]struct {
		proof func(s *testSector) []byte
		want  string
	}{
		"of another number":   {func(s *testSector) []byte { return prove(s, func(c *challenge) { c.number++ }) }, "InvalidProof"},
		"of another provider": {func(s *testSector) []byte { return prove(s, func(c *challenge) { c.provider = bob }) }, "InvalidProof"},
		"of another seed":     {func(s *testSector) []byte { return prove(s, func(c *challenge) { c.seed[0]++ }) }, "InvalidProof"},
		"of another ticket":   {func(s *testSector) []byte { return prove(s, func(c *challenge) { c.ticket[0]++ }) }, "InvalidProof"},
		"of a window":         {func(s *testSector) []byte { return prove(s, func(c *challenge) { c.domain = "possession" }) }, "InvalidProof"},
		"of other data": {func(s *testSector) []byte {
			return fullTree(6, "other data").prove(s.sealChallenge(), sealLeaves)
		}, "InvalidProof"},
		"with a wrong leaf":         {func(s *testSector) []byte { return spoilt(s, 0) }, "InvalidProof"},
		"with a wrong sibling":      {func(s *testSector) []byte { return spoilt(s, 32) }, "InvalidProof"},
		"with a wrong last path":    {func(s *testSector) []byte { return spoilt(s, sealLeaves*7*32-1) }, "InvalidProof"},
		"of one leaf 44 times":      {func(s *testSector) []byte { return bytes.Repeat(s.tree.path(0), sealLeaves) }, "InvalidProof"},
		"of nothing":                {func(*testSector) []byte { return nil }, "ProofLength"},
		"cut short":                 {func(s *testSector) []byte { p := prove(s, func(*challenge) {}); return p[:len(p)-1] }, "ProofLength"},
		"with something behind":     {func(s *testSector) []byte { return append(prove(s, func(*challenge) {}), 0) }, "ProofLength"},
		"of fewer leaves":           {func(s *testSector) []byte { return s.tree.prove(s.sealChallenge(), sealLeaves-1) }, "ProofLength"},
		"of zeroes":                 {func(*testSector) []byte { return make([]byte, sealLeaves*7*32) }, "InvalidProof"},
		"of the root and its child": {func(s *testSector) []byte { return prove(s, func(c *challenge) { *c = challenge{} }) }, "InvalidProof"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.preCommitted(alice, 1)
			y.block += seedDelay + 1
			y.refused(alice, sectorABI.PackCommit(1, test.proof(s)), "Sectors_"+test.want)
			y.wantStatus(s, contracts.SectorPreCommitted)
			// A refused proof pins nothing, and the right one is still accepted.
			if y.info(alice, 1).Seed != (bytes32{}) {
				t.Fatalf("seed was pinned")
			}
			y.does(alice, s.packCommit())
		})
	}
}

// spoilt is the proof of a commit with one bit flipped.
func spoilt(s *testSector, place int) []byte {
	proof := s.tree.prove(s.sealChallenge(), sealLeaves)
	proof[place] ^= 1
	return proof
}

// A proof copied from the mempool is of no use to others, and a stranger with the same data and
// number has a sector of its own.
func TestProofsCannotBeStolen(t *testing.T) {
	y := newYard(t)
	s := y.preCommitted(alice, 1)
	y.refused(bob, s.packCommit(), "Sectors_NotPreCommitted")
	other := y.preCommitted(bob, 1)
	if s.ticket == other.ticket || s.said.CommR == other.said.CommR {
		t.Fatalf("two providers have one ticket")
	}
	y.block += seedDelay + 1
	y.refused(bob, s.packCommit(), "Sectors_InvalidProof")
	y.does(alice, s.packCommit())
	y.does(bob, other.packCommit())
}

// A reorganisation between precommit and commit changes the seed: the precommit is mined again on
// the new branch, and needs another proof.
func TestReorganisationNeedsAnotherProof(t *testing.T) {
	y := newYard(t)
	s := y.announces(alice, 1)
	oldTicket := y.hash(s.said.TicketEpoch)
	y.does(alice, sectorABI.PackPreCommit(s.said))
	y.block += seedDelay + 1
	y.fork++ // From the block of the precommit on; the ticket stays.
	y.refused(alice, s.packCommit(), "Sectors_InvalidProof")
	s.seed = y.hash(s.announced + seedDelay)
	y.does(alice, s.packCommit())
	if y.hash(s.said.TicketEpoch) == oldTicket {
		t.Fatalf("nothing was reorganised")
	}
}

func TestTicketForIsTheTicketOfAPreCommit(t *testing.T) {
	y := newYard(t)
	get := func(epoch uint64) bytes32 {
		return ask(y, sectorABI.PackTicketFor(alice, 3, epoch), sectorABI.UnpackTicketFor)
	}
	for back, known := range map[uint64]bool{0: false, 4: false, 5: true, 256: true, 257: false} {
		want := bytes32{}
		if known {
			want = ticketOf(y.hash(y.block-back), alice, 3)
		}
		if diff := cmp.Diff(want, get(y.block-back), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("ticket of %d blocks before differs:\n%s", back, diff)
		}
	}
}
