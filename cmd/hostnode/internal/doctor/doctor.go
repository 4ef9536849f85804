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
	"fmt"
	"time"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
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

func (r *Report) add(found ...Finding) {
	for _, f := range found {
		if r.Findings = append(r.Findings, f); f.Result == Fail || f.Result == Warn && r.Result == OK {
			r.Result = f.Result
		}
	}
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
	examine(ctx, e, "ports", func(ctx context.Context) ([]port, error) {
		return e.measurePorts(ctx, host.Running), nil
	}, judgePorts)
	examine(ctx, e, "disk space", e.measureSpace, judgeSpace)
	examine(ctx, e, "disk speed", e.measureDisk, judgeDisk)
	examine(ctx, e, "event store", func(ctx context.Context) (record, error) {
		return e.measureRecord(ctx, host)
	}, judgeRecord)
	if o.Config.EventStore.URL != "" {
		examine(ctx, e, "projections", e.measureProjections, judgeProjections)
	}
	if o.Config.Clustered() {
		for _, url := range o.Config.Cluster.Etcd.Endpoints {
			examine(ctx, e, "etcd", func(ctx context.Context) (etcd, error) { return e.measureEtcd(ctx, url) }, judgeEtcd)
		}
	}
	account, _ := examine(ctx, e, "account", e.measureAccount, judgeAccount)
	e.examineChain(ctx, account, host)
	return e.report, ctx.Err()
}

// examineChain examines the market, and what depends on what it says.
func (e *exam) examineChain(ctx context.Context, who account, host host) {
	reach, _ := examine(ctx, e, "end points", e.measureEndpoints, judgeEndpoints)
	m := market{}
	if first := reach.first(); first != nil {
		m, _ = examine(ctx, e, "market", func(ctx context.Context) (market, error) {
			return e.measureMarket(ctx, reach, who.Address)
		}, judgeMarket)
		m.Development = first.ID.ChainID == devchain.ChainID
	}
	if m.Known {
		examine(ctx, e, "clock", func(context.Context) (clock, error) {
			return clock{
				Ahead: reach.At.Sub(reach.newest().Time), Block: m.BlockTime, Silent: e.Config.Chain.SilentBlocks,
				Development: m.Development,
			}, nil
		}, judgeClock)
		examine(ctx, e, "fees", func(context.Context) (fees, error) { return m.Fees, nil }, judgeFees)
	}
	if m.Known && !who.Address.Zero() {
		examine(ctx, e, "balance", func(context.Context) (balance, error) {
			return balance{Balance: m.Balance, Collateral: host.Collateral, Offers: host.Offers}, nil
		}, judgeBalance)
	}
	examine(ctx, e, "hash speed", func(ctx context.Context) (hashing, error) { return e.measureHashing(ctx, m) },
		judgeHashing)
	keys, _ := examine(ctx, e, "proving keys", func(ctx context.Context) (provingKeys, error) {
		return e.measureKeys(ctx, m)
	}, judgeKeys)
	examine(ctx, e, "proof time", func(ctx context.Context) (proving, error) {
		return e.measureProof(ctx, keys, m)
	}, judgeProof)
}

// examine measures within the time limit, and judges. Neither a file system nor a computation ends with a context,
// so it is not waited for what is late. false: nothing was measured, and the finding says why.
func examine[M any](
	ctx context.Context, e *exam, check string, measure func(context.Context) (M, error), judge func(M) []Finding,
) (m M, measured bool) {
	if ctx.Err() != nil {
		return m, false
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	type outcome struct {
		m   M
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		m, err := measure(ctx)
		done <- outcome{m, err}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		o.err = ctx.Err()
	}
	var found []Finding
	if o.err == nil {
		found = judge(o.m)
	} else {
		found = []Finding{failed(o.err)}
		if ctx.Err() != nil {
			found[0].Found = fmt.Sprintf("not measured within %s: %v", e.Timeout, o.err)
			found[0].Hint, found[0].Code = "try again with a longer --timeout; the machine or the network is slow", "timeout"
		}
	}
	for i := range found {
		found[i].Check = check
	}
	e.report.add(found...)
	return o.m, o.err == nil
}

// failed is the finding of an error, with the words of docs/errors.md.
func failed(err error) Finding {
	p := rows.All().Explain(err)
	return Finding{Result: Fail, Found: p.Detail, Hint: p.Hint, Code: p.Code}
}

// okay is a finding about what is in order.
func okay(format string, args ...any) []Finding {
	return []Finding{{Result: OK, Found: fmt.Sprintf(format, args...)}}
}
