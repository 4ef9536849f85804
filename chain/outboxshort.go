package chain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/messages"
)

// asideSuffix is between the name of an outbox that was given other revisions and the
// time, in the name of the file that is kept.
const asideSuffix = ".before-"

// renumber lets the outbox follow a stream that holds fewer events than it did when the
// outbox was compacted: the store is an older copy, or another one. What the outbox still
// has of those that are missing gets the revisions behind the stream's end, with a word
// before it that says so and how many transactions there were. The file of before stays
// beside. It returns all records.
func (cfg *txConfig) renumber(
	ctx context.Context, store events.Store, box *outbox, records []record, length uint64,
) ([]record, error) {
	// Only a store that takes appends says where a stream ends. Nothing is written.
	if _, err := store.Append(ctx, box.owner.Stream, events.ExpectNext(length), nil); err != nil {
		return nil, fmt.Errorf("whether the account's record ends at event %d: %w", length, err)
	}
	all := completed(records, length, box.copied, time.Now())
	aside, err := box.renumber(all, length, time.Now())
	if err != nil {
		return nil, err
	}
	cfg.log.Warnf("transactions: the event store has %d events of account %s and had at least %d: it is an older "+
		"copy, or another one. They are completed from the outbox with the %d that it still has; the outbox of "+
		"before is kept as %s", length, events.Address(cfg.account()), box.copied, len(all)-shownBefore(all, length)-1, aside)
	return all, nil
}

// completed are the records with those that the stream lacks at revisions that follow it.
// Of transactions of which the outbox no longer knows what they were for, only their
// number is left.
func completed(records []record, length, had uint64, now time.Time) []record {
	var known uint64
	intended := map[string]bool{}
	for _, r := range records {
		known = max(known, knownBy(r.Event))
		if e, ok := r.Event.(*messages.TxIntended); ok {
			intended[e.GetKey()] = true
		}
	}
	all := records[:shownBefore(records, length):shownBefore(records, length)]
	next := length
	add := func(r record) {
		r.Revision = next
		all = append(all, r)
		next++
	}
	add(record{Event: &messages.TxCountObserved{
		At: timestamppb.New(now), Count: known, Reason: fmt.Sprintf("the record of transactions had %d events "+
			"of at least %d; what follows was completed from the outbox", length, had),
	}})
	for _, r := range records[len(all)-1:] {
		if e, ok := r.Event.(interface{ GetKey() string }); ok && intended[e.GetKey()] {
			add(r)
		}
	}
	return all
}

// shownBefore is how many of the records stand below a revision.
func shownBefore(records []record, revision uint64) (n int) {
	for n < len(records) && records[n].Revision < revision {
		n++
	}
	return n
}

// renumber rewrites the file with records of which those from a revision on are not in
// the stream. The file of before is kept under the name that it returns.
func (o *outbox) renumber(records []record, length uint64, now time.Time) (aside string, err error) {
	aside = o.path + asideSuffix + now.UTC().Format("20060102T150405.000Z")
	if err := errors.Join(os.Link(o.path, aside), durable.Sync(filepath.Dir(o.path))); err != nil {
		return "", fmt.Errorf("keep the outbox of before: %w", err)
	}
	o.next = length
	if err := o.compact(records); err != nil {
		return "", err
	}
	o.copied, o.next = length, records[len(records)-1].Revision+1
	return aside, nil
}
