package api

import (
	"context"
	"io"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
)

// Backend is a host that is asked by calls (calls.go): a Client, or a Live, an Offline or a Standby in this process.
// All is safe for concurrent use. Errors are in the table of package rows; changes are durable when an answer comes.
type Backend interface {
	// At answers as of a point in the past, where nothing can be changed.
	At(ctx context.Context, when When) (Backend, error)
	// Export writes all streams, as transfer.Export does.
	Export(ctx context.Context, w io.Writer, o ExportOptions) error
}

// Seller takes orders about what is sold.
type Seller interface {
	// AddAvailability puts space on offer. Repeating it with the same id and the
	// same offer changes nothing.
	AddAvailability(ctx context.Context, offer Offer) (projections.Availability, error)
	// SetAvailability changes an offer. The beginning of its id is enough.
	SetAvailability(ctx context.Context, id string, changes Changes) (projections.Availability, error)
	// RemoveAvailability removes an offer of which nothing is sold, and returns its
	// full id. The beginning of the id is enough.
	RemoveAvailability(ctx context.Context, id string) (string, error)
	// PauseQueue stops taking slots until ResumeQueue; sales go on.
	PauseQueue(ctx context.Context, reason string) (Queue, error)
	// ResumeQueue takes slots again.
	ResumeQueue(ctx context.Context, reason string) (Queue, error)
}

// QuarantineReader lists the work that is in quarantine, because of a bug or of its events.
type QuarantineReader interface {
	Quarantine(ctx context.Context) (Quarantine, error)
}

// AsOf says what an answer rests on.
type AsOf struct {
	// Position is that of the last event that the answer includes.
	Position events.Position `json:"position"`
	// Time is when the answer was given, by the machine's clock.
	Time time.Time `json:"time"`
	// Running says that a host is running.
	Running bool `json:"running"`
	// Recorded is when the last event that the answer includes was written, by
	// the clock of the store's machine; only in answers about the past.
	Recorded time.Time `json:"recorded,omitzero"`
}

// Standing says whether a host, or one member of it, does what it is there for.
type Standing struct {
	// Selling says that it takes slots that match; Reason says why, or why not, and Hint what to do about it.
	Selling bool   `json:"selling"`
	Reason  string `json:"reason"`
	Hint    string `json:"hint,omitempty"`
	// SellingUnknown says that it is not known whether it sells; Selling is false then.
	SellingUnknown bool `json:"sellingUnknown,omitempty"`
	// NotProving says that due proofs of hosted slots, or of sectors, are not made or not sent.
	NotProving bool `json:"notProving,omitempty"`
	// Purpose is "proving sectors", "sealing sectors" or "validating" if it has no space on offer and hosts no slot:
	// then that it does not sell is no trouble. Empty: it is there to sell.
	Purpose string `json:"purpose,omitempty"`
	// Readiness lists all obstacles, in the order in which they would have to be
	// removed; Reason and Hint are those of the first.
	Readiness []Obstacle `json:"readiness"`
}

// Status is how a host stands.
type Status struct {
	AsOf AsOf `json:"asOf"`
	// Standing is that of the whole host, as far as the process that is asked knows it.
	Standing
	// Here is that of this member alone; nil: the host is one process, or does not run here.
	Here *Standing `json:"here,omitempty"`
	// Warnings are what does not keep the host from selling or proving yet.
	Warnings []Obstacle `json:"warnings,omitempty"`
	// Elsewhere says that, by its events, the host runs on another machine, so
	// that only the events are known here.
	Elsewhere bool `json:"elsewhere,omitempty"`

	// Member is the name of this process among the members of the host; empty: it is the host.
	Member events.Member `json:"member,omitempty"`
	// Owner is the member that has the term since OwnerSince; empty: none has, or the host is one
	// process or does not run here.
	Owner      events.Member `json:"owner,omitempty"`
	OwnerSince time.Time     `json:"ownerSince,omitzero"`

	Account string `json:"account,omitempty"`
	DataDir string `json:"dataDir"`
	// Dry says that nothing is really sold: this is a dry run, or its record.
	Dry     bool   `json:"dry,omitempty"`
	Version string `json:"version,omitempty"`
	// Epoch counts the starts of the host; Since is the last one.
	Epoch   uint64    `json:"epoch"`
	Since   time.Time `json:"since,omitzero"`
	Chain   Chain     `json:"chain"`
	Record  Record    `json:"record"`
	Balance *Balance  `json:"balance,omitempty"`
	// Token is what the market pays in; nil: not known, as before the first start.
	Token *money.Token `json:"token,omitempty"`

	Ledger projections.Ledger `json:"ledger"`
	// Quota is the configured quota, if more than that is allocated in the ledger.
	Quota    events.Bytes         `json:"quota,omitempty"`
	Queue    projections.Queue    `json:"queue"`
	Earnings projections.Earnings `json:"earnings"`
	// Validator is what this account has marked; nil: it never validated.
	Validator *Validator `json:"validator,omitempty"`
	// Phases counts the open sales by phase.
	Phases map[string]int `json:"phases"`
	// Sectors is how the sectors are together; nil: there never was one.
	Sectors *SectorSummary `json:"sectors,omitempty"`
	// Down are the parts of the host that do not run. Without the ledger or the queue
	// nothing is sold; without the proof scheduler no new proof is begun.
	Down []DownPart `json:"down,omitempty"`
	// Quarantined is the work that is in quarantine.
	Quarantined []QuarantinedWork `json:"quarantined,omitempty"`
	// Trouble lists the sales that cannot go on.
	Trouble []Trouble `json:"trouble,omitempty"`
	Pools   []Pool    `json:"pools,omitempty"`
	// Disk is the free space of the file system; nil: the host does not run.
	Disk *Disk `json:"disk,omitempty"`
	// Scrub is the state of the scrub; nil: the host does not run.
	Scrub *Scrub `json:"scrub,omitempty"`
	// SectorScrub is that of the scrub of sectors; nil: it has not begun, or none runs.
	SectorScrub *SectorScrub       `json:"sectorScrub,omitempty"`
	Views       projections.Status `json:"views"`
}

// Obstacle is something that prevents selling or proving.
type Obstacle struct {
	// Code never changes; programs may compare it.
	Code string `json:"code"`
	// Selling and Proving say whether the host still does so: "yes", "no" or "unknown".
	Selling string `json:"selling"`
	Proving string `json:"proving"`
	Reason  string `json:"reason"`
	Hint    string `json:"hint"`
}

// DownPart is a part of a host that does not run.
type DownPart struct {
	Part string `json:"part"`
	// Since is by the machine's clock.
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// Quarantine is the work that a host leaves alone after failures.
type Quarantine struct {
	AsOf AsOf              `json:"asOf"`
	Work []QuarantinedWork `json:"work"`
}

// QuarantinedWork is one piece of such work.
type QuarantinedWork struct {
	// Work names it: its kind and which one.
	Work string `json:"work"`
	// Since is by the machine's clock.
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// Chain is what is known of the chain.
type Chain struct {
	ID       uint64 `json:"id,omitempty"`
	Contract string `json:"contract,omitempty"`
	// Endpoint is the endpoint in use or, while there is none, the last one used,
	// without its secrets. EndpointSince is since when it was in use, by the machine's
	// clock.
	Endpoint      string    `json:"endpoint,omitempty"`
	EndpointSince time.Time `json:"endpointSince,omitzero"`
	// FirstEndpoint is the first configured endpoint, if another one is in use, and
	// WhyNotFirst what was wrong with it when last asked.
	FirstEndpoint string `json:"firstEndpoint,omitempty"`
	WhyNotFirst   string `json:"whyNotFirst,omitempty"`
	// Away says that no endpoint answers; AwaySince since when, if that was noticed
	// before this answer, and AwayReason what is wrong with each.
	Away       bool      `json:"away"`
	AwaySince  time.Time `json:"awaySince,omitzero"`
	AwayReason string    `json:"awayReason,omitempty"`
	// Limited says that the endpoints answer, but limit our requests.
	Limited bool `json:"limited,omitempty"`
	// FeeLimit says how the configured limit on fees delays transactions; empty: it does
	// not.
	FeeLimit string `json:"feeLimit,omitempty"`
	// Signer says why the account's signer signs nothing, or not everything; empty: it
	// signs, or a key file does.
	Signer string `json:"signer,omitempty"`
	// Development says that it is a development chain, whose tokens are worth nothing.
	Development bool `json:"development"`
	// Head is the newest block that the host knows, HeadTime its chain time.
	Head     uint64    `json:"head,omitempty"`
	HeadHash string    `json:"headHash,omitempty"`
	HeadTime time.Time `json:"headTime,omitzero"`
	// BlockTime is the time between two blocks, in seconds of chain time; 0: not known
	// yet. BlockTimeSet says that it was configured, or is the development
	// chain's, and is not measured.
	BlockTime    float64 `json:"blockTimeSeconds,omitempty"`
	BlockTimeSet bool    `json:"blockTimeSet,omitempty"`
	// Live says that the host has seen the newest block; Stalled that no block has come
	// for longer than it should.
	Live    bool `json:"live"`
	Stalled bool `json:"stalled"`
}

// Validator is what a validating account marks.
type Validator struct {
	projections.Validator
	// Enabled says that the running host validates now; the rest comes from its events.
	Enabled bool `json:"enabled"`
	// Ready says that the history of the market is read, so that misses are marked.
	Ready bool `json:"ready"`
	// Watching counts the watched slots of other hosts, Skipped those beyond the
	// limit, Marking the missing proofs that are being marked.
	Watching uint64 `json:"watching"`
	Skipped  uint64 `json:"skipped"`
	Marking  uint64 `json:"marking"`
	// Trouble says why validating has stopped.
	Trouble string `json:"trouble,omitempty"`
}

// Record says whether the event store answers a running host. While it does not,
// due proofs are sent, and nothing else begins.
type Record struct {
	Away bool `json:"away"`
	// Since is when it was first found not to answer, by the machine's clock, and
	// Reason its last error.
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Unanswered is how many calls on it are waiting for an answer.
	Unanswered int `json:"unanswered,omitempty"`
}

// Balance is the account's balance, or why it is not known.
type Balance struct {
	Tokens string `json:"tokens,omitempty"`
	Wei    string `json:"wei,omitempty"`
	Error  string `json:"error,omitempty"`
	// Limited: the error is that the node limits our requests.
	Limited bool `json:"-"`
}

// Trouble is a sale that meets an error, or was put into quarantine because of one.
type Trouble struct {
	Slot        string    `json:"slotId"`
	Waiting     string    `json:"waitsFor"`
	Effect      string    `json:"effect,omitempty"`
	Error       string    `json:"error,omitempty"`
	Since       time.Time `json:"since,omitzero"`
	Tries       int       `json:"tries,omitempty"`
	Quarantined string    `json:"quarantined,omitempty"`
	// Damaged says what of the slot's data is damaged on disk, DamagedSince since when, by
	// chain time; empty: nothing is.
	Damaged      string    `json:"damaged,omitempty"`
	DamagedSince time.Time `json:"damagedSince,omitzero"`
}

// Disk is how much room the file system has, by the machine's clock.
type Disk struct {
	// Full says that no slots are taken for lack of room, since when, and why.
	Full   bool      `json:"full"`
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Free is the free space, Keep how much of it must stay free (storage.keepFree).
	Free events.Bytes `json:"free"`
	Keep events.Bytes `json:"keep"`
}

// Scrub is how far the check of all stored data has come, by the machine's clock.
type Scrub struct {
	// Began is when the running pass began; it has come to Block of Slot. Zero: none runs.
	Began time.Time `json:"began,omitzero"`
	Slot  string    `json:"slotId,omitempty"`
	Block uint64    `json:"block,omitempty"`
	// LastBegan and LastEnded are those of the last complete pass; zero: there was none.
	LastBegan time.Time `json:"lastBegan,omitzero"`
	LastEnded time.Time `json:"lastEnded,omitzero"`
}

// SectorScrub is how far the check of the data of all sectors has come, as Scrub says.
type SectorScrub struct {
	// Began is when the running pass began; it has come to Offset of the data of Sector.
	Began     time.Time    `json:"began,omitzero"`
	Sector    uint64       `json:"sector,omitempty"`
	Offset    events.Bytes `json:"offset,omitempty"`
	LastBegan time.Time    `json:"lastBegan,omitzero"`
	LastEnded time.Time    `json:"lastEnded,omitzero"`
}

// Pool is how busy a kind of call is.
type Pool struct {
	Name    string `json:"name"`
	Running int    `json:"running"`
	Waiting int    `json:"waiting"`
	Size    int    `json:"size"`
}

// Ledger is the ledger of this host.
type Ledger struct {
	AsOf AsOf `json:"asOf"`
	// MarketTime is by what offers end: the chain's time or, where that is not known, the machine's; of the past, when
	// the last event was recorded.
	MarketTime time.Time `json:"marketTime"`
	projections.Ledger
}

// Sales are sales of this host, that which began last first.
type Sales struct {
	AsOf  AsOf               `json:"asOf"`
	Sales []projections.Sale `json:"sales"`
	// Hidden is how many settled ones were left out.
	Hidden int `json:"hidden"`
	// Expected is what those that are hosted are still paid at most, in token base units, by slot.
	Expected map[string]events.Amount `json:"expectedAtMost,omitempty"`
	Paged
}

// Story is all that happened to a slot.
type Story struct {
	AsOf AsOf `json:"asOf"`
	// Attempts are in order; the last one is the present one. There is none if no sale of the slot ever began: then
	// Moments are what the queue did, and Offered says which slot it is.
	Attempts []projections.Sale   `json:"attempts"`
	Moments  []projections.Moment `json:"moments"`
	// PaysAtMost is what the present attempt pays until its end, in token base units; empty: it has ended.
	PaysAtMost string       `json:"paysAtMost,omitempty"`
	Offered    *OfferedSlot `json:"offered,omitempty"`
	// Trouble is the sale's present problem, if the host runs.
	Trouble *Trouble `json:"trouble,omitempty"`
}

// OfferedSlot is a slot that the host could have sold.
type OfferedSlot struct {
	Slot      string `json:"slotId"`
	Request   string `json:"requestId"`
	SlotIndex uint64 `json:"slotIndex"`
	// Forgotten: what the queue did longer ago is no longer in the record.
	Forgotten bool `json:"forgotten,omitempty"`
}

// Queue is the slot queue of this host.
type Queue struct {
	AsOf AsOf `json:"asOf"`
	projections.Queue
}

// Audit is what the auditor found in the streams, and the store in its own files.
type Audit struct {
	AsOf  AsOf `json:"asOf"`
	Clean bool `json:"clean"`
	audit.Report
	// Store is the check of the store's own files; nil when the store is a server.
	Store *StoreCheck `json:"store,omitempty"`
}

// StoreCheck is what the store found in its files.
type StoreCheck struct {
	Events   uint64         `json:"events"`
	Streams  uint64         `json:"streams"`
	Findings []StoreFinding `json:"findings"`
	// More counts findings that are not listed.
	More uint64 `json:"more"`
	// DroppedBytes is how much of an unfinished write was dropped from the end of the
	// log when the store was opened for this answer; none of it had been
	// acknowledged.
	DroppedBytes int64 `json:"droppedBytes,omitempty"`
}

// StoreFinding is a fault in the store's files. Fields that are not known are zero.
type StoreFinding struct {
	Position events.Position `json:"position,omitempty"`
	Through  events.Position `json:"through,omitempty"`
	Stream   string          `json:"stream,omitempty"`
	Revision uint64          `json:"revision,omitempty"`
	Problem  string          `json:"problem"`
	// Sentence says all of it.
	Sentence string `json:"sentence"`
}

// Offer is what is put up for sale.
type Offer struct {
	// ID is chosen by the caller, so that repeating the call is safe; empty: the host chooses.
	ID string `json:"id,omitempty"`
	// Member is whose space it is; empty: that of the process that is asked.
	Member          events.Member `json:"member,omitempty"`
	Size            events.Bytes  `json:"size"`
	DurationSeconds uint64        `json:"durationSeconds"`
	MinPrice        string        `json:"minPricePerBytePerSecond"`
	Collateral      string        `json:"totalCollateral"`
	Disabled        bool          `json:"disabled,omitempty"`
	Until           time.Time     `json:"until,omitzero"`
}

// Changes of an offer; nil leaves a field as it is.
type Changes struct {
	Size            *events.Bytes `json:"size,omitempty"`
	DurationSeconds *uint64       `json:"durationSeconds,omitempty"`
	MinPrice        *string       `json:"minPricePerBytePerSecond,omitempty"`
	Collateral      *string       `json:"totalCollateral,omitempty"`
	Enabled         *bool         `json:"enabled,omitempty"`
	Until           *time.Time    `json:"until,omitempty"`
	// NoEnd removes Until.
	NoEnd bool `json:"noEnd,omitempty"`
}
