package audit

import "github.com/hostnode/hostnode/messages"

const (
	// keptMined is how many mined transactions are remembered for the sale that
	// shows their receipts, the newest: about 10 MB. Others are found again by a
	// second pass.
	keptMined = 1 << 16
	// maxAwaited is the most receipts that wait for their transaction. Copies of
	// transactions are seconds behind, so more than a few mean that there are none.
	maxAwaited = 1 << 16
)

// txKey is a transaction of an account.
type txKey struct{ account, hash string }

// awaited is a receipt whose transaction was not seen yet.
type awaited struct {
	at    place
	proof bool
}

// receipts matches the receipts of sales with mined transactions. Either may
// come first: transactions are copied to their stream a little later.
type receipts struct {
	mined     map[txKey]bool
	order     []txKey // of mined, the oldest first
	forgotten uint64
	awaited   map[txKey][]awaited
	count     int // of awaited, all together
	unchecked uint64
	// kept and most are keptMined and maxAwaited.
	kept, most int
}

func newReceipts(kept, most int) receipts {
	return receipts{mined: map[txKey]bool{}, awaited: map[txKey][]awaited{}, kept: kept, most: most}
}

// expectTx says that a sale shows the receipt of a transaction.
func (a *auditor) expectTx(h *host, hash string, p place, proof bool) {
	k := txKey{h.address, hash}
	switch {
	case a.txs.mined[k]:
	case a.txs.count >= a.txs.most:
		a.txs.unchecked++
	default:
		a.txs.awaited[k] = append(a.txs.awaited[k], awaited{p, proof})
		a.txs.count++
	}
}

func (t *receipts) seen(k txKey) {
	t.count -= len(t.awaited[k])
	delete(t.awaited, k)
}

func (a *auditor) judgeTx(h *host, p place, e messages.TxEvent) {
	switch e := e.(type) {
	case *messages.TxIntended:
		h.intents[e.GetKey()] = p
	case *messages.TxSent:
	case *messages.TxAbandoned:
		delete(h.intents, e.GetKey())
	case *messages.TxMined:
		delete(h.intents, e.GetKey())
		if e.GetSucceeded() && e.GetReceipt() != nil {
			a.txs.mine(txKey{h.address, e.GetReceipt().GetTxHash()})
		}
	}
}

func (t *receipts) mine(k txKey) {
	t.seen(k)
	if t.mined[k] {
		return
	}
	t.mined[k] = true
	t.order = append(t.order, k)
	if len(t.order) > t.kept {
		delete(t.mined, t.order[0])
		t.order = t.order[1:]
		t.forgotten++
	}
}

// endOfTransactions warns of intents that wait: the host may be at work.
func (a *auditor) endOfTransactions(h *host) {
	for _, key := range sortedKeys(h.intents) {
		a.find(TransactionOpen, h.intents[key], "the transaction %s is neither mined nor abandoned", key)
	}
}

// endOfReceipts reports the receipts whose transactions never came, for the
// hosts that keep a record of transactions.
func (a *auditor) endOfReceipts() {
	for k, list := range a.txs.awaited {
		if !a.hosts[k.account].hasTxs {
			continue
		}
		for _, w := range list {
			rule := ReceiptWithoutTransaction
			if w.proof {
				rule = ProofWithoutTransaction
			}
			a.cross(rule, w.at, "no transaction %s of the account was mined", k.hash)
		}
	}
	if a.txs.unchecked > 0 {
		a.find(ReceiptsUnchecked, place{position: a.report.AsOf},
			"%d receipts were not compared with transactions: more than %d waited for theirs",
			a.txs.unchecked, a.txs.most)
	}
}
