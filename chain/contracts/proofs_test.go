package contracts_test

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"
)

func (d *deal) pointer(index uint64) uint8 {
	d.t.Helper()
	return view(d.market, pack.PackGetPointer(d.slot(index)), pack.UnpackGetPointer)
}

func (d *deal) required(index uint64) bool {
	d.t.Helper()
	data := pack.PackIsProofRequired(d.slot(index))
	return view(d.market, data, pack.UnpackIsProofRequired)
}

func (d *deal) willBeRequired(index uint64) bool {
	d.t.Helper()
	data := pack.PackWillProofBeRequired(d.slot(index))
	return view(d.market, data, pack.UnpackWillProofBeRequired)
}

// wantPointer computes the pointer from public facts about the head.
func (d *deal) wantPointer(index, periodNumber uint64) uint8 {
	d.t.Helper()
	id := d.slot(index)
	return uint8(d.head(d.t).Number.Uint64() + periodNumber*product + uint64(id[31]))
}

// leaveDowntime mines until the pointer for a period is outside the downtime.
func (d *deal) leaveDowntime(index, periodNumber uint64) {
	d.t.Helper()
	for d.wantPointer(index, periodNumber) < downtime {
		d.mine(d.t, 1)
	}
}

func (d *deal) submit(account int, index uint64) {
	d.t.Helper()
	d.send(account, pack.PackSubmitProof(d.slot(index), goodProof()))
}

func TestPointerMovesOnePerBlockAndWraps(t *testing.T) {
	manyBlocks(t)
	m := newMarket(t)
	m.goTo(t, nextPeriod(m.now(t)))
	d := m.ask()
	wraps := 0
	before := d.pointer(0)
	for range 260 {
		d.mine(t, 1)
		got := d.pointer(0)
		if got != before+1 { // As eight bits, because the cycle has 256 blocks.
			t.Fatalf("pointer went from %d to %d", before, got)
		}
		if want := d.wantPointer(0, d.now(t)/period); got != want {
			t.Fatalf("pointer is %d, want %d", got, want)
		}
		if got == 0 {
			wraps++
		}
		before = got
	}
	if wraps == 0 {
		t.Fatalf("the pointer never wrapped in 260 blocks")
	}
}

func TestPointerJumpsWithThePeriod(t *testing.T) {
	m := newMarket(t)
	m.goTo(t, nextPeriod(m.now(t)))
	d := m.ask()
	before := d.pointer(0)
	d.goTo(t, nextPeriod(d.now(t)))
	if got := d.pointer(0); got != before+1+product {
		t.Fatalf("pointer went from %d to %d, want one block and %d more", before, got, product)
	}
}

func TestChallengeIsTheHashOfABlockHashAndStaysUntilThePointerWraps(t *testing.T) {
	manyBlocks(t)
	m := newMarket(t)
	m.goTo(t, nextPeriod(m.now(t)))
	d := m.ask()
	var last [32]byte
	changes := 0
	for i := range 257 {
		pointer := uint64(d.pointer(0))
		number := d.head(t).Number.Uint64() - 1 - pointer
		header, err := d.backend.Client().HeaderByNumber(t.Context(), new(big.Int).SetUint64(number))
		if err != nil {
			t.Fatalf("read block %d: %v", number, err)
		}
		got := view(d.market, pack.PackGetChallenge(d.slot(0)), pack.UnpackGetChallenge)
		if want := crypto.Keccak256Hash(header.Hash().Bytes()); got != want {
			t.Fatalf("challenge at pointer %d is %x, want %x", pointer, got, want)
		}
		if i > 0 && got != last {
			changes++
			if pointer != 0 {
				t.Fatalf("challenge changed at pointer %d", pointer)
			}
		}
		last = got
		d.mine(t, 1)
	}
	if changes != 1 {
		t.Fatalf("challenge changed %d times in a cycle, want once", changes)
	}
}

func TestProbabilityMakesUpForTheDowntime(t *testing.T) {
	m := newMarket(t)
	for _, test := range [][2]int64{
		{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 3}, {8, 6}, {10, 7}, {100, 75},
	} {
		request := newRequest()
		request.Ask.ProofProbability = big.NewInt(test[0])
		d := m.askFor(request)
		d.fill(host, 0)
		data := pack.PackSlotProbability(d.slot(0))
		got := view(m, data, pack.UnpackSlotProbability)
		if got.Int64() != test[1] {
			t.Fatalf("probability of %d is %v, want %d", test[0], got, test[1])
		}
	}
}

func TestNoProofIsDueInThePeriodOfFilling(t *testing.T) {
	manyBlocks(t)
	m := newMarket(t)
	m.goTo(t, nextPeriod(m.now(t)))
	d := m.ask()
	d.fill(host, 0)
	for range 257 {
		if d.required(0) || d.willBeRequired(0) {
			t.Fatalf("proof is due at pointer %d of the first period", d.pointer(0))
		}
		d.mine(t, 1)
	}
	d.goTo(t, nextPeriod(d.now(t)))
	if !d.required(0) && !d.willBeRequired(0) {
		t.Fatalf("no proof is due in the second period")
	}
}

func TestProofIsDueOutsideTheDowntime(t *testing.T) {
	manyBlocks(t)
	m := newMarket(t)
	d := m.ask()
	d.fill(host, 0)
	d.goTo(t, nextPeriod(d.now(t)))
	due := 0
	for range 256 {
		down := d.pointer(0) < downtime
		if d.required(0) == down || d.willBeRequired(0) != down {
			t.Fatalf("pointer %d: required %t, will be %t",
				d.pointer(0), d.required(0), d.willBeRequired(0))
		}
		if !down {
			due++
		}
		d.mine(t, 1)
	}
	if due != 256-downtime {
		t.Fatalf("proof was due in %d blocks of a cycle, want %d", due, 256-downtime)
	}
}

// With a lower probability, the challenge decides by chance.
func TestChallengeDrawsWhetherAProofIsDue(t *testing.T) {
	m := newMarket(t)
	request := newRequest()
	request.Ask.ProofProbability = big.NewInt(4) // which becomes 3
	d := m.askFor(request)
	d.fill(host, 0)
	for range 5 {
		d.goTo(t, nextPeriod(d.now(t)))
		d.leaveDowntime(0, d.now(t)/period)
		data := pack.PackGetChallenge(d.slot(0))
		challenge := view(m, data, pack.UnpackGetChallenge)
		number := new(big.Int).SetBytes(challenge[:])
		want := d.now(t) <= d.expiresAt && number.Mod(number, big.NewInt(3)).Sign() == 0
		if got := d.required(0); got != want {
			t.Fatalf("required is %t, want %t", got, want)
		}
	}
}

func TestNoProofIsDueWhenTheRequestIsOver(t *testing.T) {
	for name, over := range map[string]func(*deal) uint64{
		"cancelled": func(d *deal) uint64 { d.fill(host, 0); return d.expiresAt },
		"finished":  func(d *deal) uint64 { d.fillAll(); return d.endsAt },
	} {
		t.Run(name, func(t *testing.T) {
			d := newMarket(t).ask()
			end := over(d)
			d.goTo(t, end)
			if !d.required(0) && !d.willBeRequired(0) {
				t.Fatalf("no proof is due in the last second")
			}
			d.goTo(t, end+1)
			if d.required(0) || d.willBeRequired(0) {
				t.Fatalf("a proof is due afterwards")
			}
		})
	}
}

func TestOneProofPerPeriodAndOnlyByTheHost(t *testing.T) {
	m := newMarket(t)
	m.goTo(t, nextPeriod(m.now(t)))
	d := m.ask()
	d.fill(host, 0)
	good := pack.PackSubmitProof(d.slot(0), goodProof())
	d.refuses(otherHost, good, "Marketplace_ProofNotSubmittedByHost")
	d.refuses(host, good, "Proofs_ProofAlreadySubmitted") // That of the fill.

	d.goTo(t, nextPeriod(d.now(t)))
	d.refuses(host, pack.PackSubmitProof(d.slot(0), badProof()), "Proofs_InvalidProof")
	receipt := d.send(host, good)
	event, err := pack.UnpackProofSubmittedEvent(receipt.Logs[0])
	if err != nil || event.Id != d.slot(0) {
		t.Fatalf("event is %+v, %v", event, err)
	}
	d.refuses(host, good, "Proofs_ProofAlreadySubmitted")
}

func TestVoluntaryProofsAreAccepted(t *testing.T) {
	d := newMarket(t).ask()
	d.fill(host, 0)
	d.goTo(t, d.expiresAt+1) // Nothing is due any more.
	d.goTo(t, nextPeriod(d.now(t)))
	d.submit(host, 0)
}
