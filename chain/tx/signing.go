package tx

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/sirupsen/logrus"
)

// This file has attempts signed. A key of this process signs at once. A signer outside of it may take
// its time, be away or refuse, so it is asked in the background, and the attempt is recorded when its
// signature is here. Until then it has no nonce: whatever is asked next gets it. One question is under
// way at a time, because the nonces after a signature that does not come could not be used.
//
// Such a signer may sign differently the next time, which gives the transaction another hash. So its
// signatures are recorded, and an attempt that is sent again needs no signer.

// Signer signs for the account, outside of this process.
type Signer interface {
	// Sign returns a transaction with the account's signature, and nothing else changed. A legacy one has the
	// chain's id in V. All errors are temporary. It returns soon after ctx ends.
	Sign(ctx context.Context, unsigned *types.Transaction) (*types.Transaction, error)
}

// signing has the account's transactions signed. Only lastRefusal is safe for concurrent use.
type signing struct {
	cfg         *Config
	log         logrus.FieldLogger
	account     common.Address
	signer      types.Signer
	wake        chan struct{} // filled when there is a reply
	asked       *question     // nil: no signature is asked for
	askAfter    time.Time     // when the next one may be
	replies     chan reply
	lastRefusal atomic.Pointer[error] // why the last one did not come; nil: it came
}

// firstSigningPause is the pause after a signature that did not come. It doubles with each one of the
// same intent, up to Config.LongestPause, and lasts this long for all others.
const firstSigningPause = 250 * time.Millisecond

// signingTries are what became of the questions for an intent's signature.
type signingTries struct {
	failed int       // in a row
	after  time.Time // when the next one may be asked
	why    error
}

// question is a signature that was asked for.
type question struct {
	in      *intent
	attempt attempt
	cancel  context.CancelFunc
	dropped bool // nobody wants the answer
}

// reply is the answer to it.
type reply struct {
	tx  *types.Transaction
	err error
}

// mayAsk says that the signer may be asked for an intent's signature now.
func (s *signing) mayAsk(in *intent) bool {
	now := time.Now()
	return s.asked == nil && !now.Before(s.askAfter) && !now.Before(in.signing.after)
}

// ask asks the signer in the background, if it may be asked now.
func (s *signing) ask(ctx context.Context, in *intent, a attempt) {
	if !s.mayAsk(in) {
		return
	}
	asking, cancel := context.WithCancel(ctx)
	s.asked = &question{in: in, attempt: a, cancel: cancel}
	unsigned := s.unsigned(in, a)
	go func() {
		tx, err := s.cfg.Signer.Sign(asking, unsigned)
		s.replies <- reply{tx, err}
		hint(s.wake)
	}()
}

// letGo gives up a question that nobody needs any more, or that a more urgent call would wait for.
func (m *Manager) letGo(now observation) {
	q := m.signing.asked
	if q == nil || !q.in.done && (q.in.sent() || q.in.gap || !m.duties.held(q.in, now.head)) {
		return
	}
	q.dropped = true
	q.cancel()
}

// take records the attempt whose signature was asked for, if it is still right.
func (m *Manager) take(r reply) {
	q := m.signing.asked
	m.signing.asked = nil
	q.cancel()
	in, a := q.in, q.attempt
	if q.dropped || in.done {
		return
	}
	if r.err != nil {
		m.signing.notSigned(in, r.err)
		return
	}
	m.signing.lastRefusal.Store(nil)
	in.signing = signingTries{}
	a.hash, a.signature = r.tx.Hash(), signatureOf(r.tx)
	if i := slices.IndexFunc(in.attempts, func(o attempt) bool { return o.hash == a.hash }); i >= 0 {
		in.attempts[i].signature = a.signature
		return
	}
	if !m.stillRight(in, a) {
		m.log.WithField("tx", in.key).Debugf("transactions: nonce %d is not sent, it was signed too late", a.nonce)
		return
	}
	if err := m.record(in, a, m.heads.lastHead); err != nil {
		m.log.WithError(err).WithField("tx", in.key).Error("transactions: record what was signed")
	}
}

// notSigned notes when an intent's signature is asked for again.
func (s *signing) notSigned(in *intent, why error) {
	s.lastRefusal.Store(&why)
	tries := &in.signing
	pause := min(firstSigningPause<<min(tries.failed, 16), s.cfg.LongestPause)
	tries.failed++
	tries.after, tries.why = time.Now().Add(pause), why
	s.askAfter = time.Now().Add(min(firstSigningPause, s.cfg.LongestPause))
	s.log.WithError(why).WithField("tx", in.key).Debugf("transactions: not signed, try %d", tries.failed)
}

// stillRight says that an attempt may still be sent, although something else may have happened while its
// signature was waited for.
func (m *Manager) stillRight(in *intent, a attempt) bool {
	switch {
	case m.Failure() != nil, m.heads.lastCount > a.nonce:
		return false
	case in.sent() && in.last().nonce == a.nonce: // It replaces the last one.
		return true
	case !in.gap && m.late(in, m.heads.lastHead):
		return false
	}
	used := slices.ContainsFunc(m.rec.book.open, func(o *intent) bool { return o.sent() && o.last().nonce == a.nonce })
	return !used && (in.gap || a.nonce == m.nonces.next(m.heads.lastCount))
}

// whyUnsigned is the end of a sentence about a call that was not sent; empty: it did not wait for the signer.
func (s *signing) whyUnsigned(in *intent) string {
	switch {
	case in.signing.why != nil:
		return fmt.Sprintf("; it was not signed: %v", in.signing.why)
	case s.asked != nil && s.asked.in == in:
		return "; its signature did not come in time"
	}
	return ""
}

// unsigned is the transaction of an attempt.
func (s *signing) unsigned(in *intent, a attempt) *types.Transaction {
	to, data, value := in.to, in.data, in.value
	if a.isNoop {
		to, data, value = s.account, nil, new(big.Int)
	}
	if a.legacy {
		return types.NewTx(&types.LegacyTx{
			Nonce: a.nonce, GasPrice: a.feeCap, Gas: a.gas, To: &to, Value: value, Data: data,
			// Unsigned, it has the chain's id here.
			V: new(big.Int).Add(new(big.Int).Lsh(s.signer.ChainID(), 1), big.NewInt(legacyV)),
		})
	}
	return types.NewTx(&types.DynamicFeeTx{
		ChainID: s.signer.ChainID(), Nonce: a.nonce,
		GasTipCap: a.tipCap, GasFeeCap: a.feeCap, Gas: a.gas,
		To: &to, Value: value, Data: data,
	})
}

// signed is the transaction of an attempt as it is sent; nil: its signature is not known.
func (s *signing) signed(in *intent, a attempt) (*types.Transaction, error) {
	tx, err := s.unsigned(in, a).WithSignature(s.signer, a.signature)
	if err != nil || tx.Hash() != a.hash { // There is none, or not one of this transaction.
		if s.cfg.Key == nil {
			return nil, nil
		}
		return s.signedByKey(in, a)
	}
	return tx, nil
}

func (s *signing) signedByKey(in *intent, a attempt) (*types.Transaction, error) {
	tx, err := types.SignTx(s.unsigned(in, a), s.signer, s.cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", in.key, err)
	}
	return tx, nil
}

// legacyV is added to twice the chain's id and the parity in V of a legacy transaction (EIP-155).
const legacyV = 35

// signatureOf is r, s and parity.
func signatureOf(tx *types.Transaction) []byte {
	const word = 32
	v, r, s := tx.RawSignatureValues()
	out := make([]byte, 2*word+1)
	r.FillBytes(out[:word])
	s.FillBytes(out[word : 2*word])
	parity := v.Uint64()
	if tx.Type() == types.LegacyTxType {
		parity = (parity - legacyV) % 2
	}
	out[2*word] = byte(parity)
	return out
}
