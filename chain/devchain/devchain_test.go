package devchain_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/events"
)

// childVariable makes the test binary run a chain instead of the tests.
const childVariable = "DEVCHAIN_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		os.Exit(runChild(dir))
	}
	os.Exit(m.Run())
}

// runChild runs a chain until it is killed, and reports every block.
func runChild(dir string) int {
	ctx := context.Background()
	c, err := devchain.Open(ctx, devchain.Config{Dir: dir})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	for {
		head, err := c.Seal(ctx, 1)
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println(head.Number, head.Hash)
	}
}

func open(t *testing.T, cfg devchain.Config) *devchain.Chain {
	t.Helper()
	c, err := devchain.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dc")
	if err != nil {
		t.Fatalf("make directory: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestFirstStartSealsWhatADeploymentNeedsOneSecondApart(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	c := open(t, devchain.Config{Dir: shortDir(t), GenesisTime: began})
	head := c.Head()
	if head.Number != contracts.FirstDeploymentBlock {
		t.Fatalf("head is block %d, want %d", head.Number, contracts.FirstDeploymentBlock)
	}
	if want := began.Add(contracts.FirstDeploymentBlock * time.Second); !head.Time.Equal(want) {
		t.Fatalf("head is of %v, want %v", head.Time, want)
	}
}

func TestReopenedChainGoesOnWhereItStoodWhateverTheClockSays(t *testing.T) {
	cfg := devchain.Config{
		Dir:         shortDir(t),
		GenesisTime: time.Unix(1_700_000_000, 0),
		Alloc:       map[common.Address]*big.Int{{1}: big.NewInt(7)},
	}
	c := open(t, cfg)
	before := c.Head()
	if err := c.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	// Another time and other balances are ignored: the genesis block exists already.
	cfg.GenesisTime, cfg.Alloc = time.Unix(1_800_000_000, 0), nil
	again := open(t, cfg)
	if diff := cmp.Diff(before, again.Head()); diff != "" {
		t.Fatalf("head after reopening (-before +after):\n%s", diff)
	}
	next, err := again.Seal(t.Context(), 1)
	if err != nil {
		t.Fatalf("seal: %v", err)
	}
	if next.Parent != before.Hash || !next.Time.Equal(before.Time.Add(time.Second)) {
		t.Fatalf("block %+v does not follow %+v", next, before)
	}
	client := ethclient.NewClient(again.Attach())
	defer client.Close()
	wei, err := client.BalanceAt(t.Context(), common.Address{1}, nil)
	if err != nil || wei.Int64() != 7 {
		t.Fatalf("balance of the first start is %v (%v), want 7", wei, err)
	}
}

func TestBlocksWithoutTheirGenesisGetNoOther(t *testing.T) {
	cfg := devchain.Config{Dir: shortDir(t)}
	c, err := devchain.Open(t.Context(), cfg)
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	genesis := filepath.Join(cfg.Dir, "genesis.json")
	if err := os.Rename(genesis, genesis+".kept"); err != nil {
		t.Fatal(err)
	}
	if _, err := devchain.Open(t.Context(), cfg); !errors.Is(err, devchain.ErrDamaged) {
		t.Errorf("%v, want ErrDamaged", err)
	}
	if _, err := os.Stat(genesis); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another genesis was made: %v", err)
	}
	if err := os.Rename(genesis+".kept", genesis); err != nil {
		t.Fatal(err)
	}
	open(t, cfg)
}

func TestSecondProcessIsRefused(t *testing.T) {
	c := open(t, devchain.Config{Dir: shortDir(t)})
	_, err := devchain.Open(t.Context(), devchain.Config{Dir: dirOf(c)})
	if !errors.Is(err, devchain.ErrInUse) {
		t.Fatalf("error %v, want ErrInUse", err)
	}
}

func dirOf(c *devchain.Chain) string {
	path := c.IPCPath()
	return path[:len(path)-len("/devchain.ipc")]
}

func TestPortThatIsTakenIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = devchain.Open(t.Context(), devchain.Config{Dir: shortDir(t), WSPort: port})
	if !errors.Is(err, devchain.ErrPortInUse) {
		t.Fatalf("error %v, want ErrPortInUse", err)
	}
}

func TestControlOverIPCSealsForksAndFunds(t *testing.T) {
	c := open(t, devchain.Config{Dir: shortDir(t)})
	client, err := ethclient.DialContext(t.Context(), c.IPCPath())
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer client.Close()
	remote := nodetest.Remote{Client: client.Client()}
	start := c.Head()
	who := events.Address{9}
	if err := remote.Fund(t.Context(), who, events.NewAmount(5)); err != nil {
		t.Fatal(err)
	}
	wei, err := client.BalanceAt(t.Context(), common.Address(who), nil)
	if err != nil || wei.Int64() != 5 {
		t.Fatalf("balance is %v (%v), want 5", wei, err)
	}
	if err := remote.Seal(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	dropped := c.Head()
	if err := remote.Fork(t.Context(), start.Hash, true); err != nil {
		t.Fatal(err)
	}
	if err := remote.Seal(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if got := c.Head(); got.Number != start.Number+5 || got.Hash == dropped.Hash {
		t.Fatalf("head is %+v after a fork to %+v", got, start)
	}
	if wei, err = client.BalanceAt(t.Context(), common.Address(who), nil); err != nil || wei.Sign() != 0 {
		t.Fatalf("balance on the new branch is %v (%v), want 0", wei, err)
	}
}

func TestForkWorksBelowBlocksThatOtherChainsCallFinal(t *testing.T) {
	cfg := devchain.Config{Dir: shortDir(t)}
	c := open(t, cfg)
	old := c.Head()
	if _, err := c.Seal(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	// A restart is when go-ethereum freezes final blocks.
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = open(t, cfg)
	if _, err := c.Fork(t.Context(), old.Hash, false); err != nil {
		t.Fatal(err)
	}
	head, err := c.Seal(t.Context(), 2)
	if err != nil || head.Number != old.Number+2 {
		t.Fatalf("head is %+v (%v), want block %d", head, err, old.Number+2)
	}
}

func TestPaceSealsOneBlockPerBeat(t *testing.T) {
	c := open(t, devchain.Config{Dir: shortDir(t)})
	before := c.Head().Number
	beats := 0
	errDone := errors.New("done")
	err := c.Run(t.Context(), func(context.Context) error {
		if beats == 4 {
			return errDone
		}
		beats++
		return nil
	})
	if !errors.Is(err, errDone) || c.Head().Number != before+4 {
		t.Fatalf("%d blocks sealed (%v), want 4", c.Head().Number-before, err)
	}
}

func TestKilledChainKeepsEveryBlockThatWasReported(t *testing.T) {
	dir := shortDir(t)
	for round := range 3 {
		number, hash := runAndKill(t, dir, 40+17*round)
		c := open(t, devchain.Config{Dir: dir})
		client := ethclient.NewClient(c.Attach())
		block, err := client.HeaderByNumber(t.Context(), new(big.Int).SetUint64(number))
		if err != nil || block.Hash().Hex() != hash {
			t.Fatalf("round %d: block %d is lost: %v", round, number, err)
		}
		client.Close()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// runAndKill lets another process seal blocks and kills it at some point. It returns the last block
// that the process reported.
func runAndKill(t *testing.T, dir string, blocks int) (number uint64, hash string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for i := 0; i < blocks && lines.Scan(); i++ {
		if _, err := fmt.Sscan(lines.Text(), &number, &hash); err != nil {
			t.Fatalf("child says %q", lines.Text())
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // Blocks reported before the end count, too.
		var n uint64
		var h string
		if c, _ := fmt.Sscan(lines.Text(), &n, &h); c == 2 && len(h) == 66 {
			number, hash = n, h
		}
	}
	_ = cmd.Wait() // It was killed.
	if number == 0 {
		t.Fatal("the child sealed nothing")
	}
	return number, hash
}
