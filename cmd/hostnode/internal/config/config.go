package config

import (
	_ "embed"
	"time"
)

// source is this file: the comments of the structs are the operator's
// documentation (example.go).
//
//go:embed config.go
var source string

// Config is all that an operator can set. Of each field the tag key is its name
// below its parent, def its default, min and max its limits, oneOf its choices.
type Config struct {
	// DataDir is the directory that holds everything the host remembers: events,
	// slots, the development chain. Empty: $XDG_DATA_HOME/hostnode, or
	// ~/.local/share/hostnode.
	DataDir string `key:"dataDir"`
	// Quota is the most that the host may keep on disk for others, trees and
	// manifests included.
	Quota Bytes `key:"quota" def:"20GiB" min:"1MiB" max:"1EiB"`

	// Log is what the host tells while it runs.
	Log Log `key:"log"`
	// Chain is where the marketplace lives.
	Chain Chain `key:"chain"`
	// Devchain shapes the embedded development chain. Its terms of the market
	// count when the chain is made, on the first start.
	Devchain Devchain `key:"devchain"`
	// Account is whose tokens are at stake.
	Account Account `key:"account"`
	// Content is where the data of slots is fetched from.
	Content Content `key:"content"`
	// Sales is how eagerly the host sells.
	Sales Sales `key:"sales"`
	// Pools bound how many calls of a kind run at once.
	Pools Pools `key:"pools"`
	// Prover is how storage proofs are made.
	Prover Prover `key:"prover"`
	// EventStore is the embedded event store.
	EventStore EventStore `key:"eventStore"`
	// Storage is how slots are fetched.
	Storage Storage `key:"storage"`
}

// Log is what the host tells while it runs.
type Log struct {
	// Level is the least important line that is written.
	Level string `key:"level" def:"info" oneOf:"error warn info debug trace"`
	// Format is text for people or json for machines.
	Format string `key:"format" def:"text" oneOf:"text json"`
}

// Chain is where the marketplace lives.
type Chain struct {
	// Endpoint is a JSON-RPC endpoint: ws://, wss://, http://, https:// or the path of
	// an IPC socket. Empty: the embedded development chain.
	Endpoint string `key:"endpoint"`
	// Contract is the address of the marketplace contract. Needed with an endpoint.
	Contract string `key:"contract"`
	// Confirmations is how many blocks make a transaction count as final. 0: 3 on a
	// development chain, 12 on any other.
	Confirmations uint64 `key:"confirmations" def:"0" max:"10000"`
}

// Devchain shapes the embedded development chain.
type Devchain struct {
	// BlockInterval is how often a block is made. Each block is one second later in
	// chain time, however long it took.
	BlockInterval time.Duration `key:"blockInterval" def:"1s" min:"10ms" max:"1m"`
	// Period is the length of a proof period in chain time, whole seconds.
	Period time.Duration `key:"period" def:"20s" min:"2s" max:"24h"`
	// Timeout is how long after a period a missing proof may be marked, whole seconds.
	Timeout time.Duration `key:"timeout" def:"10s" min:"1s" max:"24h"`
	// Downtime is for how many of the 256 values of the pointer no proof is owed.
	Downtime uint64 `key:"downtime" def:"64" max:"255"`
	// DowntimeProduct is how far the pointer moves from one period to the next.
	DowntimeProduct uint64 `key:"downtimeProduct" def:"67" min:"1" max:"255"`
	// HTTPPort opens JSON-RPC over HTTP on 127.0.0.1. 0: not at all.
	HTTPPort uint64 `key:"httpPort" def:"0" max:"65535"`
	// WSPort opens JSON-RPC over WebSocket on 127.0.0.1. 0: not at all.
	WSPort uint64 `key:"wsPort" def:"0" max:"65535"`
}

// Account is whose tokens are at stake.
type Account struct {
	// KeyFile holds the private key, 64 hex digits, readable by its owner alone (mode
	// 0600). Empty: account.key in the data directory.
	KeyFile string `key:"keyFile"`
}

// Content is where the data of slots is fetched from.
type Content struct {
	// Sources are base URLs whose /ipfs/<cid>?format=raw answers with raw blocks.
	// Nothing is ever fetched from anywhere else.
	Sources []string `key:"sources" max:"64"`
}

// Sales is how eagerly the host sells.
type Sales struct {
	// MaxWorkers is how many slots are worked on at once before they are filled.
	MaxWorkers int `key:"maxWorkers" def:"3" min:"1" max:"256"`
	// MaxSlotsPerRequest is how many slots of one request the host fills. 0: as many
	// as the request can lose (its maxSlotLoss), so that this host alone cannot fail it.
	MaxSlotsPerRequest int `key:"maxSlotsPerRequest" def:"0" max:"256"`
	// MaxQueued is how many slots wait at most; the worst is dropped beyond that. A
	// million takes about 1 GiB of memory.
	MaxQueued int `key:"maxQueued" def:"100000" min:"1" max:"1000000"`
	// MinFill is how much chain time must be left before a request expires when one
	// of its slots is taken. 0: two proof periods.
	MinFill time.Duration `key:"minFill" def:"0s" max:"720h"`
	// FailEveryNProofs makes every nth proof invalid, to try what happens. 0: never.
	// Refused on any chain that is no development chain.
	FailEveryNProofs uint64 `key:"failEveryNProofs" def:"0" max:"1000000"`
	// ProofBlocks is how many blocks before the end of its window a proof must be
	// ready to be sent, so that it is on chain in time.
	ProofBlocks uint64 `key:"proofBlocks" def:"6" min:"1" max:"1000"`
	// FinalBlocks is how many blocks make a filled slot final, after which data may
	// be deleted and accounts settled. 0: as many as chain.confirmations.
	FinalBlocks uint64 `key:"finalBlocks" def:"0" max:"10000"`
}

// Pools bound how many calls of a kind run at once.
type Pools struct {
	// Downloads is how many slots are fetched at once.
	Downloads int `key:"downloads" def:"2" min:"1" max:"64"`
	// Proofs is how many proofs are made at once. One uses all processors and about
	// 190 MB, so more only overlap reading from disk.
	Proofs int `key:"proofs" def:"1" min:"1" max:"64"`
	// Transactions is how many calls may wait for the chain at once.
	Transactions int `key:"transactions" def:"16" min:"1" max:"1024"`
}

// Prover is how storage proofs are made. Samples and sizes must be those of the
// contract's verifier; other sizes are other keys.
type Prover struct {
	// Samples is how many cells of a slot one proof reads.
	Samples int `key:"samples" def:"5" min:"1" max:"1000"`
	// MaxDepth is the most levels of a slot's tree of cells.
	MaxDepth int `key:"maxDepth" def:"32" min:"6" max:"32"`
	// MaxLog2Slots is the logarithm of the most slots of a dataset.
	MaxLog2Slots int `key:"maxLog2Slots" def:"8" min:"1" max:"8"`
	// KeysDir is where proving keys lie. Empty: hostnode/keys in the cache directory of
	// the user, so that development keys are shared between data directories.
	KeysDir string `key:"keysDir"`
}

// EventStore is the embedded event store.
type EventStore struct {
	// CacheBytes is the memory of its block cache.
	CacheBytes Bytes `key:"cacheBytes" def:"64MiB" min:"1MiB" max:"64GiB"`
}

// Storage is how slots are fetched.
type Storage struct {
	// FetchTimeout limits one request to a content source.
	FetchTimeout time.Duration `key:"fetchTimeout" def:"30s" min:"100ms" max:"1h"`
	// FetchRetries is how often a block is asked for before the download pauses.
	FetchRetries int `key:"fetchRetries" def:"5" min:"1" max:"100"`
	// BlocksInFlight is how many blocks of 64 KiB one download has on the way at once.
	BlocksInFlight int `key:"blocksInFlight" def:"16" min:"1" max:"1024"`
}

// Confirmations of chains (marketplace operators use 12 on public ones).
const (
	devConfirmations    = 3
	publicConfirmations = 12
)

// Confirmations is how many blocks make a transaction final on this kind of chain.
func (c Config) Confirmations(developmentChain bool) uint64 {
	switch {
	case c.Chain.Confirmations != 0:
		return c.Chain.Confirmations
	case developmentChain:
		return devConfirmations
	}
	return publicConfirmations
}

// FinalBlocks is how many blocks make a fill final on this kind of chain.
func (c Config) FinalBlocks(developmentChain bool) uint64 {
	if c.Sales.FinalBlocks != 0 {
		return c.Sales.FinalBlocks
	}
	return c.Confirmations(developmentChain)
}

// Embedded reports whether the host brings its own development chain.
func (c Config) Embedded() bool { return c.Chain.Endpoint == "" }
