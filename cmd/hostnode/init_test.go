package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

// initTyping runs init as in a terminal where these lines are typed.
func initTyping(t *testing.T, dir string, lines []string, args ...string) (code int, out, questions string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{App: &cli.App{
		Stdin: strings.NewReader(strings.Join(lines, "\n") + "\n"), Stdout: &stdout, Stderr: &stderr, Asks: true,
		Environ: []string{"HOME=" + dir}, Now: time.Now,
	}}
	code = a.run(t.Context(), append([]string{"init"}, args...))
	return code, stdout.String(), stderr.String()
}

func TestInitAsksUntilTheAnswerCanBeUsed(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "host")
	code, out, questions := initTyping(t, dir, []string{
		data,
		"a lot", "3GiB", // The first is no size.
		"", // The development chain.
		"", // What its client serves.
		"no-such-file", "new",
		"none",         // No page.
		"4GiB", "2GiB", // More than the quota, and less.
		"10d",
		"1 ABC/GiB/month", "2 TST/GiB/month",
		"5 TST",
	})
	if code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, questions)
	}
	for _, want := range []string{
		"Directory of all that the host stores [" + filepath.Join(dir, ".local/share/hostnode") + "]: ",
		"  invalid setting: quota", "no such file", "the quota is 3 GiB", "the market pays in TST",
	} {
		if !strings.Contains(questions, want) {
			t.Errorf("it does not say %q:\n%s", want, questions)
		}
	}
	for _, want := range []string{"10 d", "≈2", "5 TST of 5 TST", "hostnode run --data-dir " + data} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not print %q:\n%s", want, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(data, "hostnode.yaml"))
	if err != nil || !strings.Contains(string(text), "\nquota: 3GiB\n") {
		t.Errorf("the file: %v\n%s", err, text)
	}
}

func TestInitAsksNothingTwiceAndNothingThatAFlagAnswers(t *testing.T) {
	dir := t.TempDir()
	code, out, questions := initTyping(t, dir, []string{"2GiB"}, "--data-dir", filepath.Join(dir, "host"),
		"--chain-endpoint", "/dev.ipc", "--chain-contract", "0x5fbdb2315678afecb367f032d93f642f64180aa3",
		"--content-sources", "none", "--key", "new", "--no-offer", "--api-listen", "127.0.0.1:0")
	if code != exitOK || strings.Count(questions, ": ") != 1 || !strings.Contains(questions, "The most that it may keep") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, questions)
	}
}

func TestInitEndsWithItsInputAndWritesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, lines := range [][]string{{""}, {"", "1GiB", "dev"}, {"", "1GiB", "dev", ""}, {"", "x", "x", "x", "x", "x", "1GiB"}} {
		code, out, questions := initTyping(t, dir, lines)
		if code != exitUsage {
			t.Errorf("%q: exit code %d\n%s%s", lines, code, out, questions)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, ".local")); err == nil {
		t.Error("something was written")
	}
}

func TestInitAsRootLeavesAnothersDirectoryAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a directory of another user")
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "host")
	const other = 65534
	if err := errors.Join(os.Mkdir(data, 0o700), os.Chown(data, other, other)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--yes", "--data-dir", data}, nil} { // By a flag, and by an answer.
		code, out, said := initTyping(t, dir, []string{data, "1GiB", "", "", "", "none", "none"}, args...)
		if code != exitFailed || !strings.Contains(said, "run the same command with sudo -u ") {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, said)
		}
		if names, err := os.ReadDir(data); err != nil || len(names) > 0 {
			t.Errorf("%v: something was written: %v, %v", args, names, err)
		}
	}
}
