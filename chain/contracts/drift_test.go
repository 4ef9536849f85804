package contracts_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/contracts/contractstest"
)

// inputs lists what the artifacts are made from.
func inputs(t *testing.T) []string {
	t.Helper()
	files := []string{
		"compile.js", "generate.sh", "package-lock.json", "settings.json",
	}
	err := filepath.WalkDir("src", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".sol") {
			files = append(files, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatalf("walk sources: %v", err)
	}
	slices.Sort(files)
	return files
}

// On a machine with nothing but Go, this notices that a source was changed without running
// generate.sh.
func TestArtifactsAreMadeFromTheseSources(t *testing.T) {
	now := ""
	for _, file := range inputs(t) {
		data, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatalf("read input: %v", err)
		}
		now += fmt.Sprintf("%x  %s\n", sha256.Sum256(data), file)
	}
	recorded, err := os.ReadFile("artifacts/inputs.sha256")
	if err != nil {
		t.Fatalf("read record: %v", err)
	}
	if diff := cmp.Diff(string(recorded), now); diff != "" {
		t.Fatalf("run generate.sh: inputs changed (-recorded +now):\n%s", diff)
	}
}

type artifact struct {
	ABI json.RawMessage `json:"abi"`
	Bin string          `json:"bin"`
}

func TestBindingsAreMadeFromTheseArtifacts(t *testing.T) {
	got := map[string]*bind.MetaData{
		"Marketplace":       &bindings.MarketplaceMetaData,
		"Groth16Verifier":   &bindings.Groth16VerifierMetaData,
		"TestToken":         &bindings.TestTokenMetaData,
		"SectorProvider":    &bindings.SectorProviderMetaData,
		"InclusionVerifier": &bindings.InclusionVerifierMetaData,
		"DummyVerifier":     &contractstest.DummyVerifierMetaData,
		"RefusingToken":     &contractstest.RefusingTokenMetaData,
		"PublicInputsProbe": &contractstest.PublicInputsProbeMetaData,
		"EagerToken":        &contractstest.EagerTokenMetaData,
		"EagerProvider":     &contractstest.EagerProviderMetaData,
	}
	found := 0
	for _, file := range []string{"artifacts/bindings.json", "artifacts/contractstest.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read artifact: %v", err)
		}
		var combined struct {
			Contracts map[string]artifact `json:"contracts"`
		}
		if err := json.Unmarshal(data, &combined); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for path, want := range combined.Contracts {
			_, name, _ := strings.Cut(path, ":")
			if _, err := hex.DecodeString(want.Bin); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff("0x"+want.Bin, got[name].Bin); diff != "" {
				t.Fatalf("run generate.sh: code of %s differs", name)
			}
			if diff := cmp.Diff(plain(t, want.ABI), plain(t, json.RawMessage(got[name].ABI))); diff != "" {
				t.Fatalf("run generate.sh: interface of %s differs:\n%s", name, diff)
			}
			found++
		}
	}
	if found != len(got) {
		t.Fatalf("%d artifacts for %d bindings", found, len(got))
	}
}

// plain decodes an interface, with the type names as the generator of bindings changes them.
func plain(t *testing.T, data json.RawMessage) any {
	t.Helper()
	text := string(data)
	for _, kind := range []string{"struct ", "contract ", "enum "} {
		text = strings.ReplaceAll(text, `"`+kind, `"`+strings.TrimSpace(kind))
	}
	var decoded any
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatalf("decode interface: %v", err)
	}
	return decoded
}

func TestCompilerIsTheOnePinned(t *testing.T) {
	var manifest struct {
		DevDependencies map[string]string `json:"devDependencies"`
	}
	var combined struct {
		Version string `json:"version"`
	}
	for file, into := range map[string]any{
		"package.json": &manifest, "artifacts/bindings.json": &combined,
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	pinned := manifest.DevDependencies["solc"]
	if pinned == "" || !strings.HasPrefix(combined.Version, pinned+"+") {
		t.Fatalf("compiled with %q, pinned %q", combined.Version, pinned)
	}
}

// Where packages come from is configured on each machine.
func TestLockFileNamesNoRegistry(t *testing.T) {
	data, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatalf("read lock file: %v", err)
	}
	if !strings.Contains(string(data), `"integrity": "sha512-`) {
		t.Fatalf("the lock file has no digests")
	}
	if strings.Contains(string(data), `"resolved"`) {
		t.Fatalf("the lock file says where packages were downloaded")
	}
}
