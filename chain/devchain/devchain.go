package devchain

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/miner"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/events"
)

// Limits of a development chain.
const (
	// maxSealBlocks is the most blocks that one call seals, which takes about 10 s.
	maxSealBlocks = 100_000
	// maxSocketPath is the longest path of a unix socket, in bytes.
	maxSocketPath = 103
	// databaseCacheMiB is the memory for the database.
	databaseCacheMiB = 32
)

// instanceName names the chain's own directory in Config.Dir.
const instanceName = "devchain"

// Errors of a development chain.
var (
	// ErrInUse: another process runs this chain.
	ErrInUse = errors.New("development chain is in use by another process")
	// ErrPortInUse: something else listens on the port.
	ErrPortInUse = errors.New("port is in use")
	// ErrConfig: the configuration cannot work.
	ErrConfig = errors.New("invalid configuration of the development chain")
	// ErrDamaged: files of the chain are missing or changed.
	ErrDamaged = errors.New("development chain is damaged")
	// ErrClosed: the chain is closed.
	ErrClosed = errors.New("development chain is closed")
)

// Config says where the chain lives and who may talk to it.
type Config struct {
	// Dir is the chain's directory; it is created if need be.
	Dir string
	// IPCPath is the unix socket; empty: devchain.ipc in Dir. If Dir is deep, choose a shorter
	// path: systems limit it to about 100 bytes.
	IPCPath string
	// HTTPPort and WSPort open JSON-RPC on 127.0.0.1; 0: not at all, AnyPort: the system chooses a
	// port.
	HTTPPort, WSPort int
	// GenesisTime is the time of the genesis block; zero: so long ago that it is now when the blocks are sealed that
	// must precede a marketplace. It is used at the first start only.
	GenesisTime time.Time
	// Alloc are balances in wei in the genesis block. They are used at the first start only; later
	// there is Fund.
	Alloc map[common.Address]*big.Int
}

// AnyPort lets the system choose a port; HTTPEndpoint or WSEndpoint then names it.
const AnyPort = -1

// Chain is a running development chain. All methods are safe for concurrent use.
type Chain struct {
	cfg  Config
	node *node.Node
	eth  *eth.Ethereum

	mu     sync.Mutex // one block, fork or payment at a time
	closed bool
	controls
}

// Open starts the chain in a directory, and creates it at the first start. In addition to errors
// of the file system it returns ErrInUse, ErrPortInUse, ErrConfig and ErrDamaged.
func Open(ctx context.Context, cfg Config) (c *Chain, err error) {
	defer func() { // go-ethereum panics on an incomplete database.
		if why := recover(); why != nil {
			c, err = nil, fmt.Errorf("%w: %s: %v", ErrDamaged, cfg.Dir, why)
		}
	}()
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	reportFatalErrors()
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of the chain: %w", err)
	}
	stack, err := node.New(cfg.nodeConfig())
	if errors.Is(err, node.ErrDatadirUsed) {
		return nil, fmt.Errorf("%w: %s", ErrInUse, cfg.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open development chain: %w", err)
	}
	if c, err = start(stack, cfg); err != nil {
		return nil, errors.Join(err, stack.Close())
	}
	if err := c.grow(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (cfg *Config) complete() error {
	if cfg.Dir == "" {
		return fmt.Errorf("%w: no directory", ErrConfig)
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return fmt.Errorf("%w: directory %q: %w", ErrConfig, cfg.Dir, err)
	}
	cfg.Dir = dir
	if cfg.IPCPath == "" {
		cfg.IPCPath = filepath.Join(dir, "devchain.ipc")
	}
	if n := len(cfg.IPCPath); n > maxSocketPath {
		return fmt.Errorf("%w: socket path %s has %d bytes, the system allows %d; set a shorter one",
			ErrConfig, cfg.IPCPath, n, maxSocketPath)
	}
	if cfg.GenesisTime.IsZero() {
		cfg.GenesisTime = time.Now().Add(-contracts.FirstDeploymentBlock * time.Second)
	}
	for _, port := range []int{cfg.HTTPPort, cfg.WSPort} {
		if port < AnyPort || port > 65535 {
			return fmt.Errorf("%w: port %d", ErrConfig, port)
		}
	}
	return nil
}

func (cfg *Config) nodeConfig() *node.Config {
	public := []string{"eth", "net", "web3"}
	c := &node.Config{
		Name:        instanceName,
		DataDir:     cfg.Dir,
		DBEngine:    "leveldb", // loses nothing when the process is killed (spec/ethereum.md §11)
		IPCPath:     cfg.IPCPath,
		P2P:         p2p.Config{NoDiscovery: true, NoDial: true, MaxPeers: 0},
		HTTPModules: public,
		WSModules:   public,
	}
	// Limits of a batch, in requests and bytes; this is go-ethereum's own default.
	c.BatchRequestLimit, c.BatchResponseMaxSize = 1000, 25_000_000
	if cfg.HTTPPort != 0 {
		c.HTTPHost, c.HTTPPort = "127.0.0.1", max(cfg.HTTPPort, 0)
		c.HTTPVirtualHosts = []string{"localhost"}
		c.HTTPTimeouts = rpc.DefaultHTTPTimeouts
	}
	if cfg.WSPort != 0 {
		c.WSHost, c.WSPort = "127.0.0.1", max(cfg.WSPort, 0)
	}
	return c
}

func start(stack *node.Node, cfg Config) (*Chain, error) {
	g, err := loadGenesis(cfg)
	if err != nil {
		return nil, err
	}
	for _, port := range []int{cfg.HTTPPort, cfg.WSPort} {
		if err := checkPort(port); err != nil {
			return nil, err
		}
	}
	conf := ethconfig.Defaults
	conf.Genesis = g.block()
	conf.SyncMode = ethconfig.FullSync
	conf.StateScheme = "hash"
	conf.NoPruning = true // an archive: the state of every block is written at once
	conf.SnapshotCache = 0
	conf.DatabaseCache, conf.TrieCleanCache = databaseCacheMiB, databaseCacheMiB
	conf.LogNoHistory = true
	conf.Miner.GasCeil = gasLimit
	// A dropped transaction stays away. go-ethereum would keep what it was given itself, and put it
	// back into the mempool with its next check, which comes once a minute.
	conf.TxPool.NoLocals = true
	backend, err := eth.New(stack, &conf)
	if err != nil { // Refusals of the disk are errors of their own.
		if _, refused := errors.AsType[syscall.Errno](err); !refused {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return nil, fmt.Errorf("open development chain in %s: %w", cfg.Dir, err)
	}
	c := &Chain{cfg: cfg, node: stack, eth: backend}
	logs := filters.NewFilterSystem(backend.APIBackend, filters.Config{})
	stack.RegisterAPIs([]rpc.API{
		{Namespace: "eth", Service: filters.NewFilterAPI(logs)},
		{Namespace: "devchain", Service: &api{c}},
	})
	if err := stack.Start(); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%w: %w", ErrPortInUse, err)
		}
		return nil, fmt.Errorf("start development chain: %w", err)
	}
	return c, nil
}

// checkPort checks early, so that the message names the port.
func checkPort(port int) error {
	if port <= 0 {
		return nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: 127.0.0.1:%d; choose another one or stop who listens there",
			ErrPortInUse, port)
	}
	if err != nil {
		return fmt.Errorf("listen on port %d: %w", port, err)
	}
	return l.Close()
}

// grow seals the empty blocks that must precede a marketplace.
func (c *Chain) grow(ctx context.Context) error {
	number := c.Head().Number
	if number >= contracts.FirstDeploymentBlock {
		return nil
	}
	_, err := c.Seal(ctx, contracts.FirstDeploymentBlock-number)
	return err
}

// IPCPath is the path of the unix socket for clients.
func (c *Chain) IPCPath() string { return c.cfg.IPCPath }

// HTTPEndpoint is the URL for HTTP, empty if that is off.
func (c *Chain) HTTPEndpoint() string {
	if c.cfg.HTTPPort == 0 {
		return ""
	}
	return c.node.HTTPEndpoint()
}

// WSEndpoint is the URL for WebSocket, empty if that is off.
func (c *Chain) WSEndpoint() string {
	if c.cfg.WSPort == 0 {
		return ""
	}
	return c.node.WSEndpoint()
}

// Attach is a client inside the process, with all namespaces. The caller closes it.
func (c *Chain) Attach() *rpc.Client { return c.node.Attach() }

// Head is the newest block.
func (c *Chain) Head() events.Head {
	h := c.eth.BlockChain().CurrentBlock()
	return events.Head{
		Number: h.Number.Uint64(),
		Hash:   events.Hash(h.Hash()),
		Parent: events.Hash(h.ParentHash),
		Time:   events.Unix(h.Time),
	}
}

// Seal seals n blocks, each one second after its parent; the first takes the transactions of the
// mempool. It returns the newest block.
func (c *Chain) Seal(ctx context.Context, n uint64) (events.Head, error) {
	return c.SealApart(ctx, n, time.Second)
}

// SealApart is Seal with another time from block to block: whole seconds, at least one.
func (c *Chain) SealApart(ctx context.Context, n uint64, apart time.Duration) (events.Head, error) {
	if apart < time.Second || apart%time.Second != 0 {
		return events.Head{}, fmt.Errorf("%w: blocks %s apart; whole seconds are allowed", ErrConfig, apart)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > maxSealBlocks {
		return events.Head{}, fmt.Errorf("%w: %d blocks at once, the limit is %d",
			ErrConfig, n, maxSealBlocks)
	}
	for range n {
		if err := ctx.Err(); err != nil {
			return c.Head(), err
		}
		if err := c.sealOne(uint64(apart / time.Second)); err != nil {
			return c.Head(), fmt.Errorf("seal block %d: %w", c.Head().Number+1, err)
		}
	}
	return c.Head(), c.settle()
}

// settle waits until the mempool has caught up with the newest block, so that an account can at
// once spend what it got there. It needs the lock.
func (c *Chain) settle() error {
	if err := c.eth.TxPool().Sync(); err != nil {
		return fmt.Errorf("wait for the pool: %w", err)
	}
	return nil
}

// sealOne seals a block some seconds after its parent. It needs the lock. It does what a consensus
// client has a node do, but never names a final block: go-ethereum would move final blocks into its
// freezer and then refuse to reorganise them (spec/ethereum.md §11).
func (c *Chain) sealOne(seconds uint64) error {
	if c.closed {
		return ErrClosed
	}
	// The mempool follows the chain in the background; until it has caught up, it contains mined
	// transactions.
	if err := c.settle(); err != nil {
		return err
	}
	parent := c.eth.BlockChain().CurrentBlock()
	if err := c.burn(context.Background(), parent); err != nil {
		return err
	}
	args := &miner.BuildPayloadArgs{
		Parent:      parent.Hash(),
		Timestamp:   parent.Time + seconds,
		Withdrawals: types.Withdrawals{},
		BeaconRoot:  &common.Hash{},
	}
	// Without randomness, a block on the other branch of a fork could be the same block.
	if _, err := rand.Read(args.Random[:]); err != nil {
		return err
	}
	block, _, err := c.eth.Miner().BuildTestingPayload(args, nil, c.held, nil)
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if _, err := c.eth.BlockChain().InsertBlockWithoutSetHead(context.Background(), block, false); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if _, err := c.eth.BlockChain().SetCanonical(block); err != nil {
		return fmt.Errorf("set head: %w", err)
	}
	return nil
}

// Fork makes an older block the newest one; the next block then starts another branch. The
// transactions of the dropped blocks return to the mempool; with drop, they and all others in it
// are forgotten.
func (c *Chain) Fork(_ context.Context, to events.Hash, drop bool) (events.Head, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	block := c.eth.BlockChain().GetBlockByHash(common.Hash(to))
	if block == nil {
		return events.Head{}, fmt.Errorf("fork to %s: %w", to, fs.ErrNotExist)
	}
	if err := c.fork(block, drop); err != nil {
		return events.Head{}, err
	}
	return c.Head(), nil
}

// fork needs the lock.
func (c *Chain) fork(to *types.Block, drop bool) error {
	if c.closed {
		return ErrClosed
	}
	if _, err := c.eth.BlockChain().SetCanonical(to); err != nil {
		return fmt.Errorf("fork to %s: %w", to.Hash(), err)
	}
	if err := c.settle(); err != nil {
		return err
	}
	if drop {
		c.eth.TxPool().Clear()
	}
	return nil
}

// Close stops the chain. It may be called more than once.
func (c *Chain) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	if err := c.node.Close(); err != nil {
		return fmt.Errorf("close development chain: %w", err)
	}
	return nil
}
