package api

import (
	"context"
	"math/big"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/projections"
)

// collector measures the figures when it is asked. It keeps none, so nothing is lost in a restart. What is asked of the
// chain is what the status asks, with its patience.
type collector struct {
	of  Backend
	log *logrus.Entry
}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range Figures(machinesOf(c.of)) {
		to <- f.desc()
	}
}

func machinesOf(b Backend) []Machine {
	if local, ok := b.(here); ok {
		return local.machines()
	}
	return nil
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	put := func(f *Figure, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if f.Kind == Counter {
			kind = prometheus.CounterValue
		}
		for i := range labels {
			labels[i] = strings.ToValidUTF8(labels[i], "?")
		}
		to <- prometheus.MustNewConstMetric(f.desc(), kind, value, labels...)
	}
	r, ok := c.of.(interface{ itself() *reader })
	if !ok {
		return
	}
	s, err := statusOf(ctx, c.of)
	if put(statusUp, Flag(err == nil)); err != nil {
		c.log.Warnf("some figures of /metrics are absent: %v", err)
	} else {
		put(readyFigure, Flag(readiness(c.of, s).Ready))
		measureStatus(s, r.itself().now(), put)
	}
	if r.itself().store != nil { // Without it, there are only views of nothing.
		r.itself().measure(put, func(f *Figure, d projections.Durations, labels ...string) {
			within := map[float64]uint64{}
			for i, bound := range projections.Bounds()[:len(d.Within)] {
				within[bound] = d.Within[i]
			}
			seconds := float64(d.Milliseconds) / 1000
			to <- prometheus.MustNewConstHistogram(f.desc(), d.Count, seconds, within, labels...)
		}, s)
		r.itself().measureStore(ctx, put)
	}
	if live, ok := c.of.(*Live); ok {
		live.measure(ctx, put)
	}
}

// statusOf is the status, if the backend has one.
func statusOf(ctx context.Context, b Backend) (s Status, err error) {
	if of, ok := b.(statusSource); ok {
		return of.Status(ctx)
	}
	return s, errNotHere
}

func (r *reader) itself() *reader { return r }

// measure puts what follows from the record, all of it as of one position. Rows are counted, and not made.
func (r *reader) measure(put Put, took func(*Figure, projections.Durations, ...string), s Status) {
	now := s.Chain.HeadTime
	if now.IsZero() {
		now = r.now()
	}
	var token money.Token
	if s.Token != nil {
		token = *s.Token
	}
	r.views.Read(func(v *projections.Views) {
		put(positionFigure, float64(v.AsOf()))
		if at := v.RecordedAt(); !at.IsZero() {
			put(lastEventFigure, unix(at))
		}
		_, skipped := v.Problems()
		put(skippedFigure, float64(skipped))
		for _, m := range catalog.Machines() {
			all := v.States(r.Account, m.Category)
			if len(all) == 0 {
				put(rowsFigure, 0, m.Category, "")
			}
			for state, n := range all {
				put(rowsFigure, float64(n.Rows), m.Category, state)
				if !n.Oldest.IsZero() {
					put(oldestFigure, unix(n.Oldest), m.Category, state)
				}
			}
		}
		measureTally(v.Tally(r.Account), put, took)
		open, late, next := v.Owes(r.Account, now)
		put(owedFigure, float64(late))
		if open > 0 {
			put(slackFigure, next.Sub(now).Seconds())
		}
		r.measureMoney(v, token, now, put)
		r.measureSpace(v, token, put)
	})
	for _, m := range r.Machines {
		if m.Measure != nil {
			m.Measure(r.reading(), put)
		}
	}
}

func unix(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

func measureTally(t projections.Tally, put Put, took func(*Figure, projections.Durations, ...string)) {
	for what, n := range t.Events {
		put(eventsFigure, float64(n), what.Machine, what.What)
	}
	for what, d := range t.Stays {
		took(staysFigure, d, what.Machine, what.What)
	}
	took(proofTimeFigure, t.Proofs)
	took(inclusionFigure, t.Inclusion)
	for _, outcome := range []projections.Outcome{
		projections.OutcomeSucceeded, projections.OutcomeFailed, projections.OutcomeAbandoned,
	} {
		put(sentFigure, float64(t.Sent[outcome]), string(outcome))
	}
}

// measureMoney puts amounts. Without the token's decimals only fees can be told.
func (r *reader) measureMoney(v *projections.Views, token money.Token, now time.Time, put Put) {
	tokens := func(f *Figure, base *big.Int, labels ...string) {
		if token.Known() {
			put(f, shifted(base, token.Decimals), labels...)
		}
	}
	e := mine(r, v.Earnings().Earnings, func(e projections.Earnings) string { return e.Host })
	tokens(incomeFigure, bigOf(e.Rewards), "rewards")
	tokens(incomeFigure, bigOf(e.RepairRewards), "repair_rewards")
	tokens(incomeFigure, bigOf(e.ValidatorRewards), "validator_rewards")
	tokens(incomeFigure, bigOf(e.CollateralLost), "collateral_lost")
	put(feesFigure, shifted(bigOf(e.FeesWei), money.CoinDecimals))
	for outcome, n := range map[string]uint64{
		"open": e.Proofs.Open, "submitted": e.Proofs.Submitted, "missed": e.Proofs.Missed, "excused": e.Proofs.Excused,
		"lapsed": e.Proofs.Lapsed,
	} {
		put(proofsFigure, float64(n), outcome)
	}
	var month projections.Income
	for _, d := range v.Income(r.Account).Days {
		if sameMonth(d.Day, now) {
			month = month.Plus(d.Income)
		}
	}
	var expected events.Amount
	for s, atMost := range v.SalesOf(r.Account) {
		if !atMost.IsZero() && sameMonth(s.EndsAt, now) {
			expected = expected.AddSaturating(atMost)
		}
	}
	tokens(expectFigure, expected.Big())
	tokens(monthFigure, bigOf(month.Net()))
	put(monthFees, shifted(month.FeesWei.Big(), money.CoinDecimals))
}

func sameMonth(a, b time.Time) bool {
	a, b = a.UTC(), b.UTC()
	return a.Year() == b.Year() && a.Month() == b.Month()
}

// bigOf is a number that was printed here, or 0.
func bigOf(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

// measureSpace puts the ledger and the queue.
func (r *reader) measureSpace(v *projections.Views, token money.Token, put Put) {
	l := mine(r, v.Ledgers().Ledgers, func(l projections.Ledger) string { return l.Host })
	q := mine(r, v.Queues().Queues, func(q projections.Queue) string { return q.Host })
	for part, n := range map[string]events.Bytes{
		"unallocated": l.Unallocated, "free": l.Free, "reserved": l.Reserved, "stored": l.Stored,
		"overhead": l.Overhead, "sectors": l.Sectors, "pieces": l.Pieces,
	} {
		put(ledgerFigure, float64(n), part)
	}
	if token.Known() {
		put(atRiskFigure, shifted(supplyOf(l).AtRisk.Big(), token.Decimals))
	}
	put(queueFigure, float64(q.Length), "waiting")
	put(queueFigure, float64(len(q.Taken)), "taken")
	put(pausedFigure, Flag(q.Paused))
	for _, refused := range q.Refusals {
		put(refusedTotal, float64(refused.Slots), refused.Criterion)
	}
}

// measureStore asks the store where its end is.
func (r *reader) measureStore(ctx context.Context, put Put) {
	ctx, cancel := context.WithTimeout(ctx, balancePatience)
	defer cancel()
	began := time.Now()
	end, err := r.store.Head(ctx)
	if put(storeUpFigure, Flag(err == nil)); err == nil {
		put(storeFigure, time.Since(began).Seconds())
		put(lagFigure, float64(end-min(end, r.views.AsOf())))
	}
}

// measureStatus puts what the status says.
func measureStatus(s Status, now time.Time, put Put) {
	var symbol string
	if s.Token != nil {
		symbol = s.Token.Symbol
	}
	chain := new(big.Int).SetUint64(s.Chain.ID).String()
	put(infoFigure, 1, s.Version, string(s.Member), chain, symbol)
	if !s.Since.IsZero() {
		put(startFigure, unix(s.Since))
	}
	if !s.SellingUnknown {
		put(sellingFigure, Flag(s.Selling))
	}
	count := map[[2]string]int{}
	for _, o := range s.Readiness {
		count[[2]string{o.Code, "obstacle"}]++
	}
	for _, o := range s.Warnings {
		count[[2]string{o.Code, "warning"}]++
	}
	for of, n := range count {
		put(obstacleFigure, float64(n), of[0], of[1])
	}
	put(downFigure, float64(len(s.Down)))
	put(quarantineFigure, float64(len(s.Quarantined)))
	put(troubleFigure, float64(len(s.Trouble)))
	if b := s.Balance; b != nil && b.Error == "" {
		put(coinsFigure, shifted(bigOf(b.Wei), money.CoinDecimals))
		if s.Token != nil {
			put(balanceFigure, shifted(bigOf(b.Tokens), s.Token.Decimals))
		}
	}
	if s.AsOf.Running {
		put(chainUpFigure, Flag(!s.Chain.Away && !s.Chain.Stalled))
	}
	if !s.Chain.HeadTime.IsZero() {
		put(headFigure, float64(s.Chain.Head))
		put(headAgeFigure, now.Sub(s.Chain.HeadTime).Seconds())
	}
	put(waitingFigure, float64(s.Record.Unanswered))
	if s.Disk != nil {
		put(diskFigure, float64(s.Disk.Free))
		put(keepFigure, float64(s.Disk.Keep))
	}
	for _, p := range s.Pools {
		put(poolFigure, float64(p.Running), p.Name, "running")
		put(poolFigure, float64(p.Waiting), p.Name, "waiting")
		put(poolSizeFigure, float64(p.Size), p.Name)
	}
}

// measure puts what the status does not show.
func (l *Live) measure(ctx context.Context, put Put) {
	if l.cfg.Traffic != nil {
		for endpoint, t := range l.cfg.Traffic() {
			put(trafficFigure, float64(t.Messages), endpoint)
			put(failedFigure, float64(t.Failed), endpoint)
		}
		for method, n := range l.cfg.Requests() {
			put(callsFigure, float64(n), method)
		}
	}
	now, err := l.cfg.Host.Status(ctx)
	if m := now.Members; err == nil && m.Member != "" {
		put(ownerFigure, Flag(m.Owner == m.Member))
		put(silentFigure, float64(len(m.Silent)))
		put(leaseFigure, Flag(m.LeaseAway == ""))
	}
}
