package api

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/projections"
)

// MaxAhead is the most periods to come whose possible proofs are listed.
const MaxAhead = 20

// DutiesQuestion is a page of the calendar.
type DutiesQuestion struct {
	Then
	Paging
	// Ahead is for how many periods after the present one the proofs are listed that may be demanded.
	Ahead int `default:"2" query:"ahead"`
}

// Duties is the calendar of what the host has to do on chain, the soonest deadline first.
type Duties struct {
	AsOf AsOf `json:"asOf"`
	// Now is the chain's time that slack is counted from; without a running host it is the machine's.
	Now time.Time `json:"now"`
	// PeriodSeconds is the length of the contract's periods; 0: not known, so that no possible proof is listed.
	PeriodSeconds uint64 `json:"periodSeconds"`
	Duties        []Duty `json:"duties"`
	// WindowsUnknown is why the windows of sectors are not listed; empty: they are, or there are none.
	WindowsUnknown string `json:"windowsUnknown,omitempty"`
	Paged
}

// DutyKind says what is to be done.
type DutyKind string

// The kinds of duties.
const (
	DutyProof    DutyKind = "proof"         // of a slot, which is demanded
	DutyPossible DutyKind = "possibleProof" // of a slot, which may be demanded
	DutyWindow   DutyKind = "sectorWindow"  // in which a sector has to be proven
)

// The states of duties.
const (
	DutyOpen     = "open"     // it can be done now
	DutyExpected = "expected" // it cannot be done yet
	DutyLate     = "late"     // its time is over, and the chain has not said what follows
)

// Duty is something that is to be done.
type Duty struct {
	Kind DutyKind `json:"kind"`
	// Subject is the id of the slot, or the number of the sector.
	Subject string `json:"subject"`
	Period  uint64 `json:"period"` // of the contract
	// Opens is from when, and Deadline until when it can be done. For sectors both are estimated from the time between
	// blocks.
	Opens    time.Time `json:"opens"`
	Deadline time.Time `json:"deadline"`
	// SlackSeconds is how much time is left; negative: it is late.
	SlackSeconds int64  `json:"slackSeconds"`
	State        string `json:"state"`
	// Chance is how probable it is that this is demanded, from 0 to 1; without a running host it is estimated.
	Chance float64 `json:"chance"`
}

// Duties is the calendar, as far as the record knows: without the windows of sectors.
func (r *reader) Duties(_ context.Context, q DutiesQuestion) (Duties, error) {
	now := r.recorded
	if now.IsZero() {
		now = r.now()
	}
	return r.duties(q, now, events.ProofConfig{}, nil)
}

// due is a duty before it is printed.
type due struct {
	kind            DutyKind
	slot            events.SlotID
	sector, period  uint64
	opens, deadline time.Time
	asked           events.Amount // of a proof that is possible
}

// duties is the calendar as of a time of the chain. Without the contract's terms, the length of a period comes from the
// record.
func (r *reader) duties(
	q DutiesQuestion, now time.Time, terms events.ProofConfig, windows []due,
) (out Duties, err error) {
	if q.Ahead < 0 || q.Ahead > MaxAhead {
		return out, fmt.Errorf("%w: ahead = %d, allowed: 0 to %d", problem.ErrBadRequest, q.Ahead, MaxAhead)
	}
	out.Now, out.Duties = now.UTC(), []Duty{}
	var rows []due
	r.views.Read(func(v *projections.Views) {
		out.AsOf = r.asOfPosition(v.AsOf())
		if terms.Period == 0 {
			terms.Period = v.PeriodLength(r.Account)
		}
		rows, out.Next, err = pick(func(yield func(due) bool) {
			for _, w := range windows {
				if !yield(w) {
					return
				}
			}
			ahead := periodsAhead(terms, now, q.Ahead)
			for h := range v.HostedOf(r.Account) {
				if !owedBy(h, terms, ahead, yield) {
					return
				}
			}
		}, func(d due) uint64 { return uint64(d.deadline.Unix()) }, //nolint:gosec // It is after 1970.
			appendDue, q.Paging)
	})
	out.PeriodSeconds = uint64(terms.Period / time.Second)
	for _, d := range rows {
		out.Duties = append(out.Duties, d.shown(now, terms))
	}
	return out, err
}

// periodsAhead are the periods to come, as duties of no slot yet.
func periodsAhead(terms events.ProofConfig, now time.Time, ahead int) (all []due) {
	if terms.Period == 0 {
		return nil
	}
	next := duty.Period(terms, now) + 1
	for period := next; period < next+uint64(ahead); period++ { //nolint:gosec // It was checked.
		all = append(all, due{
			kind: DutyPossible, period: period, opens: duty.Start(terms, period),
			deadline: duty.End(terms, period).Add(-time.Second),
		})
	}
	return all
}

// owedBy are the duties of a slot: those that are open, and in the periods to come those that are possible. In the
// present period one is listed only when it is open.
func owedBy(h projections.Hosted, terms events.ProofConfig, ahead []due, yield func(due) bool) bool {
	for _, d := range h.Owed {
		one := due{kind: DutyProof, slot: h.Slot, period: d.Period, deadline: d.Deadline}
		if one.opens = d.Deadline; terms.Period > 0 {
			one.opens = duty.Start(terms, d.Period)
		}
		if !yield(one) {
			return false
		}
	}
	for _, one := range ahead {
		if one.opens.After(h.Until) {
			break
		}
		if one.slot, one.asked = h.Slot, h.Asked; !yield(one) {
			return false
		}
	}
	return true
}

// chanceOf is how probable it is that a period demands a proof: it does if the slot's pointer is not in its downtime
// and the challenge is drawn.
func chanceOf(terms events.ProofConfig, asked events.Amount) float64 {
	up, one := (256-float64(terms.Downtime))/256, duty.Probability(terms, asked)
	if one.Sign() == 0 {
		return up
	}
	drawn, _ := new(big.Float).SetInt(one).Float64()
	return up / drawn
}

func appendDue(key []byte, d due) []byte {
	key = append(append(key, d.kind...), d.slot[:]...)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key, d.sector), d.period)
}

func (d due) shown(now time.Time, terms events.ProofConfig) Duty {
	out := Duty{
		Kind: d.kind, Subject: fmt.Sprint(d.sector), Period: d.period, Opens: d.opens.UTC(), Deadline: d.deadline.UTC(),
		SlackSeconds: int64(d.deadline.Sub(now) / time.Second), State: DutyOpen, Chance: 1,
	}
	if d.kind != DutyWindow {
		out.Subject = d.slot.String()
	}
	if d.kind == DutyPossible {
		out.Chance = chanceOf(terms, d.asked)
	}
	switch {
	case now.After(d.deadline):
		out.State = DutyLate
	case d.opens.After(now):
		out.State = DutyExpected
	}
	return out
}

// Duties is the calendar, with the windows of sectors.
func (l *Live) Duties(ctx context.Context, q DutiesQuestion) (Duties, error) {
	now, err := l.cfg.Host.Standing(ctx)
	if err != nil {
		return Duties{}, err
	}
	at := now.Head.Time
	if at.IsZero() {
		at = l.now()
	}
	windows, unknown := l.windows(ctx, now.BlockTime.Usual)
	out, err := l.duties(q, at, now.Proofs, windows)
	out.WindowsUnknown = unknown
	return out, err
}

// windows are the next ones of the sectors that the contract has. Without an answer soon there are none, and why.
func (l *Live) windows(ctx context.Context, blockTime time.Duration) (out []due, unknown string) {
	var numbers []uint64
	for _, s := range l.provider().Sectors {
		if s.OnChain && !s.Over {
			numbers = append(numbers, s.SectorNumber)
		}
	}
	if len(numbers) == 0 {
		return nil, ""
	}
	if blockTime <= 0 {
		return nil, "the time between blocks is not known yet"
	}
	ctx, cancel := context.WithTimeout(ctx, balancePatience)
	defer cancel()
	all, rules, err := l.cfg.Host.SectorsOnChain(ctx, numbers)
	if err != nil {
		return nil, err.Error()
	}
	for i, on := range all {
		if d, owes := windowOf(on, rules, blockTime); owes {
			d.sector = numbers[i]
			out = append(out, d)
		}
	}
	return out, ""
}

// windowOf is the next window in which a sector has to be proven; false: there is none, such as while it is faulty.
func windowOf(on events.SectorOnChain, rules events.SectorConfig, blockTime time.Duration) (due, bool) {
	if !on.Active || on.Terminated || rules.PeriodBlocks == 0 || rules.Deadlines == 0 {
		return due{}, false
	}
	length, head := rules.PeriodBlocks/rules.Deadlines, on.Block.Number
	opens := func(period uint64) uint64 { return period*rules.PeriodBlocks + on.Deadline*length }
	period := max(on.NextPeriod, head/rules.PeriodBlocks)
	if opens(period)+length <= head+1 { // The next block is too late for it.
		period++
	}
	faulty := on.Faulty && period >= on.FaultyFrom && on.RecoverAt != period
	if faulty || on.Expiration != 0 && opens(period) >= on.Expiration {
		return due{}, false
	}
	at := func(block uint64) time.Time { // Of a window that has opened, it is in the past.
		return on.Block.Time.Add(time.Duration(block-head) * blockTime) //nolint:gosec // The difference wraps.
	}
	from := opens(period)
	return due{kind: DutyWindow, period: period, opens: at(from), deadline: at(from + length - 1)}, true
}

// Periods are the periods of the contract in which a proof was due, the newest first.
type Periods struct {
	AsOf          AsOf           `json:"asOf"`
	PeriodSeconds uint64         `json:"periodSeconds"` // 0: no proof was ever due
	Periods       []PeriodProofs `json:"periods"`
	// Earlier counts the proofs of the periods that are no longer kept apart.
	Earlier projections.Proofs `json:"earlier"`
	Paged
}

// PeriodProofs counts the proofs that one period demanded.
type PeriodProofs struct {
	projections.PeriodProofs
	Opens time.Time `json:"opens"`
}

// Periods is what the host owed in each period, and what became of it.
func (r *reader) Periods(_ context.Context, q Paging) (out Periods, err error) {
	var all projections.PeriodsOf
	r.views.Read(func(v *projections.Views) { out.AsOf, all = r.asOfPosition(v.AsOf()), v.Periods(r.Account) })
	slices.Reverse(all.Periods)
	rows, next, err := page(all.Periods, func(p projections.PeriodProofs) string { return newestFirst(p.Period) }, q)
	out.PeriodSeconds, out.Earlier, out.Next = all.Seconds, all.Earlier, next
	out.Periods = make([]PeriodProofs, 0, len(rows))
	for _, p := range rows {
		out.Periods = append(out.Periods, PeriodProofs{p, events.Unix(p.Period * all.Seconds)})
	}
	return out, err
}
