//go:build e2e

package demo

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// furtherHosts starts further hosts with the key of the one that sells: on this machine, and as
// if on another one, where there is no lock: with nothing but the key, and with a backup that
// is older than the newest proof. None of them starts, and the one that sells goes on.
func furtherHosts() chainFault {
	return chainFault{"further hosts with the same key", func(r *rig) {
		r.nextProof() // So that the chain has something of it.
		backup := filepath.Join(r.t.TempDir(), "backup")
		r.must(r.program(r.t.Context(), os.TempDir(), "backup", backup, "--data-dir", r.box.dir.Root).Run())
		r.nextProof()
		bare := filepath.Join(r.t.TempDir(), "bare")
		r.must(os.Mkdir(bare, 0o700))
		for _, dir := range []string{bare, backup} {
			key, err := os.ReadFile(filepath.Join(r.box.dir.Root, "account.key"))
			r.must(err)
			r.must(os.WriteFile(filepath.Join(dir, "account.key"), key, 0o600))
		}
		// The locks of a machine are in its directory for temporary files. There is a socket,
		// too, so the path is short, whatever the test's name.
		elsewhere, err := os.MkdirTemp("", "hn")
		r.must(err)
		defer func() { r.must(os.RemoveAll(elsewhere)) }()
		r.refused(bare, os.TempDir(), "[account-in-use]", r.box.dir.Root)
		r.refused(bare, elsewhere, "[host-elsewhere]", "hosts 3 slots", "--take-over")
		r.refused(backup, elsewhere, "[host-elsewhere]", "the record of this data directory knows of", "--take-over")
		r.nextProof()
	}}
}

// program is the program with a directory for its temporary files.
func (r *rig) program(ctx context.Context, temp string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.box.binary, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	return cmd
}

// refused runs a further host in a directory; it must end by itself and say why.
func (r *rig) refused(dir, temp string, words ...string) {
	r.t.Helper()
	args := slices.Clone(r.box.args)
	args[slices.Index(args, "--data-dir")+1] = dir
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute)
	defer cancel()
	out, err := r.program(ctx, temp, args...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		r.t.Fatalf("a further host in %s: %v\n%s", dir, err, out)
	}
	for _, word := range words {
		if !strings.Contains(string(out), word) {
			r.t.Errorf("a further host in %s does not say %q:\n%s", dir, word, out)
		}
	}
}
