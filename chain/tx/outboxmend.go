package tx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/internal/durable"
)

// OutboxDamage describes a damaged outbox, and what mending it would keep and lose.
type OutboxDamage struct {
	// Path is the file, and Problem what is wrong with it.
	Path    string
	Problem error
	// Recorded is the number of events in the account's stream, which are all kept, and Rescued the
	// number that can be kept from the file alone.
	Recorded, Rescued int
	// Lost is the number of bytes that are not legible, and LostEvents the number of legible events
	// that cannot be kept, because events before them are lost.
	Lost, LostEvents int

	raw   []byte
	owner *outboxOwner // nil: not legible; the next start knows it
	keep  []entry
}

// outboxSuffix is the end of the names of outboxes.
const outboxSuffix = ".outbox"

// ExamineOutboxes finds the damaged outboxes in a directory, and compares them with their streams
// in the store. It changes nothing. No host may be running.
func ExamineOutboxes(ctx context.Context, dir string, store events.Store) (all []*OutboxDamage, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+outboxSuffix))
	if err != nil {
		return nil, fmt.Errorf("look for outboxes: %w", err)
	}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read outbox: %w", err)
		}
		d := &OutboxDamage{Path: path, raw: raw}
		d.examine()
		if err := d.compare(ctx, store); err != nil {
			return nil, fmt.Errorf("examine outbox %s: %w", path, err)
		}
		if d.Problem != nil {
			all = append(all, d)
		}
	}
	return all, nil
}

// examine reads everything that is legible, even after a damaged part.
func (d *OutboxDamage) examine() {
	_, _, d.Problem = splitFrames(d.raw)
	o := &outbox{codec: events.NewCodec(transactions.Table())}
	for at := 0; at < len(d.raw); {
		payload, ok := firstFrame(d.raw[at:])
		if !ok {
			at++
			d.Lost++
			continue
		}
		d.add(o, payload, at == 0)
		at += frameHeaderBytes + len(payload)
	}
	if d.Problem == nil && d.owner == nil && d.Lost > 0 {
		d.Problem = fmt.Errorf("%w: its beginning is not legible", ErrOutboxDamaged)
	}
}

// add takes over the content of a frame.
func (d *OutboxDamage) add(o *outbox, payload []byte, first bool) {
	var err error
	var r entry
	if first {
		var owner outboxOwner
		if err = json.Unmarshal(payload, &owner); err == nil {
			d.owner, o.owner = &owner, owner
		}
	} else if r, err = o.decode(payload); err == nil && r.Event != nil {
		d.keep = append(d.keep, r)
	}
	if err != nil && d.Problem == nil {
		d.Problem = fmt.Errorf("%w: %w", ErrOutboxDamaged, err)
	}
}

// compare finds out which of the legible events can be kept: those that follow the account's stream
// without a gap.
func (d *OutboxDamage) compare(ctx context.Context, store events.Store) error {
	stream := strings.TrimSuffix(filepath.Base(d.Path), outboxSuffix)
	recorded, length, err := catchUp(ctx, store, stream, nil, 0)
	if err != nil {
		return err
	}
	legible := d.keep
	d.Recorded, d.keep = len(recorded), recorded
	for _, r := range legible {
		switch {
		case r.Revision < length:
		case d.owner == nil || r.Revision != length+uint64(d.Rescued):
			d.LostEvents++
		default:
			d.Rescued++
			d.keep = append(d.keep, r)
		}
	}
	return nil
}

// Mend renames the damaged file to the name that it returns, and replaces it by one with the
// stream's events and the rescued ones. If the owner is not legible there is no new file; the next
// start makes it. Transactions that are in neither are on the chain, and the start compares with
// that.
func (d *OutboxDamage) Mend(now time.Time) (aside string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("mend outbox %s: %w", d.Path, err)
		}
	}()
	aside = d.Path + ".damaged-" + now.UTC().Format("20060102T150405Z")
	if err := durable.Create(aside, d.raw); err != nil {
		return "", err
	}
	if d.owner == nil {
		return aside, errors.Join(os.Remove(d.Path), durable.Sync(filepath.Dir(d.Path)))
	}
	o := &outbox{owner: *d.owner, codec: events.NewCodec(transactions.Table())}
	whole, err := o.content(d.keep, uint64(d.Recorded))
	if err != nil {
		return "", err
	}
	return aside, durable.Replace(d.Path, whole)
}
