package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// FundsEvery is the chain time between two looks at the account: short enough that an operator
// who waits for a deposit sees it noticed, and just one call to the chain a minute.
const FundsEvery = time.Minute

// fundsWatch looks at the account now and then. It wakes slots that wait for money or for the
// prover, and alerts when the account runs dry. It belongs to the queue's actor.
type fundsWatch struct {
	looking bool
	lookAt  time.Time // chain time of the next look
	known   bool      // there was a look before
	free    events.Amount
	balance events.Balance
	busy    float64
	noRoom  bool   // there is no time for a proof in a period
	low     string // the cause of the last alert
	looked  bool   // it is known which
	unknown bool   // it was logged that the price of gas is not known
}

// fundsSeen is what a look at the account found.
type fundsSeen struct {
	balance events.Balance
	// free are the tokens that sales in work will not need.
	free events.Amount
	err  error
}

// watchFunds looks at the account when it is time, but not while the event store is away:
// nothing is taken then.
func (q *Queue) watchFunds(head events.Head) {
	if q.funds.looking || head.Time.Before(q.funds.lookAt) || q.StoreWatch.Away() {
		return
	}
	q.funds.looking, q.funds.lookAt = true, head.Time.Add(FundsEvery)
	q.self.Do(func(ctx context.Context) {
		q.Yield(ctx, "funds")
		var m fundsSeen
		m.err = q.RT.Guarded("funds", func() (err error) {
			m.balance, err = shell.In(ctx, q.Reads, time.Time{}, func() (events.Balance, error) {
				return q.Market.Balance(ctx)
			})
			return err
		})
		unpaid, err := shell.AskActor[events.Amount](q.Supervisor, Unpaid{}).Wait(ctx)
		if err == nil {
			m.free = m.balance.Tokens.SubFloor(unpaid)
			q.self.Tell(m)
		}
	})
}

func (q *Queue) onFunds(a *shell.Turn, m fundsSeen) {
	w := &q.funds
	w.looking = false
	if m.err != nil { // The next look comes soon; a caller that needs the balance asks for it.
		return
	}
	took, _ := q.Load.ProofTime()
	_, expected := q.Load.Total()
	busy := float64(expected) * took.Seconds()
	var met []string
	if !w.known || w.free.Less(m.free) {
		met = append(met, slotqueue.CriterionTokens)
	}
	if !w.known || w.balance.Wei.Less(m.balance.Wei) || m.balance.ProofWei.Less(w.balance.ProofWei) ||
		m.balance.SaleWei.Less(w.balance.SaleWei) {
		met = append(met, slotqueue.CriterionGas)
	}
	if !w.known || busy < w.busy {
		met = append(met, slotqueue.CriterionProofs)
	}
	noRoom := q.NoRoom() != ""
	if !w.known || w.noRoom && !noRoom {
		met = append(met, slotqueue.CriterionPeriod)
	}
	waiting, reason := q.waitFor(met), "the account was looked at for the first time since the start"
	if w.known {
		reason = whyWoken(waiting)
	}
	w.noRoom = noRoom
	w.known, w.free, w.balance, w.busy = true, m.free, m.balance, busy
	if len(waiting) > 0 {
		q.onWake(a, Wake{Reason: reason, Criteria: waiting})
	}
	q.tellFunds(m.balance)
}

// better says what happened when the account, or the time for proofs, can meet a criterion again.
var better = map[string]string{
	slotqueue.CriterionTokens: "the account has more tokens to spare",
	slotqueue.CriterionGas:    "the account has more for gas, or gas is cheaper",
	slotqueue.CriterionProofs: "the prover has more time",
	slotqueue.CriterionPeriod: "the blocks leave time for a proof in a period",
}

func whyWoken(criteria []string) string {
	var words []string
	for _, c := range criteria {
		words = append(words, better[c])
	}
	return strings.Join(words, "; ")
}

// waitFor returns those of the criteria that some slot waits for.
func (q *Queue) waitFor(criteria []string) []string {
	waiting := q.journal.Ahead.Waiting()
	return slices.DeleteFunc(criteria, func(c string) bool { return waiting[c] == 0 })
}

// tellFunds raises one alert when the account's coins do not last for the hosted slots, or for
// one more, and another when not even a proof can be paid; both may come again once the coins
// have lasted.
func (q *Queue) tellFunds(balance events.Balance) {
	w := &q.funds
	n := health.Funds{Known: true, Balance: balance, MinWei: q.MinWei, Days: q.WalletDays}
	if n.Proofs = q.ProofsOfAll(n.Days); n.Proofs > 0 {
		if balance.ProofWei.IsZero() && !w.unknown {
			w.unknown = true
			q.Log.Warn("the chain does not say what gas a proof costs, so it is not known how long the account lasts")
		}
	}
	f := health.Facts{Account: q.Me.String(), Funds: n}
	low := ""
	for _, code := range []string{"no-gas", "gas-low"} {
		if _, so := health.CauseOf(code, f); so && low == "" {
			low = code
		}
	}
	if low != "" && low != w.low && w.low != "no-gas" { // An improvement raises no alert.
		q.RaiseCause(low, events.SlotID{}, f)
	}
	if low == "" && w.low != "" {
		q.Log.Infof("the account holds %s wei, which is enough again", balance.Wei)
	}
	for _, code := range []string{"no-gas", "gas-low"} {
		if code != low && (w.low != low || !w.looked) {
			q.ClearCause(code, fmt.Sprintf("the account holds %s wei", balance.Wei))
		}
	}
	w.low, w.looked = low, true
}
