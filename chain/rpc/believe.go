package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/events"
)

// This file checks a node's answers against the question and against what is possible, before
// they are used. A single node that lies consistently is not found out.

// AnswerError: a node's answer cannot be true. It is temporary: nothing of the answer is used, and
// for a while the other endpoints are tried before this one.
type AnswerError struct {
	// Endpoint is the node's URL without secrets.
	Endpoint string
	// Question is the call, shortened if it is long, and Reason what is wrong with the answer.
	Question, Reason string
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("%s is not believed: asked %s, %s", e.Endpoint, e.Question, e.Reason)
}

// Unwrap makes it an ErrUnavailable: an answer that is not believed is as good as none.
func (e *AnswerError) Unwrap() error { return ErrUnavailable }

const (
	// firstDoubt is for how long an endpoint is tried last after an impossible answer. It doubles
	// with each further one, up to mostDoubt, and starts over after mostDoubt without one.
	firstDoubt = time.Minute
	mostDoubt  = time.Hour
	// maxNonce is more than any account can have sent.
	maxNonce = 1 << 53
	// maxQuestion is the length at which a question is cut in messages.
	maxQuestion = 200
)

// checked is an answer that can tell whether it is impossible. Every call and batch checks its
// answers (Conn.believe), so callers need not.
type checked interface {
	impossible() error
}

// believe checks an answer; its error is an *AnswerError. An error of the call itself is not for it, unless the
// answer could not be decoded.
func (c *Conn) believe(l *Session, answered rpc.BatchElem) error {
	why := answered.Error
	if a, ok := answered.Result.(checked); ok && why == nil {
		why = a.impossible()
	} else if !undecodable(why) {
		why = nil
	}
	if why == nil {
		if b, ok := answered.Result.(*blockAnswer); ok && answered.Error == nil && b.Header != nil {
			c.seen.put(b.Header)
		}
		return nil
	}
	return c.disbelieve(l, question(answered.Method, answered.Args), why)
}

func question(method string, args []any) string {
	raw, err := json.Marshal(args)
	if err != nil || len(args) == 0 {
		return method
	}
	text := method + " " + strings.Trim(string(raw), "[]")
	if len(text) > maxQuestion {
		text = text[:maxQuestion] + "…"
	}
	return text
}

// disbelieve closes the connection to a node that gave an impossible answer, and has the endpoint
// tried last for a while.
func (c *Conn) disbelieve(l *Session, question string, why error) error {
	now := time.Now()
	found := &AnswerError{Endpoint: l.at.name, Question: question, Reason: l.at.hide(why).Error()}
	c.seen.forget()
	c.lock <- struct{}{}
	if c.session == l {
		l.client.Close()
		c.session = nil
		l.at.notBefore = now.Add(l.at.wait)
	}
	first := now.After(l.at.lastUntil)
	if first {
		if now.Sub(l.at.lastUntil) > mostDoubt {
			l.at.doubt = 0
		}
		l.at.doubt = min(max(2*l.at.doubt, firstDoubt), mostDoubt)
		l.at.lastUntil = now.Add(l.at.doubt)
	}
	if first && c.cfg.Doubted != nil && !c.closed {
		c.tasks.Go(func() { c.cfg.Doubted(c.background) })
	}
	c.reachable.fails(l.at, errors.New(strings.TrimPrefix(found.Error(), found.Endpoint+" ")))
	c.release()
	if first { // Logged once for each time of doubt.
		c.cfg.Log.WithField("endpoint", l.at.name).
			Errorf("the Ethereum node gave an impossible answer; for %v other endpoints are tried first: %v",
				l.at.doubt, found)
		if c.cfg.NotBelieved != nil {
			c.cfg.NotBelieved(*found)
		}
	}
	return found
}

// Disbelieve does the same to the node in use, for answers that are only impossible beside others.
func (c *Conn) Disbelieve(ctx context.Context, question string, why error) error {
	l, err := c.Current(ctx)
	if err != nil {
		return fmt.Errorf("%w: asked %s, %w", ErrUnavailable, question, why)
	}
	return c.disbelieve(l, question, why)
}

// undecodable says that an answer does not fit its type, such as a number of 300 bits or a text
// instead of a number.
func undecodable(err error) bool {
	_, is := errors.AsType[*json.UnmarshalTypeError](err)
	return is
}

// blockAnswer is a block, or nil when the node has none. It must have the number or hash that was
// asked for.
type blockAnswer struct {
	*Header
	number *uint64
	hash   *common.Hash
}

// UnmarshalJSON takes null for a block that is not known.
func (b *blockAnswer) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &b.Header) }

func (b *blockAnswer) impossible() error {
	h := b.Header
	switch {
	case h == nil:
		return nil
	case b.number != nil && uint64(h.Number) != *b.number:
		return fmt.Errorf("it names block %d", uint64(h.Number))
	case b.hash != nil && h.Hash != *b.hash:
		return fmt.Errorf("it names block %s", h.Hash)
	case h.Hash == common.Hash{}:
		return fmt.Errorf("it names block %d without a hash", uint64(h.Number))
	case h.Number > 0 && h.Parent == common.Hash{}:
		return fmt.Errorf("it names block %d without a parent", uint64(h.Number))
	case h.Hash == h.Parent:
		return fmt.Errorf("it names block %d, whose parent is itself", uint64(h.Number))
	case h.Number > events.MaxBlock:
		return fmt.Errorf("it names block %d, and no chain is that long", uint64(h.Number))
	case h.Time > events.MaxUnix:
		return fmt.Errorf("it names block %d with the impossible timestamp %d", uint64(h.Number), uint64(h.Time))
	}
	return nil
}

// Conflict is the reason why a block cannot exist beside one that was seen before; nil: it can.
func (h *Header) Conflict(before *Header) error {
	switch {
	case before == nil:
		return nil
	case h.Hash == before.Hash && (h.Number != before.Number || h.Time != before.Time || h.Parent != before.Parent):
		return fmt.Errorf("it describes block %s differently than before", h.Hash)
	case h.Parent != before.Hash:
		return nil // On another branch, or further on.
	case h.Number != before.Number+1:
		return fmt.Errorf("it gives block %d the parent block %d", uint64(h.Number), uint64(before.Number))
	case h.Time < before.Time:
		return fmt.Errorf("it gives block %d the timestamp %d, and its parent %d", uint64(h.Number),
			uint64(h.Time), uint64(before.Time))
	}
	return nil
}

// receiptAnswer is the receipt of a transaction, or nil.
type receiptAnswer struct {
	*types.Receipt
	tx common.Hash
}

// UnmarshalJSON takes null for a receipt that is not known.
func (r *receiptAnswer) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &r.Receipt) }

func (r *receiptAnswer) impossible() error {
	switch {
	case r.Receipt == nil:
		return nil
	case r.TxHash != r.tx:
		return fmt.Errorf("it gives the receipt of %s", r.TxHash)
	case r.BlockNumber == nil || !r.BlockNumber.IsUint64() || r.BlockNumber.Uint64() > events.MaxBlock:
		return fmt.Errorf("it names block %v, and no chain is that long", r.BlockNumber)
	case r.Status > types.ReceiptStatusSuccessful:
		return fmt.Errorf("it has status %d", r.Status)
	}
	for _, l := range r.Logs {
		if l.TxHash != r.tx || l.BlockHash != r.BlockHash {
			return fmt.Errorf("it has a log of transaction %s in block %s", l.TxHash, l.BlockHash)
		}
	}
	return nil
}

// countAnswer is the number of an account's mined transactions.
type countAnswer struct{ hexutil.Uint64 }

func (n *countAnswer) impossible() error {
	if n.Uint64 > maxNonce {
		return fmt.Errorf("it counts %d transactions", uint64(n.Uint64))
	}
	return nil
}

// logsAnswer is the answer to a search for logs.
type logsAnswer struct {
	logs   []types.Log
	filter logFilter
	// number is the number of the block that was asked for by hash. Logs of another block with this
	// number are no lie: the node may be on the branch that lost.
	number uint64
}

// UnmarshalJSON reads the list.
func (a *logsAnswer) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &a.logs) }

func (a *logsAnswer) impossible() error {
	f := a.filter
	for _, l := range a.logs {
		switch {
		case l.Address != f.Address:
			return fmt.Errorf("it gives a log of contract %s", l.Address)
		case !f.matches(l.Topics):
			return fmt.Errorf("it gives a log of another kind, in block %d", l.BlockNumber)
		case f.BlockHash != nil && l.BlockNumber != a.number,
			f.FromBlock != nil && l.BlockNumber < uint64(*f.FromBlock),
			f.ToBlock != nil && l.BlockNumber > uint64(*f.ToBlock):
			return fmt.Errorf("it gives a log of block %d", l.BlockNumber)
		}
	}
	return nil
}

// maxAnswerBytes is the largest answer that is read. The largest that we ask for are blocks with
// all their transactions, eight at a time.
const maxAnswerBytes = 64 << 20

// matches says whether topics fit the filter.
func (f logFilter) matches(topics []common.Hash) bool {
	for i, wanted := range f.Topics {
		if len(wanted) > 0 && (i >= len(topics) || !slices.Contains(wanted, topics[i])) {
			return false
		}
	}
	return true
}
