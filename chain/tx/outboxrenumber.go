package tx

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

// asideSuffix stands between the name of a renumbered outbox and the time, in the name of the file
// that is kept.
const asideSuffix = ".before-"

// renumber adapts the outbox to a stream that has fewer events than it had when the outbox was
// compacted: the store is an older copy, or another one. The missing events that the outbox still
// has get the revisions after the stream's end, following an entry that says so and gives the
// number of transactions. The former file is kept beside it. It returns all entries.
func (cfg *Config) renumber(
	ctx context.Context, store events.Store, box *outbox, entries []entry, length uint64,
) ([]entry, error) {
	// Only a store that takes appends knows for certain where a stream ends. Nothing is written.
	if _, err := store.Append(ctx, box.owner.Stream, events.ExpectNext(length), nil); err != nil {
		return nil, fmt.Errorf("whether the account's record ends at event %d: %w", length, err)
	}
	all := completed(entries, length, box.copied, time.Now())
	aside, err := box.renumber(all, length, time.Now())
	if err != nil {
		return nil, err
	}
	cfg.Log.Warnf("transactions: the event store has %d events of account %s and had at least %d: it is an older "+
		"copy, or another one. They are completed from the outbox with the %d that it still has; the former outbox "+
		"is kept as %s", length, events.Address(cfg.Account), box.copied,
		len(all)-countBelow(all, length)-1, aside)
	return all, nil
}

// completed are the entries, with those that the stream lacks renumbered to follow it. Transactions
// whose intent the outbox no longer has are left out; only their number is kept.
func completed(entries []entry, length, had uint64, now time.Time) []entry {
	var known uint64
	intended := map[string]bool{}
	for _, r := range entries {
		known = max(known, knownBy(r.Event))
		if e, ok := r.Event.(*messages.TxIntended); ok {
			intended[e.GetKey()] = true
		}
	}
	all := entries[:countBelow(entries, length):countBelow(entries, length)]
	next := length
	add := func(r entry) {
		r.Revision = next
		all = append(all, r)
		next++
	}
	add(entry{Event: &messages.TxCountObserved{
		At: timestamppb.New(now), Count: known, Reason: fmt.Sprintf("the record of transactions had %d events "+
			"of at least %d; what follows was completed from the outbox", length, had),
	}})
	for _, r := range entries[len(all)-1:] {
		if e, ok := r.Event.(interface{ GetKey() string }); ok && intended[e.GetKey()] {
			add(r)
		}
	}
	return all
}

// countBelow is the number of entries below a revision.
func countBelow(entries []entry, revision uint64) (n int) {
	for n < len(entries) && entries[n].Revision < revision {
		n++
	}
	return n
}

// renumber rewrites the file with entries of which those from length on are not in the stream. The
// former file is kept under the returned name.
func (o *outbox) renumber(entries []entry, length uint64, now time.Time) (aside string, err error) {
	aside = o.path + asideSuffix + now.UTC().Format("20060102T150405.000Z")
	if err := errors.Join(os.Link(o.path, aside), durable.Sync(filepath.Dir(o.path))); err != nil {
		return "", fmt.Errorf("keep the former outbox: %w", err)
	}
	o.next = length
	if err := o.compact(entries); err != nil {
		return "", err
	}
	o.copied, o.next = length, entries[len(entries)-1].Revision+1
	return aside, nil
}
