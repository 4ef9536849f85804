// Package doctor examines whether a machine and its settings can sell, before a host runs and beside one.
//
// Each examination has two halves. The first measures (machine.go, chain.go, proof.go, services.go) and returns what
// it found as plain values; the second judges these (judge.go), knows neither clock nor disk nor network, and says
// OK, WARN or FAIL, and what to do next. Errors get code and hint from the table of all errors.
//
// Nothing is written but one file of limited size, which has no name any more when its first byte is written, so
// that it is gone whatever ends the process. Nothing is sent on chain. Examinations run one after the other, because
// each would disturb what the others measure; only the end points of the chain are asked together.
package doctor

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
)

// Result is what an examination comes to.
type Result string

// Results. FAIL is what keeps the host from selling or proving, or makes it lose money; WARN what may.
const (
	OK   Result = "OK"
	Warn Result = "WARN"
	Fail Result = "FAIL"
)

// Finding is one line of a report.
type Finding struct {
	// Check is what was examined; several findings may be about the same.
	Check  string `json:"check"`
	Result Result `json:"result"`
	// Found is what was measured, with its unit.
	Found string `json:"found"`
	// Hint is what to do next; empty: nothing.
	Hint string `json:"hint,omitempty"`
	// Code is that of docs/errors.md or of the status; empty: there is none.
	Code string `json:"code,omitempty"`
}

// Report is all that was found.
type Report struct {
	// Result is the worst of all findings.
	Result   Result    `json:"result"`
	Findings []Finding `json:"findings"`
}

// Options say what is examined.
type Options struct {
	Config config.Config
	// Timeout is for each examination.
	Timeout time.Duration
	// Now is the machine's clock.
	Now func() time.Time
}

// exam is one examination after the other.
type exam struct {
	Options
	dir    datadir.Layout
	report Report
}

// Examine examines everything. When ctx ends it returns the context's error.
func Examine(ctx context.Context, o Options) (Report, error) {
	e := &exam{Options: o, dir: datadir.At(o.Config.DataDir), report: Report{Result: OK}}
	host, _ := examine(ctx, e, "host", e.measureHost, judgeHost)
	examine(ctx, e, "files", e.measureFiles, judgeFiles)
	e.judge("ports", judgePorts(e.measurePorts(ctx, host.Running))...)
	examine(ctx, e, "disk space", e.measureSpace, one(judgeSpace))
	examine(ctx, e, "disk speed", e.measureDisk, one(judgeDisk))
	examine(ctx, e, "event store", func(ctx context.Context) ([]Finding, error) {
		return e.askRecord(ctx, host.Running)
	}, judged)
	if o.Config.EventStore.URL != "" {
		examine(ctx, e, "projections", e.measureProjections, judgeProjections)
	}
	for _, url := range o.Config.Cluster.Etcd.Endpoints {
		examine(ctx, e, "etcd", func(ctx context.Context) ([]Finding, error) {
			return e.askEtcd(ctx, url)
		}, judged)
	}
	account, _ := examine(ctx, e, "account", e.measureAccount, one(judgeAccount))
	m := e.examineChain(ctx, account, host)
	examine(ctx, e, "hash speed", func(ctx context.Context) (hashing, error) {
		return e.measureHashing(ctx, m)
	}, one(judgeHashing))
	keys, _ := examine(ctx, e, "proving keys", func(context.Context) (provingKeys, error) {
		return e.measureKeys(m)
	}, one(judgeKeys))
	examine(ctx, e, "proof time", func(ctx context.Context) (proving, error) {
		return e.measureProof(ctx, keys, m)
	}, one(judgeProof))
	return e.report, ctx.Err()
}

// examineChain examines what the end points and the contract say; the market is not Known if none does.
func (e *exam) examineChain(ctx context.Context, who account, host host) market {
	reach, _ := examine(ctx, e, "end points", e.measureEndpoints, judgeEndpoints)
	if reach.first() == nil {
		return market{}
	}
	m, known := examine(ctx, e, "market", func(ctx context.Context) (market, error) {
		return e.measureMarket(ctx, reach, who.Address)
	}, one(judgeMarket))
	if !known {
		return market{}
	}
	e.judge("clock", judgeClock(clock{
		Ahead: reach.At.Sub(reach.newest().Time), Block: m.BlockTime, Silent: e.Config.Chain.SilentBlocks,
		Development: reach.first().ID.ChainID == devchain.ChainID,
	}))
	e.judge("fees", judgeFees(m.Fees))
	if !who.Address.Zero() {
		e.judge("balance", judgeBalance(balance{Balance: m.Balance, Collateral: host.Collateral})...)
	}
	return m
}

// judged is for what is judged where it is asked for, because there is nothing to compute.
func judged(all []Finding) []Finding { return all }

// one is the judgement of what is one finding.
func one[M any](judge func(M) Finding) func(M) []Finding {
	return func(m M) []Finding { return []Finding{judge(m)} }
}

// judge adds findings to the report.
func (e *exam) judge(check string, found ...Finding) {
	for _, f := range found {
		f.Check = check
		e.report.Findings = append(e.report.Findings, f)
		if f.Result == Fail || f.Result == Warn && e.report.Result == OK {
			e.report.Result = f.Result
		}
	}
}

// examine measures within the time limit, and judges. Neither a file system nor a computation ends with a context,
// so it is not waited for what is late. false: nothing was measured, and the finding says why.
func examine[M any](
	ctx context.Context, e *exam, check string, measure func(context.Context) (M, error), judge func(M) []Finding,
) (m M, measured bool) {
	if ctx.Err() != nil {
		return m, false
	}
	limited, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	type outcome struct {
		m   M
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		m, err := measure(limited)
		done <- outcome{m, err}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-limited.Done():
		o.err = limited.Err()
	}
	switch {
	case o.err == nil:
		e.judge(check, judge(o.m)...)
	case ctx.Err() != nil: // What was interrupted is not judged.
	case limited.Err() != nil:
		e.judge(check, found("not measured within %s", e.Timeout).
			but(Fail, "timeout", "give it longer with --timeout; the machine or the network is slow"))
	default:
		e.judge(check, failed(o.err))
	}
	return o.m, o.err == nil
}
