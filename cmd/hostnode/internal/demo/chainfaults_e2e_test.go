//go:build e2e

package demo

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
)

// rig is a chain in a process of its own, a host in another one that reaches it by
// WebSocket over a wire, and a client.
type rig struct {
	t      *testing.T
	node   *host // the chain's process
	remote localchain.Remote
	wire   *wire
	liar   *liar // the host's first endpoint; nil: there is none before the wire
	client *client
	key    *ecdsa.PrivateKey // the host's
	box    *oneBox
	period time.Duration
	beat   time.Duration
	eth    *ethclient.Client
	chain  nodetest.Remote
	ipc    string // where the chain is controlled
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// newRig makes a rig. beside, if it is set, adds a lying endpoint before the wire; more are
// further arguments of the host.
func newRig(t *testing.T, beat, period time.Duration, beside bool, more ...string) *rig {
	t.Helper()
	return newRigWith(t, beat, period, beside, func(*rig) []string { return more })
}

// newRigWith has the further arguments made when the chain is there.
func newRigWith(t *testing.T, beat, period time.Duration, beside bool, more func(*rig) []string) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "hn") // Short, because of the sockets in it.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &rig{t: t, period: period, beat: beat, client: &client{}}
	bin := filepath.Join(dir, "hostnode")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../..").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	hostDir := datadir.At(filepath.Join(dir, "host"))
	r.must(os.MkdirAll(hostDir.Root, 0o700))
	account, err := keys.Create(filepath.Join(hostDir.Root, "account.key"), "")
	r.must(err)
	r.key, err = keys.Load(filepath.Join(hostDir.Root, "account.key"), "")
	r.must(err)
	r.startNode(bin, filepath.Join(dir, "node"), account)
	if beside {
		r.liar = newLiar(r)
	}
	r.store(filepath.Join(dir, "client"))
	r.startHost(bin, hostDir, more(r))
	return r
}

// startNode starts the chain and waits until it can be controlled.
func (r *rig) startNode(bin, dir string, account events.Address) {
	r.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	r.must(err)
	port := free.Addr().(*net.TCPAddr).Port
	r.must(free.Close())
	r.wire = startWire(r.t, fmt.Sprintf("127.0.0.1:%d", port))
	r.node = &host{binary: bin, logTo: io.Discard, lines: make(chan line, 4096), args: []string{
		"devchain", "--data-dir", dir, "--devchain-ws-port", fmt.Sprint(port), "--fund", account.String(),
		"--devchain-block-interval", r.beat.String(), "--devchain-period", r.period.String(),
		"--devchain-timeout", (r.period / 2).String(), "--prover-samples", "1", "--prover-max-depth", "16",
	}}
	r.must(r.node.start())
	r.t.Cleanup(func() { _ = r.node.kill() })
	layout := datadir.At(dir)
	ipc, err := layout.SocketPath("chain/devchain.ipc")
	r.must(err)
	r.ipc = ipc
	r.t.Cleanup(func() {
		if r.eth != nil {
			r.eth.Close()
		}
	})
	r.await("the chain", func(ctx context.Context) bool {
		var err error
		if r.remote, err = localchain.Find(layout.Chain(), ipc); err != nil {
			return false
		}
		if r.eth, err = ethclient.DialContext(ctx, ipc); err != nil {
			return false
		}
		wei, err := r.eth.BalanceAt(ctx, common.Address(account), nil)
		return err == nil && wei.Sign() > 0
	})
	r.chain = nodetest.Remote{Client: r.eth.Client()}
}

// await waits until a condition holds.
func (r *rig) await(what string, ok func(context.Context) bool) {
	r.t.Helper()
	r.awaitFor(4*time.Minute, what, ok)
}

// awaitFor waits so long at most.
func (r *rig) awaitFor(patience time.Duration, what string, ok func(context.Context) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok(ctx) {
		if alive, err := r.node.alive(); !alive && r.chain.Client == nil {
			r.t.Fatalf("waiting for %s: the chain ended: %v", what, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			words := ""
			if r.box != nil {
				words = r.box.lastComplaints()
			}
			r.t.Fatalf("waiting for %s: %v; the host's last words: %s", what, ctx.Err(), words)
		}
	}
}

// store makes what the client stores, and serves it.
func (r *rig) store(dir string) {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "data")
	f, err := os.Create(file)
	r.must(err)
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{2}), 600_000)
	r.must(err)
	r.must(f.Close())
	r.client.dataset, err = prepare(r.t.Context(), file, dir, 3, nil)
	r.must(err)
	r.t.Cleanup(r.client.close)
	r.must(r.client.serve())
}

func (r *rig) startHost(bin string, dir datadir.Layout, more []string) {
	r.t.Helper()
	log, err := os.Create(filepath.Join(dir.Root, "host.log"))
	r.must(err)
	r.t.Cleanup(func() { log.Close() })
	r.box = &oneBox{dir: dir, host: &host{
		binary: bin, logTo: log, lines: make(chan line, 4096), args: []string{
			"run", "--data-dir", dir.Root, "--log-format", "json", "--content-sources", r.client.url,
			"--chain-contract", r.remote.Marketplace.String(), "--devchain-block-interval", r.beat.String(), "--prover-samples", "1", "--prover-max-depth", "16",
			"--sales-max-slots-per-request", "8",
		},
	}}
	if r.liar == nil {
		r.box.args = append(r.box.args, "--chain-endpoint", r.wire.url())
	} else {
		r.box.args = append(r.box.args, "--chain-endpoint", r.liar.server.URL, "--chain-fallbacks", r.wire.url())
	}
	r.box.args = append(r.box.args, more...)
	r.must(r.box.start())
	r.t.Cleanup(func() { _ = r.box.kill() })
	r.box.api = newAPI(dir)
	go r.box.drain(r.t.Context())
	go r.box.yields(r.t.Context(), r.ipc)
}

// logs counts the contract's logs of a kind from a block on.
func (r *rig) logs(ctx context.Context, name string, from uint64) int {
	abi, err := bindings.MarketplaceMetaData.ParseABI()
	r.must(err)
	found, err := r.eth.FilterLogs(ctx, ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(from), Addresses: []common.Address{common.Address(r.remote.Marketplace)},
		Topics: [][]common.Hash{{abi.Events[name].ID}},
	})
	if err != nil {
		return 0
	}
	return len(found)
}

func (r *rig) head(ctx context.Context) *types.Header {
	h, err := r.eth.HeaderByNumber(ctx, nil)
	r.must(err)
	return h
}

// nextProof waits for a proof of a new period, and returns the first block that may have taken it.
func (r *rig) nextProof() uint64 {
	r.t.Helper()
	from := r.head(r.t.Context()).Number.Uint64() + 1
	r.await("the next proof", func(ctx context.Context) bool {
		next := r.head(ctx).Number.Uint64() + 1
		if r.logs(ctx, "ProofSubmitted", from) > 0 {
			return true
		}
		from = next
		return false
	})
	return from
}

// nextPeriod waits until a period has begun, so that a fault lasts for all of it.
func (r *rig) nextPeriod() {
	r.t.Helper()
	seconds := uint64(r.period / time.Second)
	now := r.head(r.t.Context()).Time / seconds
	r.await("the next period", func(ctx context.Context) bool { return r.head(ctx).Time/seconds > now })
}

// blocks waits for some more blocks.
func (r *rig) blocks(n uint64) {
	r.t.Helper()
	end := r.head(r.t.Context()).Number.Uint64() + n
	r.await(fmt.Sprintf("%d blocks", n), func(ctx context.Context) bool { return r.head(ctx).Number.Uint64() >= end })
}

// chainFault is something that happens to a sale.
type chainFault struct {
	name   string
	happen func(r *rig)
}

func reorgOverTheFill() chainFault {
	return chainFault{"reorganisation over the fill", func(r *rig) {
		r.await("a fill", func(ctx context.Context) bool { return r.logs(ctx, "SlotFilled", 0) > 0 })
		r.must(r.chain.Reorganize(r.t.Context(), 3, true))
		if left := r.logs(r.t.Context(), "SlotFilled", 0); left > 0 {
			r.t.Logf("%d fills were deeper than the reorganisation", left)
		}
		r.await("all slots are filled", func(ctx context.Context) bool { return r.logs(ctx, "SlotFilled", 0) >= 3 })
	}}
}

func reorgOverAProof() chainFault {
	return chainFault{"reorganisation over a proof", func(r *rig) {
		from := r.nextProof()
		before := r.logs(r.t.Context(), "ProofSubmitted", 0)
		depth := max(3, r.head(r.t.Context()).Number.Uint64()-from+2) // The machine may be slow to look.
		r.must(r.chain.Reorganize(r.t.Context(), depth, true))
		if after := r.logs(r.t.Context(), "ProofSubmitted", 0); after >= before {
			r.t.Errorf("the reorganisation took no proof back: %d and %d", before, after)
		}
	}}
}

func nodeKilled() chainFault {
	return chainFault{"node killed and started again", func(r *rig) {
		r.nextPeriod()
		r.must(r.node.kill())
		r.must(r.node.start())
		r.await("the chain", func(ctx context.Context) bool { _, err := r.eth.BlockNumber(ctx); return err == nil })
	}}
}

func lineSevered() chainFault {
	return chainFault{"WebSocket severed silently", func(r *rig) {
		r.nextPeriod()
		if r.wire.sever() == 0 {
			r.t.Error("there was no line")
		}
		r.nextProof()
	}}
}

func noInclusion() chainFault {
	return chainFault{"60 blocks without inclusion", func(r *rig) {
		r.nextPeriod()
		r.must(r.chain.Hold(r.t.Context(), true))
		r.blocks(60)
		r.must(r.chain.Hold(r.t.Context(), false))
		r.nextProof()
	}}
}

func dearGas() chainFault {
	return chainFault{"base fee ×10", func(r *rig) {
		// A development chain's gas costs nothing; begin where it costs something.
		r.must(r.chain.RaiseBaseFee(r.t.Context(), 2))
		two, twenty := big.NewInt(2*params.GWei), big.NewInt(20*params.GWei)
		fee := func(least *big.Int) {
			r.await(fmt.Sprintf("a base fee of %s wei", least), func(ctx context.Context) bool {
				return r.head(ctx).BaseFee.Cmp(least) >= 0
			})
		}
		fee(two)
		r.must(r.chain.RaiseBaseFee(r.t.Context(), 20))
		fee(twenty)
		r.nextProof()
		r.must(r.chain.RaiseBaseFee(r.t.Context(), 0))
	}}
}

func nonceUsedElsewhere() chainFault {
	return chainFault{"nonce used elsewhere", func(r *rig) {
		r.nextPeriod()
		r.byWallet()
		r.await("the alert", func(context.Context) bool {
			log, err := os.ReadFile(filepath.Join(r.box.dir.Root, "host.log"))
			return err == nil && strings.Contains(string(log), string(health.AlertUsedElsewhere))
		})
		r.nextProof() // A wallet's transaction ends no host, however new it is.
	}}
}

// byWallet sends a transfer with the host's key.
func (r *rig) byWallet() {
	r.t.Helper()
	ctx := r.t.Context()
	own := crypto.PubkeyToAddress(r.key.PublicKey)
	nonce, err := r.eth.PendingNonceAt(ctx, own)
	r.must(err)
	tx, err := types.SignNewTx(r.key, types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: nonce, GasTipCap: big.NewInt(50 * params.GWei),
		GasFeeCap: big.NewInt(500 * params.GWei), Gas: params.TxGas, To: &own,
	})
	r.must(err)
	r.must(r.eth.SendTransaction(ctx, tx))
}

// sellThrough sells three slots while faults happen one after the other, each in a
// period of its own, and demands that the host is paid and missed nothing.
func sellThrough(t *testing.T, beat, period time.Duration, faults ...chainFault) {
	newRig(t, beat, period, false).sell(t, 6+2*len(faults), faults...)
}

func (r *rig) sell(t *testing.T, periods int, faults ...chainFault) {
	period := r.period
	req := r.client.request(period, 1)
	req.Expiry = 4 * period // Chain time does not wait for a machine with much other work.
	req.Ask.Duration = time.Duration(periods) * period
	r.box.offer(t, req)
	r.must(r.client.enter(t.Context(), r.remote, requester.Price(req)))
	var err error
	req.ID, err = r.client.post(t.Context(), req)
	r.must(err)
	for _, f := range faults {
		began := time.Now()
		f.happen(r)
		t.Logf("%s: over after %s, at block %d", f.name, time.Since(began).Round(time.Millisecond), r.head(t.Context()).Number)
	}
	r.box.settled(t, r.client, req)
	audit := exec.CommandContext(t.Context(), r.box.binary, "audit", "--data-dir", r.box.dir.Root, "--chain", r.wire.url())
	if out, err := audit.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "CLEAN: ") {
		t.Errorf("audit: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r.must(r.box.stop(ctx))
	if missed := r.box.account(t, 3); missed > 0 {
		t.Errorf("%d proofs were missed", missed)
	}
	if t.Failed() {
		t.Logf("the host's last words: %s", r.box.lastComplaints())
	}
}

func TestCISaleIsPaidThoughTheFillIsTakenBackTheLineSeveredAndFurtherHostsBegin(t *testing.T) {
	sellThrough(t, 120*time.Millisecond, 60*time.Second, reorgOverTheFill(), lineSevered(), furtherHosts())
}

func TestSaleIsPaidOnAChainWithEveryFaultInTurn(t *testing.T) {
	sellThrough(t, 150*time.Millisecond, 120*time.Second, reorgOverTheFill(), nodeKilled(), lineSevered(),
		reorgOverAProof(), noInclusion(), dearGas(), nonceUsedElsewhere(), furtherHosts())
}
