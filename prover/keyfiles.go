package prover

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	groth16 "github.com/consensys/gnark/backend/groth16/bn254"
	cs "github.com/consensys/gnark/constraint/bn254"

	"github.com/hostnode/hostnode/internal/durable"
)

const (
	developmentKind = "development"
	ceremonyKind    = "ceremony"

	circuitFile   = "circuit.ccs"
	provingFile   = "proving.key"
	verifyingFile = "verifying.key"
	metaFile      = "meta.json"

	// A key directory is named by directoryHashDigits of the circuit's hash; meta.json has all of
	// them.
	directoryHashDigits = 16

	// maxMetaBytes limits meta.json; ours has about 1 KB.
	maxMetaBytes = 64 << 10

	// fileBuffer is the size of read and write buffers in bytes.
	fileBuffer = 1 << 20
)

// meta is the content of meta.json.
type meta struct {
	// Kind is "development" or "ceremony".
	Kind    string `json:"kind"`
	Warning string `json:"warning,omitempty"`
	Params  Params `json:"params"`
	// Circuit is the SHA-256 of circuit.ccs.
	Circuit string `json:"circuitSha256"`
	// KeyHash is VerifyingKey.Hash.
	KeyHash string `json:"keyHash"`
	// Files maps each file to its SHA-256.
	Files map[string]string `json:"filesSha256"`
}

const developmentWarning = "Made on one machine. Whoever made these keys can forge proofs. " +
	"For development networks only."

// readKeys loads the keys in home. Every file is checked before it is decoded: the proving key is a
// memory dump that the library reads without checks. Without a system, the circuit is loaded, too.
func readKeys(system *cs.R1CS, hash string, p Params, home string) (*Keys, error) {
	m, err := readMeta(home)
	if err != nil {
		return nil, err
	}
	if m.Circuit != hash || m.Files[circuitFile] != hash || m.Params != p {
		return nil, fmt.Errorf("%s: it says circuit %s, and the directory is that of %s: %w",
			filepath.Join(home, metaFile), m.Circuit, hash, ErrKeysDamaged)
	}
	for _, name := range []string{circuitFile, provingFile, verifyingFile} {
		if err := checkFile(filepath.Join(home, name), m.Files[name]); err != nil {
			return nil, err
		}
	}
	if system == nil {
		system = &cs.R1CS{}
		if err := decodeFile(filepath.Join(home, circuitFile), func(r io.Reader) error {
			_, err := system.ReadFrom(r)
			return err
		}); err != nil {
			return nil, err
		}
	}
	proving, verifying := &groth16.ProvingKey{}, &groth16.VerifyingKey{}
	if err := decodeFile(filepath.Join(home, provingFile), proving.ReadDump); err != nil {
		return nil, err
	}
	if err := decodeFile(filepath.Join(home, verifyingFile), func(r io.Reader) error {
		_, err := verifying.ReadFrom(r)
		return err
	}); err != nil {
		return nil, err
	}
	exported, err := exportKey(verifying)
	if err != nil {
		return nil, err
	}
	if exported.Hash() != m.KeyHash || !samePair(proving, verifying) {
		return nil, fmt.Errorf("keys in %s do not belong together: %w", home, ErrKeysDamaged)
	}
	return &Keys{
		params: p, circuitHash: hash, system: system,
		proving: proving, verifying: exported, development: m.Kind == developmentKind,
	}, nil
}

func samePair(pk *groth16.ProvingKey, vk *groth16.VerifyingKey) bool {
	return pk.G1.Alpha == vk.G1.Alpha && pk.G2.Beta == vk.G2.Beta && pk.G2.Delta == vk.G2.Delta
}

func readMeta(home string) (meta, error) {
	file, err := os.Open(filepath.Join(home, metaFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(home); statErr == nil {
			return meta{}, fmt.Errorf("%s has no %s: %w", home, metaFile, ErrKeysDamaged)
		}
		return meta{}, fmt.Errorf("%s: %w", home, ErrKeysMissing)
	}
	if err != nil {
		return meta{}, fmt.Errorf("read keys: %w", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxMetaBytes))
	if err != nil {
		return meta{}, fmt.Errorf("read keys: %w", err)
	}
	m, err := parseMeta(raw)
	if err != nil {
		return meta{}, fmt.Errorf("%s: %w", filepath.Join(home, metaFile), err)
	}
	return m, nil
}

func parseMeta(raw []byte) (meta, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var m meta
	if err := decoder.Decode(&m); err != nil {
		return meta{}, fmt.Errorf("%w: %w", ErrKeysDamaged, err)
	}
	if m.Kind != developmentKind && m.Kind != ceremonyKind {
		return meta{}, fmt.Errorf("kind %q: %w", m.Kind, ErrKeysDamaged)
	}
	return m, nil
}

// checkFile returns ErrKeysDamaged unless the file exists and has that checksum.
func checkFile(path, want string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: %w", path, ErrKeysDamaged)
	}
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		return fmt.Errorf("%s has checksum %s, want %s: %w", path, got, want, ErrKeysDamaged)
	}
	return nil
}

func decodeFile(path string, decode func(io.Reader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	defer file.Close()
	if err := decode(bufio.NewReaderSize(file, fileBuffer)); err != nil {
		return fmt.Errorf("decode %s: %w: %w", path, ErrKeysDamaged, err)
	}
	return nil
}

// writeKeys writes the files next to home and renames the whole directory. It replaces nothing. The
// caller holds the lock.
func writeKeys(k *Keys, vk *groth16.VerifyingKey, home string) error {
	fresh := home + ".new"
	if err := os.RemoveAll(fresh); err != nil { // Left by a process that was killed.
		return err
	}
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return err
	}
	m := meta{
		Kind: developmentKind, Warning: developmentWarning, Params: k.params,
		Circuit: k.circuitHash, KeyHash: k.Hash(), Files: map[string]string{},
	}
	for name, encode := range map[string]func(io.Writer) error{
		circuitFile:   func(w io.Writer) error { _, err := k.system.WriteTo(w); return err },
		provingFile:   k.proving.WriteDump,
		verifyingFile: func(w io.Writer) error { _, err := vk.WriteRawTo(w); return err },
	} {
		sum, err := writeFile(filepath.Join(fresh, name), encode)
		if err != nil {
			return err
		}
		m.Files[name] = sum
	}
	raw, _ := json.MarshalIndent(m, "", "  ") // Texts and numbers.
	if _, err := writeFile(filepath.Join(fresh, metaFile), func(w io.Writer) error {
		_, err := w.Write(append(raw, '\n'))
		return err
	}); err != nil {
		return err
	}
	if err := durable.Sync(fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, home); err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(home))
}

// writeFile writes a file durably and returns its checksum.
func writeFile(path string, encode func(io.Writer) error) (sum string, err error) {
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	hash := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(file, hash), fileBuffer)
	if err = encode(buffered); err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	return hex.EncodeToString(hash.Sum(nil)), err
}
