// Package transactions is what the record knows of an account's transactions: each intent, how often it was sent, and
// how it ended. The transaction manager (chain/tx) decides; here its events fold.
package transactions

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
	"github.com/hostnode/hostnode/messages"
)

// Machine is what the record knows of accounts.
func Machine() machine.Machine {
	return machine.Of(events.OnePerHost(events.CategoryTx), Table, machine.Zero[State], State.evolve, nil)
}

// State is where an account stands.
type State struct {
	Intended, Mined, Failed, Abandoned uint64 // Failed is how many of those mined
	HighestNonce                       uint64
	ObservedCount                      uint64 // how many were mined when another program had used the account
	FeesWei                            events.Amount
	Open                               []Intent // the oldest first
}

// Intent is a call that is not mined yet. Since is by the machine's clock.
type Intent struct {
	Key      string
	Since    time.Time
	Attempts uint64
	TxHash   string // of the newest attempt
}

func (s State) evolve(e messages.TxEvent) State {
	switch e := e.(type) {
	case *messages.TxIntended:
		s = s.without(e.GetKey())
		s.Intended++
		s.Open = append(s.Open, Intent{Key: e.GetKey(), Since: events.TimeFromMessage(e.GetAt())})
	case *messages.TxSent:
		s.Open = slices.Clone(s.Open)
		for i := range s.Open {
			if s.Open[i].Key == e.GetKey() {
				s.Open[i].Attempts++
				s.Open[i].TxHash = e.GetTxHash()
			}
		}
		s.HighestNonce = max(s.HighestNonce, e.GetNonce())
	case *messages.TxMined:
		s = s.without(e.GetKey())
		if s.Mined++; !e.GetSucceeded() {
			s.Failed++
		}
		if fee, err := events.ParseAmount(e.GetReceipt().GetFeeWei()); err == nil {
			s.FeesWei = s.FeesWei.AddSaturating(fee)
		}
	case *messages.TxAbandoned:
		s = s.without(e.GetKey())
		s.Abandoned++
	case *messages.TxCountObserved:
		s.ObservedCount = e.GetCount()
	}
	return s
}

func (s State) without(key string) State {
	s.Open = slices.DeleteFunc(slices.Clone(s.Open), func(i Intent) bool { return i.Key == key })
	return s
}
