package exits

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
	"github.com/hostnode/hostnode/storage"
)

// wholeReader is the fake in place of Groth16: it reads a slot from the disk, verifies every
// block against the dataset's root, and returns a number that stands for a proof. It finds
// missing and damaged slots as reliably as the real prover.
type wholeReader struct {
	repo *storage.Repo
	// sparing remembers the checksum of each block that was hashed and found good.
	sparing bool

	mu      sync.Mutex
	good    map[[32]byte]bool
	trouble error // what it answers instead; nil: it works
}

var _ port.Prover = (*wholeReader)(nil)

// errBusy is a temporary failure.
var errBusy = errors.New("the prover has no time")

func (p *wholeReader) KeyHash() string { return keyHash }

// stop makes each proof fail with an error, until it is stopped with nil.
func (p *wholeReader) stop(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble = err
}

func (p *wholeReader) works() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trouble == nil
}

func (p *wholeReader) Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error) {
	p.mu.Lock()
	trouble := p.trouble
	p.mu.Unlock()
	if trouble != nil {
		return events.ProofResult{}, trouble
	}
	slot, err := p.repo.Reader(job.Slot)
	if err != nil {
		return events.ProofResult{}, err
	}
	if slot.Index() != job.SlotIndex || poseidon2.Encode(slot.DataSetRoot()) != job.DataSetRoot {
		return events.ProofResult{}, fmt.Errorf("slot %s is another one: %w", job.Slot, events.ErrBitRot)
	}
	block := make([]byte, events.BlockSize)
	for i := range slot.Blocks() {
		if err := slot.ReadBlock(ctx, i, block); err != nil {
			return events.ProofResult{}, err
		}
		if p.known(block) {
			continue
		}
		root, err := merkle.BlockRoot(block)
		if err != nil {
			return events.ProofResult{}, err
		}
		stored, _, err := slot.BlockPath(ctx, i)
		if err != nil {
			return events.ProofResult{}, err
		}
		if root != stored {
			return events.ProofResult{}, fmt.Errorf("block %d of slot %s: %w", i, job.Slot, events.ErrBitRot)
		}
		p.remember(block)
	}
	return events.ProofResult{Proof: numberFor(job), Challenge: job.Challenge}, nil
}

// numberFor is what stands for the proof of a job.
func numberFor(job events.ProofJob) (proof events.Proof) {
	copy(proof[0][:], crypto.Keccak256(job.Slot[:], job.Challenge[:]))
	return proof
}

func (p *wholeReader) known(block []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sparing && p.good[sha256.Sum256(block)]
}

func (p *wholeReader) remember(block []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.good == nil {
		p.good = map[[32]byte]bool{}
	}
	p.good[sha256.Sum256(block)] = true
}

// The fake passes the suite of the real one, whether it remembers blocks or not.
func TestFakeProver(t *testing.T) {
	for name, sparing := range map[string]bool{"hashes always": false, "hashes once": true} {
		t.Run(name, func(t *testing.T) {
			porttest.Prover(t, func(t *testing.T) porttest.ProverWorld { return storedWorld(t, sparing) })
		})
	}
}

// storedWorld is the fake with a slot of the shared dataset.
func storedWorld(t *testing.T, sparing bool) porttest.ProverWorld {
	t.Helper()
	ok(t, shared.open())
	repo, err := storage.Open(t.TempDir(), storage.Config{Quota: quota})
	ok(t, err)
	t.Cleanup(func() { ok(t, repo.Close()) })
	server := httptest.NewServer(storage.NewHandler(shared.data))
	t.Cleanup(server.Close)
	fetcher, err := storage.NewFetcher(repo, storage.FetcherConfig{Sources: []string{server.URL}})
	ok(t, err)
	t.Cleanup(fetcher.Close)
	request, slot := requestOf(terms{probability: 1, expiry: time.Minute, duration: time.Hour}), events.SlotID{1}
	_, err = fetcher.Download(t.Context(), events.DownloadJob{
		Request: request, Slot: slot, Index: 1, Until: time.Now().Add(time.Hour),
		Grant: func(context.Context, events.Bytes) error { return nil },
	})
	ok(t, err)
	return porttest.ProverWorld{
		Prover: &wholeReader{repo: repo, sparing: sparing},
		Job: events.ProofJob{
			Slot: slot, SlotIndex: 1, DataSetRoot: request.Content.MerkleRoot, Challenge: events.Challenge{5},
		},
		Accepts: func(j events.ProofJob, p events.Proof) bool { return p == numberFor(j) },
	}
}
