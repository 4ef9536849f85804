//go:build e2e

package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/signer/signertest"
)

// TestAHostWhoseKeyIsInASignerIsPaid has the key in a fake of clef, or in the clef whose program
// HOSTNODE_TEST_CLEF names, with the rules of docs/signer.md.
func TestAHostWhoseKeyIsInASignerIsPaid(t *testing.T) {
	newRigWith(t, 120*time.Millisecond, 60*time.Second, false, func(r *rig) []string {
		var endpoint string
		if program := os.Getenv("HOSTNODE_TEST_CLEF"); program != "" {
			endpoint = r.startClef(program)
		} else {
			endpoint = signertest.New(t, r.key).URL
		}
		return []string{"--account-signer", endpoint, "--account-address", crypto.PubkeyToAddress(r.key.PublicKey).String()}
	}).sell(t, 6)
}

// startClef starts a clef that has the host's key, and returns its socket.
func (r *rig) startClef(program string) string {
	t := r.t
	t.Helper()
	dir, err := os.MkdirTemp("", "clef") // Short, because of the socket in it.
	r.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const password = "correct horse"
	account := crypto.PubkeyToAddress(r.key.PublicKey).String()
	clef := func(passwords int, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, append([]string{
			"--suppress-bootwarn", "--lightkdf", "--configdir", dir, "--keystore", filepath.Join(dir, "keys"),
		}, args...)...)
		cmd.Dir = dir // It writes a log and a list of methods where it is.
		cmd.Stdin = strings.NewReader(strings.Repeat(password+"\n", passwords))
		return cmd
	}
	key := filepath.Join(dir, "key")
	r.must(os.WriteFile(key, []byte(hex.EncodeToString(crypto.FromECDSA(r.key))), 0o600))
	rules := filepath.Join(dir, "rules.js")
	text := r.rules()
	r.must(os.WriteFile(rules, []byte(text), 0o600))
	for _, cmd := range []*exec.Cmd{
		clef(2, "init"), clef(2, "importraw", key), clef(1, "attest", fmt.Sprintf("%x", sha256.Sum256([]byte(text)))),
		clef(3, "setpw", account),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	id, err := r.eth.ChainID(t.Context())
	r.must(err)
	cmd := clef(1, "--chainid", id.String(), "--rules", rules, "--nousb")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	r.must(cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	socket := filepath.Join(dir, "clef.ipc")
	r.await("clef", func(ctx context.Context) bool {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return socket
}

// rules are those of docs/signer.md, for the contracts and the account of this chain.
func (r *rig) rules() string {
	t := r.t
	t.Helper()
	doc, err := os.ReadFile("../../../../docs/signer.md")
	r.must(err)
	_, text, found := strings.Cut(string(doc), "    function OnSignerStartup")
	text, _, closed := strings.Cut(text, "\n\n")
	if !found || !closed {
		t.Fatal("docs/signer.md has no rules")
	}
	var lines []string
	for line := range strings.Lines("    function OnSignerStartup" + text) {
		lines = append(lines, strings.TrimPrefix(line, "    "))
	}
	market := bindings.NewMarketplace()
	out, err := r.eth.CallContract(t.Context(), ethereum.CallMsg{
		To: (*common.Address)(&r.remote.Marketplace), Data: market.PackToken(),
	}, nil)
	r.must(err)
	token, err := market.UnpackToken(out)
	r.must(err)
	id, err := r.eth.ChainID(t.Context())
	r.must(err)
	return strings.NewReplacer(
		"0xmarketplace", strings.ToLower(r.remote.Marketplace.String()), "0xtoken", strings.ToLower(token.String()),
		"0xaccount", strings.ToLower(crypto.PubkeyToAddress(r.key.PublicKey).String()),
		`"0x1"`, fmt.Sprintf(`"0x%x"`, id),
	).Replace(strings.Join(lines, ""))
}
