package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// A directory of format 1 has neither virtual streams nor heads with metadata;
// format 2 has virtual streams by other rules. upgrade makes both anew by reading
// every event once. Each step is one pebble batch, which also says how far the
// upgrade has come; after a kill, the next Open goes on after the last complete
// step. Before the first step FORMAT says that an upgrade has begun. That keeps
// older builds out, which would otherwise write to incomplete indexes.

const (
	// upgradeEvents and upgradeBytes end a step: some ten milliseconds of work.
	upgradeEvents = 10_000
	upgradeBytes  = 4 << 20
	// upgradeReport is after how many events progress is logged.
	upgradeReport = 1_000_000
)

// upgradeKey has the last position that was upgraded, until the upgrade is finished.
var upgradeKey = []byte{prefixFact, 'i', 'n', 'd', 'e', 'x', 'e', 's'}

// upgrader is one run of the upgrade.
type upgrader struct {
	db    *pebble.DB
	log   *logger
	last  events.Position // to do
	done  events.Position
	from  int // the format that the directory had
	heads *heads
	names interner

	batch   *pebble.Batch
	changed []*entry
	skipped uint64 // events that cannot be read
	key     []byte
	value   []byte
	// stepped is called after each step; only tests have one.
	stepped func(done events.Position)
}

// upgrade brings the directory from an older format to the present one, or goes
// on with an upgrade that has begun.
func (s *Store) upgrade(from int, begun bool, last events.Position, cfg Config) (skipped uint64, err error) {
	u := &upgrader{
		db: s.db, log: &logger{to: cfg.Log, guard: s.guard}, last: last, from: from,
		heads: newHeads(s.db, maxHeads), batch: s.db.NewBatch(), stepped: cfg.stepped,
	}
	if begun {
		u.done, err = readUpgrade(s.db)
	} else { // Whatever was done before, an older build may have undone.
		err = u.begin(s)
	}
	if err == nil {
		u.log.Infof("event store %s: upgrading format %d to %d, events %d to %d",
			s.dir, from, formatVersion, u.done+1, last)
		err = u.run()
	}
	err = errors.Join(err, u.batch.Close(), s.failed())
	if err == nil { // The log has the steps in order: one sync makes all of them durable.
		err = errors.Join(s.db.LogData(nil, pebble.Sync), s.failed())
	}
	if err == nil {
		err = writeFormat(s.guard, s.dir, 0)
	}
	if err != nil {
		return 0, fmt.Errorf("upgrade to format %d: %w", formatVersion, err)
	}
	u.log.Infof("event store %s: upgraded", s.dir)
	// Nobody reads it any more; a kill before this does no harm.
	return u.skipped, s.db.Delete(upgradeKey, pebble.NoSync)
}

// begin notes on disk that an upgrade has begun.
func (u *upgrader) begin(s *Store) error {
	if err := errors.Join(u.db.Set(upgradeKey, u.mark(), pebble.Sync), s.failed()); err != nil {
		return err
	}
	return writeFormat(s.guard, s.dir, u.from)
}

// mark is how far the upgrade is.
func (u *upgrader) mark() []byte {
	u.value = binary.BigEndian.AppendUint64(u.value[:0], uint64(u.done))
	return u.value
}

// readUpgrade returns how far an earlier run came. FORMAT says that there was one.
func readUpgrade(db *pebble.DB) (events.Position, error) {
	return get(db, upgradeKey, DamagedError{}, func(value []byte) (events.Position, error) {
		if len(value) != numberBytes {
			return 0, fmt.Errorf("%w: upgrade mark %x", errLayout, value)
		}
		return events.Position(binary.BigEndian.Uint64(value)), nil
	})
}

// run makes the steps up to the end. Unreadable events are left out and
// reported: the store goes on without them, as it does when damage is found
// later.
func (u *upgrader) run() error {
	if u.done == 0 { // Old indexes, and those of a step that was not counted.
		for _, letter := range []byte{prefixVirtual, prefixVirtualHead} {
			if err := u.db.DeleteRange([]byte{letter}, []byte{letter + 1}, pebble.NoSync); err != nil {
				return err
			}
		}
	}
	for u.done < u.last {
		before := u.done
		if err := u.step(); err != nil {
			return err
		}
		if u.done/upgradeReport != before/upgradeReport {
			u.log.Infof("event store: upgraded %d of %d events", u.done, u.last)
		}
		if u.stepped != nil {
			u.stepped(u.done)
		}
	}
	return nil
}

// step upgrades some events in one batch.
func (u *upgrader) step() error {
	it, err := u.db.NewIter(between(u.done+1, u.last+1))
	if err != nil {
		return err
	}
	defer it.Close()
	ok := it.First()
	for n := 0; ok && n < upgradeEvents && u.batch.Len() < upgradeBytes; n++ {
		at, err := parseEventKey(it.Key())
		if err != nil {
			return &DamagedError{Position: u.done + 1, Reason: err}
		}
		u.skip(at-u.done-1, errMissing)
		if err := u.event(at, it); err != nil {
			return err
		}
		u.done = at
		ok = it.Next()
	}
	if !ok && it.Error() != nil { // It is not known where the bad block ends: try the next position.
		u.skip(1, it.Error())
		u.done++
	} else if !ok {
		u.skip(u.last-u.done, errMissing)
		u.done = u.last
	}
	return u.write()
}

func (u *upgrader) skip(n events.Position, why error) {
	if n > 0 {
		u.skipped += uint64(n)
		u.log.Errorf("event store: %d events after position %d cannot be read: %v", n, u.done, why)
	}
}

// event adds what follows from one event to the batch.
func (u *upgrader) event(at events.Position, it *pebble.Iterator) error {
	value, err := it.ValueAndErr()
	var e events.Recorded
	if err == nil {
		e, err = decodeRecord(value, &u.names)
	}
	if err != nil {
		u.skip(1, err)
		return nil
	}
	for _, name := range events.VirtualOf(&e) {
		virtual, err := u.heads.head(name)
		if err != nil {
			return err
		}
		u.change(virtual)
		u.key = appendIndexKey(u.key[:0], name, virtual.head.count)
		u.value = appendVirtualEntry(u.value[:0], at)
		virtual.head.count++
		if err := u.batch.Set(u.key, u.value, nil); err != nil {
			return err
		}
	}
	if u.from > 1 {
		return nil
	}
	return u.rules(&e)
}

// rules applies what format 1 did not treat specially: metadata and tombstones.
func (u *upgrader) rules(e *events.Recorded) error {
	if of, meta, ok := metadataEvent(e.Stream, e.Type, e.Data); ok {
		target, err := u.heads.head(of)
		if err != nil {
			return err
		}
		u.change(target)
		target.head.setMetadata(meta, e.Position)
	}
	if e.Type != events.TypeTombstone || events.IsVirtual(e.Stream) {
		return nil
	}
	ended, err := u.heads.head(e.Stream)
	if err != nil || ended.head.count != e.Revision+1 {
		return err
	}
	u.change(ended)
	ended.head.ended = true
	return nil
}

func (u *upgrader) change(e *entry) {
	if !e.changed {
		e.changed = true
		u.changed = append(u.changed, e)
	}
}

// write ends a step.
func (u *upgrader) write() error {
	for _, e := range u.changed {
		u.key = appendHeadKey(u.key[:0], e.stream)
		u.value = appendHead(u.value[:0], e.head)
		if err := u.batch.Set(u.key, u.value, nil); err != nil {
			return err
		}
		e.changed = false
	}
	u.changed = u.changed[:0]
	if err := u.batch.Set(upgradeKey, u.mark(), nil); err != nil {
		return err
	}
	if err := u.batch.Commit(pebble.NoSync); err != nil {
		return err
	}
	u.batch.Reset()
	u.heads.forget()
	return nil
}
