//go:build e2e

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hostnode runs a command that must succeed, and returns its output.
func hostnode(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("hostnode %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// wantClean demands that the auditor finds nothing in a data directory.
func wantClean(t *testing.T, dir string) {
	t.Helper()
	if out := hostnode(t, "audit", "--data-dir", dir); !strings.HasPrefix(out, "CLEAN: ") || strings.HasPrefix(out, "CLEAN: 0") {
		t.Fatalf("audit of %s:\n%s", dir, out)
	}
}

// TestARecordIsAuditedCleanWhereverItIsMoved sells, copies the record in every way there is,
// and sells again with a restored one.
func TestARecordIsAuditedCleanWhereverItIsMoved(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	backup := filepath.Join(elsewhere, "backup")
	sellWithKills(t, dir, "", 3)
	hostnode(t, "backup", backup, "--data-dir", dir)
	wantClean(t, backup)

	file := filepath.Join(elsewhere, "record.jsonl")
	hostnode(t, "export", file, "--data-dir", dir)
	fromFile := filepath.Join(elsewhere, "from-file")
	hostnode(t, "import", file, "--data-dir", fromFile)
	wantClean(t, fromFile)

	server := startEventstore(t)
	hostnode(t, "export", "--to", server.url(), "--data-dir", dir)
	fromServer := filepath.Join(elsewhere, "from-server")
	hostnode(t, "import", "--from", server.url(), "--data-dir", fromServer)
	wantClean(t, fromServer)

	// As docs/record.md says.
	if err := os.Rename(filepath.Join(dir, "events"), filepath.Join(elsewhere, "events.old")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "views")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "events"), os.DirFS(filepath.Join(backup, "events"))); err != nil {
		t.Fatal(err)
	}
	wantClean(t, dir)
	if sum := sellWithKills(t, dir, "", 3); !sum.Paid || sum.AuditFindings != 0 {
		t.Fatalf("with the restored record: %+v", sum)
	}
	wantClean(t, dir)
}
