package prover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	groth16 "github.com/consensys/gnark/backend/groth16/bn254"
	cs "github.com/consensys/gnark/constraint/bn254"
	"github.com/gofrs/flock"
)

// Keys are a compiled circuit with its proving and verifying key. They never change and are safe
// for concurrent use.
type Keys struct {
	params      Params
	circuitHash string // SHA-256, in hexadecimal, of the compiled circuit
	system      *cs.R1CS
	proving     *groth16.ProvingKey
	verifying   VerifyingKey
	// development: DevelopmentKeys made the keys. Whoever ran it could have kept what is
	// needed to forge proofs: never use them for real money.
	development bool
}

// Constraints returns the number of constraints of the circuit.
func (k *Keys) Constraints() int { return k.system.GetNbConstraints() }

// VerifyingKey returns the points for the verifier contract.
func (k *Keys) VerifyingKey() VerifyingKey { return k.verifying }

// Hash is VerifyingKey().Hash().
func (k *Keys) Hash() string { return k.verifying.Hash() }

// Progress is called with a few words about the next step of a slow call. It may be nil.
type Progress func(step string)

func (p Progress) say(step string) {
	if p != nil {
		p(step)
	}
}

// DevelopmentKeys returns the development keys for a circuit from the cache in dir. If there are
// none it makes them first, which takes about ten seconds on two cores for five samples. neededBy
// says what depends on keys that were made before, such as a contract; then none are made, because
// no others can replace them, and the error is ErrKeysMissing. Empty: nothing does. Damaged keys are
// ErrKeysDamaged, and are left as they are: a backup, or the same files elsewhere, may mend them.
//
// Keys are in dir/development-<circuit hash>/: circuit.ccs, proving.key, verifying.key and
// meta.json, which has the kind, the sizes and the checksum of every file. The directory appears
// complete, by renaming, so what a crash leaves while keys are made is not among it, and they are
// made once more. A lock file next to it makes a second process wait, which then gets the
// same keys. New keys need a verifier contract with the new verifying key: compare Hash with that
// of the contract.
//
// The circuit is compiled only if there are no keys for it, or there is no note of its hash (note.go).
//
// ctx ends the waiting, but not a set-up that has begun.
func DevelopmentKeys(ctx context.Context, p Params, dir, neededBy string, say Progress) (*Keys, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make key directory: %w", err)
	}
	kept, err := noteFor(p, sources, dir)
	if err != nil {
		return nil, fmt.Errorf("read the circuit's sources: %w", err)
	}
	if hash := kept.hash(); hash != "" {
		say.say("load keys")
		if keys, err := readKeys(nil, hash, p, homeOf(dir, hash)); !errors.Is(err, ErrKeysMissing) {
			return keys, err
		}
	}
	system, hash, err := compileWithHash(p, say)
	if err != nil {
		return nil, err
	}
	keys, err := keysOf(ctx, system, hash, p, dir, neededBy, say)
	if err == nil {
		kept.keep(hash)
	}
	return keys, err
}

// PresentKeys returns the development keys for a circuit that are in the cache in dir. It makes and writes nothing;
// when keys are there without a note of their circuit, that is compiled. ErrKeysMissing: there are none.
func PresentKeys(p Params, dir string, say Progress) (*Keys, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	kept, err := noteFor(p, sources, dir)
	if err != nil {
		return nil, fmt.Errorf("read the circuit's sources: %w", err)
	}
	if hash := kept.hash(); hash != "" {
		return readKeys(nil, hash, p, homeOf(dir, hash))
	}
	if homes, _ := filepath.Glob(homeOf(filepath.Clean(dir), "*")); len(homes) == 0 { // The pattern is sound.
		return nil, fmt.Errorf("%s: %w", dir, ErrKeysMissing)
	}
	system, hash, err := compileWithHash(p, say)
	if err != nil {
		return nil, err
	}
	return readKeys(system, hash, p, homeOf(dir, hash))
}

// homeOf is the directory with the keys for a circuit.
func homeOf(dir, hash string) string {
	return filepath.Join(dir, developmentKind+"-"+hash[:min(len(hash), directoryHashDigits)])
}

// keysOf loads the keys for a compiled circuit, or makes them.
func keysOf(
	ctx context.Context, system *cs.R1CS, hash string, p Params, dir, neededBy string, say Progress,
) (*Keys, error) {
	home := homeOf(dir, hash)
	lock, err := lockFile(ctx, home+".lock", say)
	if err != nil {
		return nil, fmt.Errorf("lock key directory: %w", err)
	}
	defer func() { _ = lock.Close() }()

	say.say("look for keys")
	keys, err := readKeys(system, hash, p, home)
	if !errors.Is(err, ErrKeysMissing) {
		return keys, err
	}
	if neededBy != "" {
		return nil, fmt.Errorf("%s was set up with keys that are not there: %w", neededBy, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("make keys: %w", err)
	}
	say.say("make development keys, which may take up to a minute")
	keys, vk, err := setUp(system, hash, p)
	if err != nil {
		return nil, err
	}
	say.say("write keys")
	if err := writeKeys(keys, vk, home); err != nil {
		return nil, fmt.Errorf("write keys: %w", err)
	}
	return keys, nil
}

// lockPoll is the pause between two attempts to get a lock. The kernel offers no wait that a
// context could end.
const lockPoll = 100 * time.Millisecond

// lockFile takes an exclusive lock that the kernel releases when the process ends, however it ends.
// The file stays; removing it would let two processes lock two different files.
func lockFile(ctx context.Context, path string, say Progress) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetPermissions(0o644))
	free, err := lock.TryLock()
	if err == nil && !free {
		say.say("wait for another process that makes keys")
		_, err = lock.TryLockContext(ctx, lockPoll)
	}
	return lock, err
}

func compileWithHash(p Params, say Progress) (*cs.R1CS, string, error) {
	say.say("compile circuit")
	compiled, err := compile(p)
	if err != nil {
		return nil, "", err
	}
	hash := sha256.New() // The serialised circuit is the same in every build.
	if _, err := compiled.WriteTo(hash); err != nil {
		return nil, "", fmt.Errorf("hash circuit: %w", err)
	}
	// The builder of R1CS over the scalars of BN254 (compile) makes no other kind.
	return compiled.(*cs.R1CS), hex.EncodeToString(hash.Sum(nil)), nil
}

// setUp makes new keys. The secret of the set-up is only ever in memory.
func setUp(system *cs.R1CS, hash string, p Params) (*Keys, *groth16.VerifyingKey, error) {
	proving, verifying := &groth16.ProvingKey{}, &groth16.VerifyingKey{}
	if err := groth16.Setup(system, proving, verifying); err != nil {
		return nil, nil, fmt.Errorf("make keys: %w", err)
	}
	exported, err := exportKey(verifying)
	if err != nil {
		return nil, nil, fmt.Errorf("make keys: %w", err)
	}
	return &Keys{
		params: p, circuitHash: hash, system: system,
		proving: proving, verifying: exported, development: true,
	}, verifying, nil
}
