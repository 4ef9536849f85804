package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

// drafted is a draft from flags, in a new directory.
func drafted(t rapid.TB, dir string, args ...string) (Loaded, string) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(append(args, "--data-dir", dir)); err != nil {
		t.Fatal(err)
	}
	l, file, err := Draft(Sources{Environ: []string{"HOME=" + dir}, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return l, file
}

func TestADraftIsReadAsItWasGiven(t *testing.T) {
	dir := t.TempDir()
	text := rapid.StringMatching(`[^,\x00]*`).Filter(func(s string) bool { return s == strings.TrimSpace(s) })
	rapid.Check(t, func(t *rapid.T) {
		l, file := drafted(t, dir, "--chain-endpoint", "ws://h/"+text.Draw(t, "endpoint"), "--quota", "3GiB",
			"--chain-contract", "0x5fbdb2315678afecb367f032d93f642f64180aa3", "--nodes-watch",
			"--nodes-notes", "0x5fbdb2315678afecb367f032d93f642f64180aa3="+text.Draw(t, "note"))
		if l.Validate() != nil {
			return // What is invalid is never written.
		}
		if err := os.WriteFile(file, []byte(l.Commented()), 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := Load(Sources{Environ: []string{"HOME=" + dir, "HOSTNODE_CONFIG=" + file}})
		if err != nil {
			t.Fatalf("%v\n%s", err, l.Commented())
		}
		if diff := cmp.Diff(l.Config, read.Config); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestADraftNamesOnlyWhatWasGivenAndTheDirectory(t *testing.T) {
	dir := t.TempDir()
	l, file := drafted(t, dir, "--quota", "3GiB")
	if file != filepath.Join(dir, FileName) || !l.Given("quota") || l.Given("chain.endpoint") || l.Quota != 3<<30 {
		t.Errorf("the file is %s; %v", file, l.sources)
	}
	want := strings.Replace(Example(), "#quota: 20GiB", "quota: 3GiB", 1)
	want = strings.Replace(want, `#dataDir: ""`, "dataDir: "+dir, 1)
	if diff := cmp.Diff(want, l.Commented()); diff != "" {
		t.Error(diff)
	}
}
