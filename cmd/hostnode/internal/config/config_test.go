package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
)

var rewrite = flag.Bool("rewrite", false, "write golden files")

// write makes a configuration file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads a configuration with a home directory of its own, variables and arguments.
func load(t *testing.T, environ []string, args ...string) (Loaded, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return Loaded{}, err
	}
	return Load(Sources{Environ: append([]string{"HOME=" + t.TempDir(), "PATH=/bin"}, environ...), Flags: flags})
}

func TestWithoutSourcesAllIsDefault(t *testing.T) {
	home := t.TempDir()
	l, err := Load(Sources{Environ: []string{"HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.DataDir = filepath.Join(home, ".local/share/hostnode")
	want.Account.KeyFile = filepath.Join(want.DataDir, "account.key")
	want.Prover.KeysDir = filepath.Join(home, ".cache/hostnode/keys")
	if diff := cmp.Diff(want, l.Config); diff != "" {
		t.Fatal(diff)
	}
	if l.Quota != 20<<30 || l.Sales.MaxWorkers != 3 || l.Devchain.Period != 20*time.Second {
		t.Fatalf("defaults are %+v", l.Config)
	}
	for _, s := range l.Settings() {
		if s.Source != "default" {
			t.Errorf("%s comes from %s", s.Key, s.Source)
		}
	}
}

func TestFlagsWinOverEnvironmentOverFileOverDefaults(t *testing.T) {
	path := write(t, "quota: 1GiB\nsales:\n  maxWorkers: 4\n  proofBlocks: 7\ncontent:\n  sources:\n    - http://a:1\n")
	l, err := load(t, []string{
		"HOSTNODE_CONFIG=" + path, "HOSTNODE_QUOTA=2GiB", "HOSTNODE_SALES_MAX_WORKERS=5",
		"HOSTNODE_CONTENT_SOURCES=http://b:1, http://c:2", "HOSTNODE_TEST_ANYTHING=x",
	}, "--quota", "3GiB")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for _, s := range l.Settings() {
		if s.Source != "default" {
			got[s.Key] = [2]string{s.Value, s.Source}
		}
	}
	want := map[string][2]string{
		"quota":             {"3GiB", "flag --quota"},
		"sales.maxWorkers":  {"5", "environment HOSTNODE_SALES_MAX_WORKERS"},
		"sales.proofBlocks": {"7", "file " + path + ":4"},
		"content.sources":   {"http://b:1,http://c:2", "environment HOSTNODE_CONTENT_SOURCES"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if l.File != path {
		t.Fatalf("file is %q", l.File)
	}
}

func TestTheFileInTheDataDirectoryIsFound(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("quota: 5MiB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := load(t, nil, "--data-dir", dir)
	if err != nil || l.Quota != 5<<20 {
		t.Fatalf("quota is %d, %v", l.Quota, err)
	}
}

func TestAFileThatMovesItsOwnDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("dataDir: /elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, nil, "--data-dir", dir); !errors.Is(err, ErrInvalid) ||
		!strings.Contains(err.Error(), "names another one") {
		t.Fatalf("got %v", err)
	}
}

func TestMistakesInTheFileAreNamedWithTheirLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a typo", "sales:\n  maxWorker: 3\n", ":2: invalid setting: unknown key sales.maxWorker; did you mean sales.maxWorkers?"},
		{"an unknown section", "a: 1\nsails:\n  x: 1\n", ":1: invalid setting: unknown key a"},
		{"a word for a number", "sales:\n  maxWorkers: many\n", `:2: invalid setting: sales.maxWorkers = "many": not a whole number; allowed: 1 to 256`},
		{"a negative number", "\nsales:\n  maxWorkers: -1\n", `:3: invalid setting: sales.maxWorkers = "-1": too small; allowed: 1 to 256`},
		{"zero", "quota: 0\n", `:1: invalid setting: quota = "0": too small; allowed: 1MiB to 1EiB`},
		{"a bare unit", "quota: 20G\n", `:1: invalid setting: quota = "20G": not a size: "20G" has the unknown unit "G"`},
		{"another choice", "log:\n  level: loud\n", `:2: invalid setting: log.level = "loud": no such choice; allowed: error, warn, info, debug, trace`},
		{"a key twice", "quota: 1GiB\nquota: 2GiB\n", ""},
		{"a section as a value", "log: loud\n", ":1: invalid setting: log must hold keys and values"},
		{"a list at the top", "- quota\n", ":1: invalid setting: the file must hold keys and values"},
		{"a list for a value", "quota: [1GiB]\n", "it takes one value, not a list"},
		{"an alias", "log: &x {level: info}\nchain: *x\n", ":2: invalid setting: chain must hold keys and values"},
		{"a map in a list", "content:\n  sources: [{a: 1}]\n", "an entry of the list is no plain value"},
		{"two documents", "quota: 1GiB\n---\nquota: 2GiB\n", "second document"},
		{"no YAML", "quota: [\n", "invalid setting"},
		{"a duration without a unit", "storage:\n  fetchTimeout: 30\n", "not a duration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.text)
			_, err := load(t, nil, "--config", path)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), path) {
				t.Fatalf("got %v, want ErrInvalid with %q", err, c.want)
			}
		})
	}
}

func TestSettingsThatContradictEachOtherAreRefused(t *testing.T) {
	const contract = "--chain-contract=0x00000000000000000000000000000000000000aa"
	for _, c := range []struct {
		want string
		args []string
	}{
		{"chain.contract", []string{contract}},
		{"chain.contract", []string{"--chain-endpoint=ws://127.0.0.1:8546"}},
		{"chain.contract", []string{"--chain-endpoint=ws://127.0.0.1:8546", "--chain-contract=0x12"}},
		{"zero address", []string{
			"--chain-endpoint=ws://h:1", "--chain-contract=0x0000000000000000000000000000000000000000",
		}},
		{"unknown scheme", []string{"--chain-endpoint=ftp://h", contract}},
		{"absolute path", []string{"--chain-endpoint=here.ipc", contract}},
		{"not a URL", []string{"--chain-endpoint=ws://", contract}},
		{"whole seconds", []string{"--devchain-period=2500ms"}},
		{"longer than devchain.period", []string{"--devchain-timeout=40s"}},
		{"same port", []string{"--devchain-http-port=8545", "--devchain-ws-port=8545"}},
		{"content.sources[1]", []string{"--content-sources=http://a:1,b:2"}},
		{"passwords", []string{"--content-sources=http://me:secret@a:1"}},
		{"sectors.contract", []string{"--sectors-contract=0x00000000000000000000000000000000000000bb"}},
		{"sectors.contract", []string{"--sectors-sealer=commd", "--chain-endpoint=ws://h:1", contract}},
		{"sectors.contract", []string{"--sectors-contract=0x12", "--chain-endpoint=ws://h:1", contract}},
		{"allowed: none, commd, sim, remote", []string{"--sectors-sealer=lotus"}},
		{"not a power of two", []string{"--sectors-size=3KiB"}},
		{"absolute path", []string{"--sectors-directory=here"}},
		{"sectors.maxDeposits", []string{"--sectors-max-deposits=much"}},
		{"sectors.withdrawMin", []string{"--sectors-withdraw-min=-1"}},
		{"shorter than sectors.retries.firstPause, 2h0m0s", []string{"--sectors-retries-first-pause=2h"}},
		{"sectors.retries.maxFailures", []string{"--sectors-retries-max-failures=0"}},
		{"sectors.proveMargin", []string{"--sectors-prove-margin=0"}},
		{"sectors.stepLimit", []string{"--sectors-step-limit=1y"}},
		{"sectors.remote.url", []string{"--sectors-sealer=remote"}},
		{"tokenFile", []string{"--sectors-sealer=remote", "--sectors-remote-url=https://me:secret@a"}},
		{"callbackListen too", []string{
			"--sectors-sealer=remote", "--sectors-remote-url=https://a", "--sectors-remote-callback=http://b:1",
		}},
		{"write host:port", []string{
			"--sectors-sealer=remote", "--sectors-remote-url=https://a", "--sectors-remote-callback-listen=here",
		}},
	} {
		_, err := load(t, nil, c.args...)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want ErrInvalid with %q", c.args, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v repeats the password", c.args, err)
		}
	}
}

func TestAnExternalChainNeedsEndpointAndContract(t *testing.T) {
	for _, endpoint := range []string{"ws://h:1", "https://h/key", "/run/geth.ipc"} {
		l, err := load(t, nil, "--chain-endpoint", endpoint,
			"--chain-contract", "0x00000000000000000000000000000000000000aa")
		if err != nil || l.Embedded() {
			t.Errorf("%s: embedded %v, %v", endpoint, l.Embedded(), err)
		}
	}
}

func TestUnknownVariablesAreRefused(t *testing.T) {
	_, err := load(t, []string{"HOSTNODE_QOUTA=1GiB"})
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "did you mean HOSTNODE_QUOTA?") {
		t.Fatalf("got %v", err)
	}
	_, err = load(t, []string{"HOSTNODE_SALES_MAX_WORKERS=0"})
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "HOSTNODE_SALES_MAX_WORKERS") {
		t.Fatalf("got %v", err)
	}
}

func TestANamedFileMustExist(t *testing.T) {
	if _, err := load(t, nil, "--config", "/nowhere/at/all.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

func TestAHugeFileIsRefused(t *testing.T) {
	path := write(t, strings.Repeat("# x\n", maxFileBytes/4+1))
	if _, err := load(t, nil, "--config", path); !errors.Is(err, ErrInvalid) {
		t.Fatalf("got %v", err)
	}
}

func TestNoHomeMeansThatTheDataDirectoryMustBeNamed(t *testing.T) {
	if _, err := Load(Sources{}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "--data-dir") {
		t.Fatalf("got %v", err)
	}
	l, err := Load(Sources{Environ: []string{"HOSTNODE_DATA_DIR=/srv/host"}})
	if err != nil || l.Prover.KeysDir != "/srv/host/cache/hostnode/keys" {
		t.Fatalf("keys in %q, %v", l.Prover.KeysDir, err)
	}
}

func TestDevelopmentChainsConfirmSooner(t *testing.T) {
	c := Default()
	if c.Confirmations(true) != 3 || c.Confirmations(false) != 12 || c.FinalBlocks(true) != 3 {
		t.Fatalf("%d and %d", c.Confirmations(true), c.Confirmations(false))
	}
	c.Chain.Confirmations = 5
	if c.Confirmations(true) != 5 || c.FinalBlocks(false) != 5 {
		t.Fatalf("%d and %d", c.Confirmations(true), c.FinalBlocks(false))
	}
	c.Sales.FinalBlocks = 7
	if c.FinalBlocks(false) != 7 {
		t.Fatalf("%d", c.FinalBlocks(false))
	}
}

func TestEverySettingHasDocumentationAndOneNameOfEachKind(t *testing.T) {
	comments := fieldComments()
	c := Default()
	seen := map[string]string{}
	for _, s := range settings(&c) {
		if len(comments[s.owner+"."+s.field.Name]) < 20 {
			t.Errorf("%s has no documentation", s.key)
		}
		for _, name := range []string{s.key, s.variable(), s.flag()} {
			if other, taken := seen[name]; taken && other != s.key {
				t.Errorf("%s and %s share the name %s", s.key, other, name)
			}
			seen[name] = s.key
		}
	}
}

func TestTheExampleIsCurrentAndLoads(t *testing.T) {
	const path = "../../../../docs/hostnode.example.yaml"
	if *rewrite {
		if err := os.WriteFile(path, []byte(Example()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Example(), string(text)); diff != "" {
		t.Fatalf("run this test with -rewrite: %s", diff)
	}
	// Also with every setting in force the file must be valid.
	for _, text := range []string{Example(), inForce(Example())} {
		l, err := load(t, nil, "--config", write(t, text))
		if err != nil {
			t.Fatal(err)
		}
		l.DataDir, l.Account.KeyFile, l.Prover.KeysDir = "", "", ""
		if diff := cmp.Diff(Default(), l.Config, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	}
}

// inForce takes the # away from settings: comments have a space behind theirs.
func inForce(example string) string {
	var out strings.Builder
	for line := range strings.Lines(example) {
		before, after, found := strings.Cut(line, "#")
		if found && strings.TrimSpace(before) == "" && !strings.HasPrefix(after, " ") && after != "\n" {
			line = before + after
		}
		out.WriteString(line)
	}
	return out.String()
}

func FuzzYAML(f *testing.F) {
	for _, text := range []string{inForce(Example()), "a: 1", "quota: [1]", "log: {level: info}", "x: &a [*a]", "---\n---\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := Loaded{Config: Default(), sources: map[string]string{}}
		if err := l.applyYAML("f.yaml", text); err != nil {
			if !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for _, s := range settings(&l.Config) {
			if err := s.check(s.value); err != nil {
				t.Fatalf("%q: %s = %s: %v", text, s.key, s.text(), err)
			}
		}
	})
}
