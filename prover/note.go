package prover

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/consensys/gnark"

	"github.com/hostnode/hostnode/internal/durable"
)

// To compile the circuit takes long and much memory (for 100 samples 22 s and 2 GB), and a start with
// kept keys needs only its hash, which names their directory. So the hash is kept beside them, in a note.
// It is believed only of a circuit that was made of the same things: the note names their sum, its origin.

// sources are those of the circuit. All that this package and those below it have count, rather than a list
// of files that somebody has to keep complete.
//
//go:embed *.go merkle/*.go poseidon2/*.go
var sources embed.FS

// libraries are the modules that the compiler of circuits consists of.
const libraries = "github.com/consensys/"

// originOf is the sum of all that a circuit depends on: its sizes, its sources, and the compiler. Empty: a part of
// the compiler has no sum of its own, as when it is a directory, so nobody can say whether it is another one.
func originOf(p Params, from fs.FS) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%+v\ngnark %s\n", p, gnark.Version)
	if build, known := debug.ReadBuildInfo(); known {
		fmt.Fprintln(sum, build.GoVersion)
		for _, m := range build.Deps { // A test binary names none; then the version above has to do.
			if !strings.HasPrefix(m.Path, libraries) {
				continue
			}
			if m.Replace != nil {
				m = m.Replace
			}
			if m.Sum == "" {
				return "", nil
			}
			fmt.Fprintln(sum, m.Path, m.Version, m.Sum)
		}
	}
	err := fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		source, err := fs.ReadFile(from, path)
		fmt.Fprintf(sum, "%s %x\n", path, sha256.Sum256(source))
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

// note is what is kept of a compiled circuit.
type note struct{ path, origin string }

func noteFor(p Params, from fs.FS, dir string) (note, error) {
	origin, err := originOf(p, from)
	name := fmt.Sprintf("circuit-%d-%d-%d", p.Samples, p.MaxDepth, p.MaxLog2NSlots)
	return note{filepath.Join(dir, name), origin}, err
}

// line is the content of the note. Its last word is a sum over the others.
func (n note) line(hash string) []byte {
	words := n.origin + " " + hash
	return fmt.Appendf(nil, "%s %x\n", words, sha256.Sum256([]byte(words)))
}

// hash is the circuit's. Empty: there is no note, it is damaged, or it is about a circuit of another origin.
func (n note) hash() string {
	content, err := os.ReadFile(n.path)
	if words := strings.Fields(string(content)); err == nil && n.origin != "" && len(words) == 3 {
		if hash := words[1]; len(hash) == hex.EncodedLen(sha256.Size) && bytes.Equal(content, n.line(hash)) {
			return hash
		}
	}
	return ""
}

// keep writes the note. Where it cannot be written, the next start compiles again.
func (n note) keep(hash string) {
	if n.origin != "" && n.hash() != hash {
		_ = durable.Replace(n.path, n.line(hash))
	}
}
