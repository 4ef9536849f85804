package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Sectors seal data, and prove it to the contract of sectors.
type Sectors struct {
	// Sealer is who seals, and so what is proven: none seals nothing; commd stores the data and
	// proves possession; sim proves nothing and earns nothing, where the contract allows it; remote is an outside
	// prover. docs/sealers.md says what each shows.
	Sealer string `key:"sealer" def:"none" oneOf:"none commd sim remote"`
	// Contract is the address of the contract of sectors. Needed with chain.endpoint; the
	// embedded development chain has its own. It stays when sealer is none again: transactions
	// may be under way.
	Contract string `key:"contract"`
	// DeployedAt is the block in which that contract was deployed; no log is older. 0: the host
	// searches for it.
	DeployedAt uint64 `key:"deployedAt" def:"0"`
	// Directory is where the files of sectors are. Empty: sectors in the data directory.
	Directory string `key:"directory"`
	// FilesLost begins with an empty directory although the record has sectors with data in it: they
	// are restored from their pieces where possible, and the others are faulty. Without it nothing
	// is done for sectors then, because their disk may not be mounted.
	FilesLost bool `key:"filesLost" def:"false"`
	// Size is how large a new sector is unless its order says otherwise, padding included: a
	// power of two.
	Size events.Bytes `key:"size" def:"64MiB" min:"2KiB" max:"64GiB"`
	// Lifetime is how many blocks a sector is to live. 0: a million, within the limits of the
	// contract.
	Lifetime uint64 `key:"lifetime" def:"0" max:"1000000000000"`
	// SealAfter is how long after its beginning a sector that has pieces and waits for more is
	// sealed as it is. 0s: only when it is full, or when an operator orders it.
	SealAfter time.Duration `key:"sealAfter" def:"0s" max:"8760h"`
	// MaxDeposits is the most, in base units of the token, that the deposits of all sectors
	// together may have at stake. Empty: no limit.
	MaxDeposits string `key:"maxDeposits"`
	// WithdrawMin is the least amount of returned deposits and rewards, in base units of the token, that
	// is withdrawn from the contract: it should be worth the gas. Empty: any amount.
	WithdrawMin string `key:"withdrawMin"`
	// WithdrawEvery is how many blocks lie between two withdrawals. When a sector is over, the next
	// block withdraws.
	WithdrawEvery uint64 `key:"withdrawEvery" def:"1000" min:"1" max:"10000000"`
	// FinalBlocks is how many blocks make final what the contract says of a sector. 0: as many
	// as sales.finalBlocks.
	FinalBlocks uint64 `key:"finalBlocks" def:"0" max:"10000"`
	// WatchEvery is how many blocks lie between two questions to the contract about all sectors.
	WatchEvery uint64 `key:"watchEvery" def:"2" min:"1" max:"1000"`
	// ProveMargin is how many blocks before the end of a window the proofs that are ready are sent; a
	// sector whose proof is not ready then is faulty. Less than half of a window.
	ProveMargin uint64 `key:"proveMargin" def:"3" min:"1" max:"100"`
	// StepLimit is how long one call of a step may take, such as a half of sealing. Then it is cancelled
	// and counts as a failure.
	StepLimit time.Duration `key:"stepLimit" def:"24h" min:"1s" max:"720h"`
	// ChallengeLimit is how long one try at a daily proof may take before another sector's is made.
	ChallengeLimit time.Duration `key:"challengeLimit" def:"5m" min:"1s" max:"24h"`
	// Retries say when a step that failed is tried again.
	Retries SectorRetries `key:"retries"`
	// Workers bound how many steps of a kind run at the same time.
	Workers SectorWorkers `key:"workers"`
	// Remote is the outside prover, if sealer is remote.
	Remote RemoteProver `key:"remote"`
}

// SectorRetries say when a step of a sector that failed is tried again.
type SectorRetries struct {
	// FirstPause is the pause after the first failure in a row. Each further one doubles it.
	FirstPause time.Duration `key:"firstPause" def:"15s" min:"1s" max:"24h"`
	// MostPause is the longest pause, however often it failed.
	MostPause time.Duration `key:"mostPause" def:"1h" min:"1s" max:"720h"`
	// MaxFailures is after how many failures in a row one more parks the sector, until somebody
	// orders it to go on (hostnode sectors retry).
	MaxFailures uint64 `key:"maxFailures" def:"8" min:"1" max:"1000"`
}

// SectorWorkers bound how many steps of a kind run at the same time.
type SectorWorkers struct {
	// Fetch is how many pieces are written into sectors at the same time.
	Fetch int `key:"fetch" def:"4" min:"1" max:"64"`
	// Pack is how many sectors are filled up, or mended after damage, at the same time.
	Pack int `key:"pack" def:"2" min:"1" max:"64"`
	// PreCommit1 is how many sectors are in the first half of sealing at the same time.
	PreCommit1 int `key:"precommit1" def:"1" min:"1" max:"64"`
	// PreCommit2 is how many sectors are in the second half of sealing at the same time.
	PreCommit2 int `key:"precommit2" def:"1" min:"1" max:"64"`
	// Commit is how many proofs of seals are made at the same time.
	Commit int `key:"commit" def:"1" min:"1" max:"64"`
	// Challenges is how many daily proofs are made at the same time.
	Challenges int `key:"challenges" def:"4" min:"1" max:"64"`
}

// RemoteProver is an outside prover, which seals and stores sectors.
type RemoteProver struct {
	// URL is the prover's, such as https://prover.example.org. Plain http is only allowed to
	// this machine.
	URL string `key:"url" secret:"url"`
	// TokenFile holds the token that the prover wants, readable only by its owner (mode 0600).
	// Empty: it wants none.
	TokenFile string `key:"tokenFile"`
	// Proves is what its proofs must show. A prover that claims something else is refused, and so is
	// what the contract does not verify: replication, and simulated where it was not deployed for trials.
	Proves string `key:"proves" def:"possession" oneOf:"possession simulated replication"`
	// Poll is how often a step that lasts is asked about.
	Poll time.Duration `key:"poll" def:"10s" min:"100ms" max:"1h"`
	// RequestTimeout limits one request that carries no piece.
	RequestTimeout time.Duration `key:"requestTimeout" def:"1m" min:"100ms" max:"1h"`
	// CallbackListen is an address such as 127.0.0.1:8090, where the prover may say that a
	// step has ended, so that it is asked at once. Empty: it is asked every poll.
	CallbackListen string `key:"callbackListen"`
	// Callback is the URL at which the prover reaches that. Empty: http:// and callbackListen.
	Callback string `key:"callback" secret:"url"`
}

// NoSealer is the value of sectors.sealer that seals nothing.
const NoSealer = "none"

// Seals reports whether the host seals sectors.
func (c Config) Seals() bool { return c.Sectors.Sealer != "" && c.Sectors.Sealer != NoSealer }

// SectorContract is sectors.contract as an address; zero: none is set.
func (c Config) SectorContract() events.Address {
	return events.Must(optional(c.Sectors.Contract, events.ParseAddress))
}

// MaxDeposits is sectors.maxDeposits as an amount; nil: no limit.
func (c Config) MaxDeposits() *events.Amount { return limitOf(c.Sectors.MaxDeposits) }

// WithdrawMin is sectors.withdrawMin as an amount.
func (c Config) WithdrawMin() events.Amount {
	return events.Must(optional(c.Sectors.WithdrawMin, events.ParseAmount))
}

func (c Config) checkSectors() error {
	s := c.Sectors
	contract, err := optional(s.Contract, events.ParseAddress)
	switch {
	case c.Embedded() && s.Contract != "":
		return refuse("sectors.contract", s.Contract, "the embedded development chain brings its own "+
			"contract; set chain.endpoint too, or remove it")
	case err != nil, s.Contract != "" && contract.Zero(), !c.Embedded() && c.Seals() && s.Contract == "":
		return refuse("sectors.contract", s.Contract, "with chain.endpoint and sectors.sealer it must be the address "+
			"of the contract of sectors, 0x and 40 hex digits, and not the zero address")
	case s.Size&(s.Size-1) != 0:
		return refuse("sectors.size", bytesText(s.Size), "not a power of two; write for example 64MiB or 32GiB")
	case s.Directory != "" && !filepath.IsAbs(s.Directory):
		return refuse("sectors.directory", s.Directory, "write an absolute path")
	case s.Retries.MostPause < s.Retries.FirstPause:
		return refuse("sectors.retries.mostPause", s.Retries.MostPause.String(),
			fmt.Sprintf("shorter than sectors.retries.firstPause, %s", s.Retries.FirstPause))
	}
	return cmp.Or(checkAmount("sectors.maxDeposits", s.MaxDeposits), checkAmount("sectors.withdrawMin", s.WithdrawMin))
}

func (c Config) checkRemoteProver() error {
	r := c.Sectors.Remote
	if c.Sectors.Sealer != "remote" {
		return nil
	}
	u, _ := url.Parse(r.URL)
	switch {
	case !overHTTP(r.URL):
		return refuse("sectors.remote.url", r.URL, "with sectors.sealer = remote it must be the URL of the outside "+
			"prover; write for example https://prover.example.org")
	case u.User != nil:
		return refuse("sectors.remote.url", r.URL, "a password does not belong into it; use sectors.remote.tokenFile")
	case r.CallbackListen == "" && r.Callback != "":
		return refuse("sectors.remote.callback", r.Callback, "nothing listens there; set "+
			"sectors.remote.callbackListen too, or remove it")
	case r.CallbackListen == "":
		return nil
	}
	if _, port, err := net.SplitHostPort(r.CallbackListen); err != nil || port == "0" {
		return refuse("sectors.remote.callbackListen", r.CallbackListen, "write host:port, for example 127.0.0.1:8090")
	}
	if !overHTTP(c.CallbackURL()) {
		return refuse("sectors.remote.callback", r.Callback, "not a URL; write for example "+
			"http://host.example.org:8090")
	}
	return nil
}

// CallbackURL is how an outside prover reaches the host; empty: it does not.
func (c Config) CallbackURL() string {
	r := c.Sectors.Remote
	if r.Callback == "" && r.CallbackListen != "" {
		return "http://" + r.CallbackListen
	}
	return r.Callback
}
