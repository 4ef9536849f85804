package audit

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

const (
	// keptMined is how many mined transactions, the newest, are remembered for
	// the sale that shows their receipts: about 15 MB. Others are found by a
	// second pass.
	keptMined = 1 << 16
	// maxAwaited is the most receipts that wait for their transaction. Transactions
	// are copied within seconds, so more than a few mean that they are not copied
	// at all.
	maxAwaited = 1 << 16
	// underWay is how old an intent is at most, by the newest event, that has no outcome because the host
	// is at work on it: several blocks at a busy time. An older one is worth a look.
	underWay = 10 * time.Minute
)

// txAccount is what is known of an account's transactions.
type txAccount struct {
	Kept    bool              // there is one
	Intents map[string]intent // open, by key
	Last    events.Position   // of its newest event
	// passed is the highest nonce that was mined, if any: the chain accepts no
	// lower one after it.
	Passed uint64
	Mined  bool
}

// intent is a call that must reach the chain.
type intent struct {
	At          place
	Recorded    time.Time // by the machine's clock; zero: not known
	Correlation string
	Nonce       uint64 // meaningful when sent
	Sent        bool
	Attempts    []string // hashes, without those that do nothing
}

// txKey is a transaction of an account.
type txKey struct{ Account, Hash string }

// awaited is a receipt whose transaction has not been seen yet.
type awaited struct {
	At      place
	Proof   bool
	Marking bool
	Request string // of the sale that shows it
}

// receipts matches the receipts of sales with mined transactions. Either may
// come first, because transactions are copied to their stream a little later.
type receipts struct {
	Mined     map[txKey]string // the correlation
	Order     []txKey          // of mined, the oldest first
	Forgotten uint64
	Awaited   map[txKey][]awaited
	Count     int // of awaited, all together
	Unchecked uint64
	// kept and most are keptMined and maxAwaited.
	kept, most int
}

func newReceipts(kept, most int) receipts {
	return receipts{Mined: map[txKey]string{}, Awaited: map[txKey][]awaited{}, kept: kept, most: most}
}

// expectTx notes that a sale shows the receipt of a transaction.
func (a *auditor) expectTx(h *host, hash string, w awaited) {
	k := txKey{h.Address, hash}
	correlation, mined := a.txs.Mined[k]
	switch {
	case mined:
		a.sameRequest(w, correlation)
	case a.txs.Count >= a.txs.most:
		a.txs.Unchecked++
	default:
		a.txs.Awaited[k] = append(a.txs.Awaited[k], w)
		a.txs.Count++
	}
}

func (a *auditor) sameRequest(w awaited, correlation string) {
	if correlation != "" && w.Request != "" && correlation != w.Request {
		a.find(CorrelationMismatch, w.At, "its transaction belongs to request %s, the sale to %s",
			clip(correlation), w.Request)
	}
}

// arrived matches a transaction with the receipts that wait for it.
func (a *auditor) arrived(k txKey, correlation string) {
	for _, w := range a.txs.Awaited[k] {
		a.sameRequest(w, correlation)
	}
	a.txs.Count -= len(a.txs.Awaited[k])
	delete(a.txs.Awaited, k)
}

func (a *auditor) judgeTx(s *stream, p place, e messages.TxEvent) {
	h := s.host
	h.Tx.Last = p.Position
	switch e := e.(type) {
	case *messages.TxIntended:
		h.Tx.Intents[e.GetKey()] = intent{At: p, Recorded: a.recorded, Correlation: a.correlation}
	case *messages.TxSent:
		if in, open := h.Tx.Intents[e.GetKey()]; open {
			in.attempted(e)
			h.Tx.Intents[e.GetKey()] = in
		}
	case *messages.TxAbandoned:
		a.abandoned(h, p, h.Tx.Intents[e.GetKey()])
		delete(h.Tx.Intents, e.GetKey())
	case *messages.TxMined:
		if in := h.Tx.Intents[e.GetKey()]; in.Sent {
			h.Tx.Passed, h.Tx.Mined = max(h.Tx.Passed, in.Nonce), true
		}
		delete(h.Tx.Intents, e.GetKey())
		if r := e.GetReceipt(); r != nil {
			h.Money.sawBlock(r.GetBlock())
			if e.GetSucceeded() {
				a.mine(txKey{h.Address, r.GetTxHash()})
			}
		}
	case *messages.TxCountObserved: // Transactions of other programs: no event of ours follows from them.
	}
}

func (a *auditor) mine(k txKey) {
	a.arrived(k, a.correlation)
	t := &a.txs
	if _, again := t.Mined[k]; again {
		return
	}
	t.Mined[k] = a.correlation
	t.Order = append(t.Order, k)
	if len(t.Order) > t.kept {
		delete(t.Mined, t.Order[0])
		t.Order = t.Order[1:]
		t.Forgotten++
	}
}

// endOfTransactions reports the intents without an outcome. The host may still
// be at work. But if the intent's sale is settled, later transactions of the
// account were copied, and the chain has passed its nonce, then it had an
// outcome that is not recorded.
func (a *auditor) endOfTransactions(h *host) {
	for _, key := range sortedKeys(h.Tx.Intents) {
		in := h.Tx.Intents[key]
		if settled := a.settlementOf(h, key); settled != 0 && h.Tx.Last > settled &&
			(!in.Sent || h.Tx.Mined && in.Nonce < h.Tx.Passed) {
			a.cross(TransactionUnresolved, in.At,
				"the transaction %s is neither mined nor abandoned, and its sale was settled at log position %d",
				clip(key), settled)
			continue
		}
		if !in.Recorded.IsZero() && a.newest.Sub(in.Recorded) < underWay {
			a.report.TransactionsUnderWay++
			continue
		}
		a.find(TransactionOpen, in.At, "the transaction %s is neither mined nor abandoned", clip(key))
	}
}

// settlementOf is the position at which the sale that a transaction's key names was
// settled; 0 when it was not, or the key names none. The keys of sales are, up to the "#"
// before the number of the try:
//
//	reserve:SLOT:ATTEMPT, fill:SLOT:ATTEMPT:PROOF, free:SLOT:ATTEMPT, proof:SLOT:PERIOD:...
func (a *auditor) settlementOf(h *host, key string) events.Position {
	base, _, _ := strings.Cut(key, "#")
	parts := strings.Split(base, ":")
	if len(parts) < 3 {
		return 0
	}
	slot, err := events.ParseSlotID(parts[1])
	if err != nil {
		return 0
	}
	switch parts[0] {
	case "reserve", "fill", "free":
		attempt, err := strconv.ParseUint(parts[2], 10, 32)
		if err != nil {
			return 0
		}
		return a.settledAt(h, slot, uint32(attempt))
	case "proof": // A proof belongs to whichever attempt was hosting; only for the newest is that certain.
		if attempt, known := a.attemptOf(h, slot); known {
			return a.settledAt(h, slot, attempt)
		}
	}
	return 0
}

// endOfReceipts reports the receipts whose transactions never came, for hosts
// whose transactions are copied at all.
func (a *auditor) endOfReceipts(ctx context.Context) error {
	awaited := a.txs.awaitedOf()
	for _, account := range sortedKeys(awaited) {
		if !a.hosts[account].Tx.Kept {
			continue
		}
		mined, err := a.minedOf(ctx, account, awaited[account])
		if err != nil {
			return err
		}
		for _, tx := range awaited[account] {
			for _, w := range a.txs.Awaited[txKey{account, tx}] {
				a.unmatched(account, tx, w, mined)
			}
		}
	}
	if a.txs.Unchecked > 0 {
		a.find(ReceiptsUnchecked, place{Position: a.report.AsOf},
			"%d receipts were not compared with transactions: more than %d waited for theirs",
			a.txs.Unchecked, a.txs.most)
	}
	return nil
}

// unmatched reports a receipt whose transaction never came; mined are those that the chain has all the same, nil: it
// was not asked.
func (a *auditor) unmatched(account, tx string, w awaited, mined map[string]bool) {
	rule := ReceiptWithoutTransaction
	switch {
	case w.Proof && len(a.hosts[account].Processes.Members) > 1:
		rule = ProofOfMember
	case w.Proof:
		rule = ProofWithoutTransaction
	case w.Marking:
		rule = MarkingWithoutTransaction
	}
	switch {
	case mined[tx] && rule == ProofOfMember: // It is in the outbox of the member that sent it.
	case mined[tx]:
		a.cross(rule, w.At, "the record has no transaction %s of the account, which the chain has mined", tx)
	case mined != nil:
		a.cross(rule, w.At, "no transaction %s of the account was mined", tx)
	default:
		a.cross(rule, w.At, "the record has no mined transaction %s of the account", tx)
	}
}
