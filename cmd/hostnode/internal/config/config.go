package config

import (
	_ "embed"
	"time"

	"github.com/hostnode/hostnode/events"
)

// source is this file, the others are beside it: the comments of the structs are the operator's
// documentation (example.go).
var (
	//go:embed config.go
	source string
	//go:embed sectors.go
	sectorSource string
	//go:embed cluster.go
	clusterSource string
	//go:embed nodes.go
	nodeSource string
	//go:embed aggregation.go
	aggregationSource string
	//go:embed api.go
	apiSource string
)

// Config is everything that an operator can set. In the tags of a field, key is
// its name below its parent, def its default, min and max its limits, oneOf its
// choices.
type Config struct {
	// DataDir is the directory of everything that the host stores: events, slots,
	// the development chain. Empty: $XDG_DATA_HOME/hostnode, or
	// ~/.local/share/hostnode.
	DataDir string `key:"dataDir"`
	// Quota is the most that the host may keep on disk for others, trees and
	// manifests included.
	Quota events.Bytes `key:"quota" def:"20GiB" min:"1MiB" max:"1EiB"`

	// Log is what the host logs while it runs.
	Log Log `key:"log"`
	// Chain is where the marketplace is.
	Chain Chain `key:"chain"`
	// Devchain describes the embedded development chain. Its market terms apply
	// when the chain is made, on the first start.
	Devchain Devchain `key:"devchain"`
	// Account is the account whose tokens are at stake.
	Account Account `key:"account"`
	// Fees bound what transactions may cost.
	Fees Fees `key:"fees"`
	// Content is where the data of slots is fetched from.
	Content Content `key:"content"`
	// Sales is how much the host sells, and what it risks.
	Sales Sales `key:"sales"`
	// Pools bound how many calls of a kind run at the same time.
	Pools Pools `key:"pools"`
	// Prover is how storage proofs are made.
	Prover Prover `key:"prover"`
	// EventStore is where the host's events are stored.
	EventStore EventStore `key:"eventStore"`
	// ServeEvents lets tools of EventStoreDB read the events while the host
	// runs.
	ServeEvents ServeEvents `key:"serveEvents"`
	// API serves the HTTP API over TCP. Without it the host answers on the unix socket in the data directory only.
	API API `key:"api"`
	// Storage is how slots are fetched and stored.
	Storage Storage `key:"storage"`
	// Alerts tell a person when something needs one.
	Alerts Alerts `key:"alerts"`
	// Validator marks missing proofs of other hosts for a reward.
	Validator Validator `key:"validator"`
	// Sectors seal data, and prove it to the contract of sectors.
	Sectors Sectors `key:"sectors"`
	// Cluster makes this process a member of a host that several processes run together.
	Cluster Cluster `key:"cluster"`
	// Nodes has host nodes watched, and judged by what they did.
	Nodes Nodes `key:"nodes"`
	// Aggregation gathers CARs into aggregates, finds storage for them, and gives each client a proof.
	Aggregation Aggregation `key:"aggregation"`
}

// Log is what the host logs while it runs.
type Log struct {
	// Level is the least important level that is logged.
	Level string `key:"level" def:"info" oneOf:"error warn info debug trace"`
	// Format is text for people or json for machines.
	Format string `key:"format" def:"text" oneOf:"text json"`
}

// Chain is where the marketplace is.
type Chain struct {
	// Endpoint is a JSON-RPC endpoint: ws://, wss://, http://, https:// or the path of
	// an IPC socket. Empty: the embedded development chain.
	Endpoint string `key:"endpoint" secret:"url"`
	// Fallbacks are further endpoints of the same chain, tried in this order when the
	// one before does not answer.
	Fallbacks []string `key:"fallbacks" max:"8" secret:"url"`
	// Contract is the address of the marketplace contract. Needed with an endpoint.
	Contract string `key:"contract"`
	// Confirmations is how many blocks make a transaction final. 0: 3 on a
	// development chain, 12 on any other.
	Confirmations uint64 `key:"confirmations" def:"0" max:"10000"`
	// Finality is what must be reached before data is deleted and income is booked:
	// confirmations, the number of blocks above; or finalized, also the chain's own
	// tag, where it has one.
	Finality string `key:"finality" def:"confirmations" oneOf:"confirmations finalized"`
	// BlockTime is the chain time between two blocks, for chains that make blocks on
	// demand. 0: it is measured, at the start and while the host runs.
	BlockTime time.Duration `key:"blockTime" def:"0s" max:"1h"`
	// PollInterval is how often to look for a new block when the node does not announce
	// them, as over HTTP. 0: six times per block time, every quarter of a second to two
	// seconds.
	PollInterval time.Duration `key:"pollInterval" def:"0s" max:"1m"`
	// CallTimeout is how long the node may take to answer one call. At a node that is seen to
	// need longer it grows, to eight times as much, and shrinks again when the node is quick.
	// 0: 10 s, on a development chain 3 s.
	CallTimeout time.Duration `key:"callTimeout" def:"0s" max:"2m"`
	// LogRange is the most blocks in one search for logs; it is halved when a provider
	// allows less.
	LogRange uint64 `key:"logRange" def:"1000" min:"1" max:"100000"`
	// SilentBlocks is after how many block times without a new block the host connects
	// again.
	SilentBlocks uint64 `key:"silentBlocks" def:"5" min:"2" max:"1000"`
	// DeployedAt is the block in which the contract was deployed; no log is older. 0: the host
	// searches for it.
	DeployedAt uint64 `key:"deployedAt" def:"0"`
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
	// Downtime is for how many of the pointer's 256 values no proof is owed.
	Downtime uint64 `key:"downtime" def:"64" max:"255"`
	// DowntimeProduct is how far the pointer moves from one period to the next.
	DowntimeProduct uint64 `key:"downtimeProduct" def:"67" min:"1" max:"255"`
	// HTTPPort opens JSON-RPC over HTTP on 127.0.0.1. 0: closed.
	HTTPPort uint64 `key:"httpPort" def:"0" max:"65535"`
	// WSPort opens JSON-RPC over WebSocket on 127.0.0.1. 0: closed.
	WSPort uint64 `key:"wsPort" def:"0" max:"65535"`
}

// Account is the account whose tokens are at stake.
type Account struct {
	// KeyFile holds the private key, 64 hex digits or an encrypted keystore, readable only by its owner (mode
	// 0600). Empty: account.key in the data directory, unless signer is set.
	KeyFile string `key:"keyFile"`
	// PasswordFile holds the password of the key file, an absolute path, readable only by its owner (mode 0600).
	// With it the key file is a keystore of go-ethereum's, version 3. Empty: the key is not encrypted.
	PasswordFile string `key:"passwordFile"`
	// Signer is the URL, or the path of the unix socket, of a process that has the key and signs:
	// clef, or another one with its calls (docs/signer.md). Plain http is only allowed to this
	// machine. It needs address, and no keyFile. Empty: the key file signs.
	Signer string `key:"signer" secret:"url"`
	// SignTimeout is how long the signer may take for one transaction.
	SignTimeout time.Duration `key:"signTimeout" def:"10s" min:"100ms" max:"10m"`
	// RewardRecipient is the address that gets the rewards of sales. The collateral
	// always returns to the account. Empty: the account.
	RewardRecipient string `key:"rewardRecipient"`
	// Address is the account's address, if this process has no key: with signer, and in members of a
	// cluster that send no transactions. Empty: that of the key.
	Address string `key:"address"`
	// Transactions lets this member of a cluster send the host's transactions, for which it needs
	// the key or a signer. At least two members should be able to. A member that may not never runs the queue
	// either.
	Transactions bool `key:"transactions" def:"true"`
}

// Fees bound what transactions may cost.
type Fees struct {
	// MaxFeeGwei is the highest price of one gas, in billionths of the chain's coin.
	MaxFeeGwei uint64 `key:"maxFeeGwei" def:"500" min:"1" max:"1000000"`
	// MaxTipGwei is the highest tip in a transaction's first offer, whatever the node
	// suggests. A transaction that waits too long offers more, up to MaxFeeGwei; so does each one while
	// the node takes nothing less. On a chain without base fees the tip is the whole price.
	MaxTipGwei uint64 `key:"maxTipGwei" def:"20" min:"1" max:"1000000"`
	// MaxGas is the highest gas limit that a node's estimate can lead to. What calls were measured to use
	// counts even if it is more.
	MaxGas uint64 `key:"maxGas" def:"16777216" min:"100000" max:"1000000000"`
	// StuckBlocks is after how many blocks a transaction that is not mined is sent
	// again with a higher fee.
	StuckBlocks uint64 `key:"stuckBlocks" def:"5" min:"1" max:"1000"`
	// MaxInFlight is the most transactions that are sent and not mined yet; a quarter of
	// them is kept for proofs. docs/transactions.md says how many a host with many slots
	// needs.
	MaxInFlight uint64 `key:"maxInFlight" def:"16" min:"1" max:"256"`
	// FillHold is for how many blocks before a proof is due no other transaction is sent before it.
	FillHold uint64 `key:"fillHold" def:"8" min:"1" max:"1000"`
	// ExactAllowance lets the marketplace take only the collateral of the next fill,
	// which costs an approval and some blocks each time. Otherwise it is approved once
	// for all.
	ExactAllowance bool `key:"exactAllowance" def:"false"`
	// WalletDays is for how many days the account's coins must pay for the proofs of all
	// hosted slots, at today's price of gas, before another slot is taken. 0: no such
	// limit.
	WalletDays uint64 `key:"walletDays" def:"3" max:"3650"`
}

// Content is where the data of slots is fetched from.
type Content struct {
	// Sources are base URLs that serve raw blocks at /ipfs/<cid>?format=raw.
	// Nothing is ever fetched from anywhere else.
	Sources []string `key:"sources" max:"64" secret:"url"`
}

// Sales is how much the host sells, and what it risks.
type Sales struct {
	// MaxWorkers is how many slots are worked on at the same time, each from when it is taken from
	// the queue until it is filled or let go. Each may hold one of the three reservations that the
	// contract gives for a slot.
	MaxWorkers int `key:"maxWorkers" def:"3" min:"1" max:"256"`
	// MaxSlotsPerRequest is how many slots of one request the host fills. 0: as many as
	// the request can lose (its maxSlotLoss), so that a failure of this host alone does
	// not fail the request.
	MaxSlotsPerRequest int `key:"maxSlotsPerRequest" def:"0" max:"256"`
	// MaxQueued is how many slots can wait in the queue; beyond that the worst are
	// dropped. A million takes about 1 GiB of memory.
	MaxQueued int `key:"maxQueued" def:"100000" min:"1" max:"1000000"`
	// MinFill is how much chain time must be left until a request expires for one
	// of its slots to be taken. 0: two proof periods.
	MinFill time.Duration `key:"minFill" def:"0s" max:"720h"`
	// FailEveryNProofs makes every nth proof invalid, to see what happens. 0: never.
	// Only allowed on a development chain.
	FailEveryNProofs uint64 `key:"failEveryNProofs" def:"0" max:"1000000"`
	// ProofBlocks is how many blocks before the end of its window a proof must be
	// ready to be sent, so that it is on chain in time. A proof for a fill is begun only if
	// the measured time of a proof fits before that.
	ProofBlocks uint64 `key:"proofBlocks" def:"6" min:"1" max:"1000"`
	// FinalBlocks is how many blocks make a filled slot final; only then may data
	// be deleted and accounts be settled. 0: as many as chain.confirmations.
	FinalBlocks uint64 `key:"finalBlocks" def:"0" max:"10000"`
	// MaxCollateralAtRisk is the most collateral, in base units of the token, that all
	// sales together may have at stake. Empty: only the availabilities limit it.
	MaxCollateralAtRisk string `key:"maxCollateralAtRisk"`
	// ProofLoad is the largest share of time, in percent, that making proofs may
	// take, as measured, for another slot to be taken.
	ProofLoad uint64 `key:"proofLoad" def:"60" min:"1" max:"100"`
	// Dispersal is when the host may reserve a slot: always; or window, which admits
	// hosts by the distance of their address to the slot, more distant ones closer to
	// the expiry.
	Dispersal string `key:"dispersal" def:"always" oneOf:"always window"`
	// GiveUpDownload is after how long without a new byte a download is given up, by
	// this machine's clock.
	GiveUpDownload time.Duration `key:"giveUpDownload" def:"10m" min:"1s" max:"24h"`
	// JudgePace is over how long the pace of a download is measured, but at most a quarter
	// of the available time. A download that would not be done in time for proving and
	// filling is given up, and its client avoided. 0: the pace does not matter.
	JudgePace time.Duration `key:"judgePace" def:"10m" max:"24h"`
	// QuarantineRetry is the longest pause before a quarantined sale is tried again.
	// The first pause is a minute, each further one twice as long.
	QuarantineRetry time.Duration `key:"quarantineRetry" def:"1h" min:"1s" max:"24h"`
	// AvoidClient is how long requests of a client are refused whose data could not be
	// fetched, or was not what the request names; chain time. 0: never.
	AvoidClient time.Duration `key:"avoidClient" def:"1h" max:"720h"`
}

// Alerts tell a person when something needs one: a missed proof, a slashed or lost
// slot, a sale that cannot go on, too little money, a chain that does not answer.
type Alerts struct {
	// Command is run by the shell for each alert, which is its standard input, as
	// JSON. Empty: none.
	Command string `key:"command" secret:"command"`
	// Webhook is a URL that each alert is posted to as JSON. Empty: none.
	Webhook string `key:"webhook" secret:"webhook"`
	// Format is the form of what is posted: hostnode, or alertmanager for the URL of an Alertmanager
	// that ends with /api/v2/alerts.
	Format string `key:"format" def:"hostnode" oneOf:"hostnode alertmanager"`
	// KeyFile has the key with which what is posted is signed, in a file that only its owner can read.
	// Empty: it is not signed.
	KeyFile string `key:"keyFile"`
	// Timeout limits the command or the post.
	Timeout time.Duration `key:"timeout" def:"10s" min:"100ms" max:"10m"`
}

// Validator marks missing proofs of other hosts for a reward.
type Validator struct {
	// Enabled makes this process watch the slots of other hosts, and mark their
	// missing proofs.
	Enabled bool `key:"enabled" def:"false" flag:"validator"`
	// MaxSlots is the most slots that are watched. 0: no limit.
	MaxSlots uint64 `key:"maxSlots" def:"1000" max:"10000000"`
	// Groups is among how many validators all slots are divided; 0: this one watches all.
	Groups uint64 `key:"groups" def:"0" max:"65535"`
	// GroupIndex is which group this validator watches, from 0.
	GroupIndex uint64 `key:"groupIndex" def:"0" max:"65534"`
}

// Pools bound how many calls of a kind run at the same time.
type Pools struct {
	// Downloads is how many slots are fetched at the same time.
	Downloads int `key:"downloads" def:"2" min:"1" max:"64"`
	// Proofs is how many proofs are made at the same time. One uses all processors
	// and about 190 MB, so more only overlap its reading from disk.
	Proofs int `key:"proofs" def:"1" min:"1" max:"64"`
	// Transactions is how many calls may wait for the chain at the same time.
	Transactions int `key:"transactions" def:"16" min:"1" max:"1024"`
}

// Prover is how storage proofs are made. Samples and sizes must be those of the
// contract's verifier; other sizes need other keys.
type Prover struct {
	// Samples is how many cells of a slot one proof reads.
	Samples int `key:"samples" def:"5" min:"1" max:"1000"`
	// MaxDepth is the most levels of the tree over a slot's cells.
	MaxDepth int `key:"maxDepth" def:"32" min:"6" max:"32"`
	// MaxLog2Slots is the most slots of a dataset, as a power of two.
	MaxLog2Slots int `key:"maxLog2Slots" def:"8" min:"1" max:"8"`
	// KeysDir is the directory of the proving keys. Empty: hostnode/keys in the user's
	// cache directory, so that data directories share development keys.
	KeysDir string `key:"keysDir"`
}

// EventStore is where the host's record is kept.
type EventStore struct {
	// URL is EventStoreDB's connection string: esdb://host:2113 for one node; for a
	// cluster, several hosts separated by commas, or esdb+discover://name. Empty: the
	// embedded event store in the data directory.
	URL string `key:"url" flag:"store" secret:"store"`
	// PasswordFile holds the password of the user in the URL, readable only by its
	// owner (mode 0600). The URL may also contain the password, but then everybody
	// who sees the URL sees that, too.
	PasswordFile string `key:"passwordFile"`
	// CacheBytes is the memory of the embedded store's block cache.
	CacheBytes events.Bytes `key:"cacheBytes" def:"64MiB" min:"1MiB" max:"64GiB"`
	// SnapshotEvery is after how many events the states of the queue, the ledger
	// and the open sales are saved; a start then reads about as many events of
	// each.
	SnapshotEvery int `key:"snapshotEvery" def:"10000" min:"100" max:"10000000"`
}

// ServeEvents lets tools of EventStoreDB read the events while the host runs.
// Nobody can write the host's own streams that way.
type ServeEvents struct {
	// Listen is an address such as 127.0.0.1:2113. Empty: the events are not served.
	Listen string `key:"listen" flag:"serve-events"`
	// CertFile is a certificate with its chain (PEM). Empty: plain text, which is
	// only allowed on a loopback address.
	CertFile string `key:"certFile"`
	// KeyFile is the private key of the certificate.
	KeyFile string `key:"keyFile"`
	// UsersFile lists the users and their roles; hostnode eventstore user writes it.
	// Empty, on a loopback address: everybody on this machine may read everything.
	UsersFile string `key:"usersFile"`
	// Advertise is the host:port that clients of a cluster are told. Empty: the
	// address that they connected to.
	Advertise string `key:"advertise"`
	// MemoryBytes is the most memory that serving events takes; of hostnode eventstore,
	// the whole process. Three quarters of what is beyond 512 MiB are for the messages of
	// all clients. Further requests wait, and are refused when that takes long.
	MemoryBytes events.Bytes `key:"memoryBytes" def:"1GiB" min:"768MiB" max:"1TiB"`
	// MaxAppendSize is the most bytes of the events of one append. EventStoreDB has a
	// setting of this name, and 1 MiB unless it is set; hosts need as much.
	MaxAppendSize events.Bytes `key:"maxAppendSize" flag:"max-append-size" def:"64MiB" min:"1MiB" max:"64MiB"`
}

// Storage is how slots are fetched and kept.
type Storage struct {
	// FetchTimeout limits one request to a content source.
	FetchTimeout time.Duration `key:"fetchTimeout" def:"30s" min:"100ms" max:"1h"`
	// FetchRetries is how often a block is requested before the download pauses.
	FetchRetries int `key:"fetchRetries" def:"5" min:"1" max:"100"`
	// BlocksInFlight is how many blocks of 64 KiB one download requests at the same time.
	BlocksInFlight int `key:"blocksInFlight" def:"16" min:"1" max:"1024"`
	// KeepFree is how much of the file system must stay free. With less, no slot is
	// taken, but proofs go on; the events need room as well.
	KeepFree events.Bytes `key:"keepFree" def:"512MiB" max:"1EiB"`
	// ScrubEvery is how often all stored data, of slots and of sectors, is checked for
	// damage, which is then repaired. A proof finds damage, too, but only in the part that it reads. 0:
	// never.
	ScrubEvery time.Duration `key:"scrubEvery" def:"168h" max:"8760h"`
	// ScrubBytesPerSecond bounds how many bytes this check reads and hashes in a
	// second, for slots and as many for sectors. A processor hashes some 9 MiB of slots.
	ScrubBytesPerSecond events.Bytes `key:"scrubBytesPerSecond" def:"1MiB" min:"64KiB" max:"1GiB"`
	// FilesLost begins with an empty directory of slots although the host has used another: what is
	// hosted is fetched again where possible. Without it nothing of slots is read or written then,
	// because their disk may not be mounted.
	FilesLost bool `key:"filesLost" def:"false"`
}

// Finalized is the value of chain.finality for the chain's own tag.
const Finalized = "finalized"

// Default confirmations of chains (marketplace operators use 12 on public ones).
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
