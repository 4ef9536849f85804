package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
)

// initTyping runs init as in a terminal where these lines are typed.
func initTyping(t *testing.T, dir string, lines []string, args ...string) (code int, out, questions string) {
	t.Helper()
	return typing(t, dir, lines, nil, append([]string{"init"}, args...)...)
}

// typing runs a command as in a terminal where these lines are typed, and these passwords, which are not shown.
func typing(t *testing.T, dir string, lines, passwords []string, args ...string) (code int, out, questions string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{App: &cli.App{
		Stdin: strings.NewReader(strings.Join(lines, "\n") + "\n"), Stdout: &stdout, Stderr: &stderr, Asks: true,
		Hidden: func() (string, error) {
			if len(passwords) == 0 {
				return "", io.EOF
			}
			typed := passwords[0]
			passwords = passwords[1:]
			return typed, nil
		},
		Environ: []string{"HOME=" + dir}, Now: time.Now,
	}}
	code = a.run(t.Context(), args)
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
		"here", "none", // A path that is not absolute, and no password.
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
		"--content-sources", "none", "--key", "new", "--account-password-file", "none", "--no-offer",
		"--api-listen", "127.0.0.1:0")
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
		code, out, said := initTyping(t, dir, []string{data, "1GiB", "", "", "", "", "none", "none"}, args...)
		if code != exitFailed || !strings.Contains(said, "run the same command with sudo -u ") {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, said)
		}
		if names, err := os.ReadDir(data); err != nil || len(names) > 0 {
			t.Errorf("%v: something was written: %v, %v", args, names, err)
		}
	}
}

func TestInitEncryptsTheKeyWithATypedPassword(t *testing.T) {
	dir := t.TempDir()
	data, file := filepath.Join(dir, "host"), filepath.Join(dir, "else", "password")
	code, out, said := typing(t, dir, []string{file}, []string{"", "one", "other", "secret of mine", "secret of mine"},
		"init", "--data-dir", data, "--quota", "1GiB", "--chain-endpoint", "dev", "--content-sources", "none",
		"--key", "new", "--no-offer", "--api-listen", "none")
	if code != exitOK || strings.Count(said, "the second is another one") != 2 || strings.Contains(out+said, "secret of") {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	text, err := os.ReadFile(filepath.Join(data, "account.key"))
	if err != nil || !keys.Encrypted(text) {
		t.Fatalf("%v: %s", err, text)
	}
	if _, err := keys.Load(filepath.Join(data, "account.key"), "secret of mine"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the password's file: %v, %v", info, err)
	}
	settings, err := os.ReadFile(filepath.Join(data, "hostnode.yaml"))
	if err != nil || !strings.Contains(string(settings), "\n  passwordFile: "+file+"\n") {
		t.Errorf("the settings do not name it: %v", err)
	}
}

// wallet is a keystore that opens quickly, with the password "mine".
const wallet = `{"address":"f39fd6e51aad88f6f4ce6ab8827279cfffb92266","crypto":{"cipher":"aes-128-ctr",` +
	`"ciphertext":"dab10b7e478718a34eae478237c9bd51673095b66b4b44ee3b7f7dc64b5eace2",` +
	`"cipherparams":{"iv":"2160a4fb732849e75166c49a8a045aef"},"kdf":"scrypt",` +
	`"kdfparams":{"dklen":32,"n":2,"p":1,"r":8,` +
	`"salt":"30fd5700f5896d80b74e90e4c7eeab83db1b91a4585af93116780a63f94ac6aa"},` +
	`"mac":"f11b1e4f30ef0439c554997fe8ebf04d8a1c3c8a43ac55d0c4a3a49c0035e142"},` +
	`"id":"a70a9771-71e2-4062-9670-3256d2e176c3","version":3}`

func TestAKeystoreIsImportedWithItsTypedPassword(t *testing.T) {
	dir := t.TempDir()
	from, file := filepath.Join(dir, "wallet.json"), filepath.Join(dir, "password")
	if err := os.WriteFile(from, []byte(wallet), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"key", "import", from, "--data-dir", filepath.Join(dir, "host"), "--account-password-file", file}
	code, _, said := typing(t, dir, nil, []string{"guessed"}, args...)
	if code != exitFailed || !strings.Contains(said, "key-password") {
		t.Errorf("another password: exit code %d\n%s", code, said)
	}
	if code, _, said := typing(t, dir, nil, nil, args...); code != exitUsage {
		t.Errorf("no password: exit code %d\n%s", code, said)
	}
	if exists(file) || exists(filepath.Join(dir, "host")) {
		t.Error("something was written")
	}
	code, out, said := typing(t, dir, nil, []string{"mine"}, args...)
	if code != exitOK || !strings.Contains(out, "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
}
