package audit

import (
	"strconv"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

const (
	// keptMined is how many mined transactions are remembered for the sale that
	// shows their receipts, the newest: about 15 MB. Others are found again by a
	// second pass.
	keptMined = 1 << 16
	// maxAwaited is the most receipts that wait for their transaction. Copies of
	// transactions are seconds behind, so more than a few mean that there are none.
	maxAwaited = 1 << 16
)

// txAccount is the record of an account's transactions.
type txAccount struct {
	kept    bool              // there is one
	intents map[string]intent // open, by key
	last    events.Position   // of its newest event
	// passed is the highest nonce that was mined, when any was: the chain takes
	// no lower one any more.
	passed uint64
	mined  bool
}

// intent is a call that must reach the chain.
type intent struct {
	at          place
	correlation string
	nonce       uint64 // meaningful when sent
	sent        bool
}

// txKey is a transaction of an account.
type txKey struct{ Account, Hash string }

// awaited is a receipt whose transaction was not seen yet.
type awaited struct {
	at      place
	proof   bool
	marking bool
	request string // of the sale that shows it
}

// receipts matches the receipts of sales with mined transactions. Either may
// come first: transactions are copied to their stream a little later.
type receipts struct {
	mined     map[txKey]string // the correlation
	order     []txKey          // of mined, the oldest first
	forgotten uint64
	awaited   map[txKey][]awaited
	count     int // of awaited, all together
	unchecked uint64
	// kept and most are keptMined and maxAwaited.
	kept, most int
}

func newReceipts(kept, most int) receipts {
	return receipts{mined: map[txKey]string{}, awaited: map[txKey][]awaited{}, kept: kept, most: most}
}

// expectTx says that a sale shows the receipt of a transaction.
func (a *auditor) expectTx(h *host, hash string, w awaited) {
	k := txKey{h.address, hash}
	correlation, mined := a.txs.mined[k]
	switch {
	case mined:
		a.sameRequest(w, correlation)
	case a.txs.count >= a.txs.most:
		a.txs.unchecked++
	default:
		a.txs.awaited[k] = append(a.txs.awaited[k], w)
		a.txs.count++
	}
}

func (a *auditor) sameRequest(w awaited, correlation string) {
	if correlation != "" && w.request != "" && correlation != w.request {
		a.find(CorrelationMismatch, w.at, "its transaction belongs to request %s, the sale to %s",
			clip(correlation), w.request)
	}
}

// arrived answers those who wait for a transaction.
func (a *auditor) arrived(k txKey, correlation string) {
	for _, w := range a.txs.awaited[k] {
		a.sameRequest(w, correlation)
	}
	a.txs.count -= len(a.txs.awaited[k])
	delete(a.txs.awaited, k)
}

func (a *auditor) judgeTx(s *stream, p place, e messages.TxEvent) {
	h := s.host
	h.tx.last = p.position
	switch e := e.(type) {
	case *messages.TxIntended:
		h.tx.intents[e.GetKey()] = intent{at: p, correlation: a.correlation}
	case *messages.TxSent:
		if in, open := h.tx.intents[e.GetKey()]; open {
			in.nonce, in.sent = e.GetNonce(), true
			h.tx.intents[e.GetKey()] = in
		}
	case *messages.TxAbandoned:
		delete(h.tx.intents, e.GetKey())
	case *messages.TxMined:
		if in := h.tx.intents[e.GetKey()]; in.sent {
			h.tx.passed, h.tx.mined = max(h.tx.passed, in.nonce), true
		}
		delete(h.tx.intents, e.GetKey())
		if r := e.GetReceipt(); r != nil {
			h.money.sawBlock(r.GetBlock())
			if e.GetSucceeded() {
				a.mine(txKey{h.address, r.GetTxHash()})
			}
		}
	case *messages.TxCountObserved: // Transactions of others: nothing in this record follows from them.
	}
}

func (a *auditor) mine(k txKey) {
	a.arrived(k, a.correlation)
	t := &a.txs
	if _, again := t.mined[k]; again {
		return
	}
	t.mined[k] = a.correlation
	t.order = append(t.order, k)
	if len(t.order) > t.kept {
		delete(t.mined, t.order[0])
		t.order = t.order[1:]
		t.forgotten++
	}
}

// endOfTransactions reports the intents that wait. The host may be at work; but
// when their sale is settled, the copy of the account's transactions has come
// further than that, and the chain has passed their nonce by, something became
// of them and the record does not say what.
func (a *auditor) endOfTransactions(h *host) {
	for _, key := range sortedKeys(h.tx.intents) {
		in := h.tx.intents[key]
		if settled := a.settlementOf(h, key); settled != 0 && h.tx.last > settled &&
			(!in.sent || h.tx.mined && in.nonce < h.tx.passed) {
			a.cross(TransactionUnresolved, in.at,
				"the transaction %s is neither mined nor abandoned, and its sale was settled at position %d",
				clip(key), settled)
			continue
		}
		a.find(TransactionOpen, in.at, "the transaction %s is neither mined nor abandoned", clip(key))
	}
}

// settlementOf is where the sale that a transaction's key names was settled; 0
// when it was not, or the key names none. Keys of sales are, up to the number
// of the try behind "#":
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
	case "proof": // A proof belongs to whichever attempt was hosting; only the newest is sure.
		if attempt, known := a.attemptOf(h, slot); known {
			return a.settledAt(h, slot, attempt)
		}
	}
	return 0
}

// endOfReceipts reports the receipts whose transactions never came, for the
// hosts that keep a record of transactions.
func (a *auditor) endOfReceipts() {
	for k, list := range a.txs.awaited {
		if !a.hosts[k.Account].tx.kept {
			continue
		}
		for _, w := range list {
			rule := ReceiptWithoutTransaction
			switch {
			case w.proof:
				rule = ProofWithoutTransaction
			case w.marking:
				rule = MarkingWithoutTransaction
			}
			a.cross(rule, w.at, "no transaction %s of the account was mined", k.Hash)
		}
	}
	if a.txs.unchecked > 0 {
		a.find(ReceiptsUnchecked, place{position: a.report.AsOf},
			"%d receipts were not compared with transactions: more than %d waited for theirs",
			a.txs.unchecked, a.txs.most)
	}
}
