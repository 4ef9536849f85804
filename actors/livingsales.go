package actors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/messages"
)

// livingSalesSchema names the form in which the list is saved; testdata/shape.golden holds that
// form.
const livingSalesSchema = "host/2"

// livingSales is the list of the sales that are not over, folded from the whole log: a sale is
// on it from SaleStarted to SaleSettled. Workers and reservations would not show all living
// sales after a crash: an adopted sale begins without a worker and may live without a
// reservation, and a sale whose reservation is settled is not over before its own stream says
// so.
type livingSales struct {
	*shell.Base
	// host and queue are streams of the host; ledger is that of this process's ledger.
	host, queue, ledger string
	sales               map[events.SlotID]livingSale
	next                uint64 // number of the next attempt
	// read is the position up to which the log was read. last is the last event before it that
	// is never truncated: the list is saved under that event.
	read  events.Position
	last  snapshot.Event
	since int // events since the newest snapshot
	// incomplete: the beginning of a sale could not be read, because a newer build wrote it.
	// Such a list is never saved, because that build would read it.
	incomplete bool
	// lengths is the number of events in each of this host's streams, as far as the log was
	// read; nil once the start has asked for it.
	lengths map[string]uint64
	// reached: the start of this process was read. Nobody else writes after it, so the list is
	// complete.
	reached bool
}

// livingSale is a sale that is not over.
type livingSale struct {
	slot    events.SlotID
	request events.RequestID
	index   uint64
	member  events.Member
	begun   uint64 // in the order in which the attempts began
}

func newLivingSales(b *shell.Base) *livingSales {
	return &livingSales{
		Base: b, host: events.HostStream(b.Me), queue: events.SlotQueueStream(b.Me),
		ledger: events.LedgerStream(b.Me, b.Ledger),
		sales:  map[events.SlotID]livingSale{}, lengths: map[string]uint64{},
	}
}

// take folds one event of the log.
func (s *livingSales) take(r events.Recorded) {
	s.read = r.Position
	if !catalog.Streams().InRecord(r.Stream) {
		return
	}
	s.since++
	if !catalog.Streams().MayTruncate(r.Stream) {
		s.last = snapshot.EventOf(r)
	}
	switch r.Stream {
	case s.host:
		s.reached = s.reached || r.Meta.Epoch == s.Epoch
	case s.ledger, s.queue:
		s.noteLength(r)
	}
	if events.Category(r.Stream) != events.CategorySale {
		return
	}
	host, slot, err := events.ParseSaleStream(r.Stream)
	if err != nil || host != s.Me {
		return
	}
	s.noteLength(r)
	switch name, _ := s.Codec.Current(r.Type); name {
	case "SaleStarted":
		m, err := s.Codec.Decode(r)
		if err != nil { // Such a sale cannot go on; the others can.
			s.incomplete = true
			s.Log.WithField("stream", r.Stream).
				Errorf("a sale's record cannot be read, so the sale is left alone: %v", err)
			return
		}
		e := m.(*messages.SaleStarted)
		s.begin(slot, events.Must(events.ParseRequestID(e.GetRequest().GetId())), e.GetSlotIndex(),
			events.Member(e.GetMember()))
	case "SaleSettled":
		delete(s.sales, slot)
	}
}

// noteLength notes how many events a stream has.
func (s *livingSales) noteLength(r events.Recorded) {
	if s.lengths != nil {
		s.lengths[r.Stream] = r.Revision + 1
	}
}

func (s *livingSales) begin(slot events.SlotID, request events.RequestID, index uint64, member events.Member) {
	s.sales[slot] = livingSale{slot, request, index, member, s.next}
	s.next++
}

// inOrder are the sales that are not over, in the order in which they began.
func (s *livingSales) inOrder() []livingSale {
	return slices.SortedFunc(maps.Values(s.sales), func(a, b livingSale) int { return cmp.Compare(a.begun, b.begun) })
}

func (s *livingSales) pieces() [][]byte {
	var out events.Pieces
	for _, l := range s.inOrder() {
		out.Add(&messages.HostState{Living: []*messages.LivingSale{{
			SlotId: l.slot[:], RequestId: l.request[:], SlotIndex: l.index, Member: string(l.member),
		}}})
	}
	return out.All()
}

func (s *livingSales) restore(pieces [][]byte) error {
	s.sales = map[events.SlotID]livingSale{}
	return events.JoinPieces(pieces, func(m *messages.HostState) error {
		for _, l := range m.GetLiving() {
			var slot events.SlotID
			var request events.RequestID
			err := cmp.Or(events.SetID(&slot, l.GetSlotId()), events.SetID(&request, l.GetRequestId()))
			if err != nil {
				return err
			}
			s.begin(slot, request, l.GetSlotIndex(), events.Member(l.GetMember()))
		}
		return nil
	})
}

// readLivingSales reads the newest snapshot of the list and the log after it.
func readLivingSales(ctx context.Context, b *shell.Base) (*livingSales, error) {
	s := newLivingSales(b)
	from := snapshot.Reader{Stream: events.SnapshotStream(s.host), Schema: livingSalesSchema}
	found, err := b.ReadSnapshot(ctx, from, s.restore)
	if err != nil {
		return nil, err
	}
	return s, s.catchUp(ctx, found)
}

// whole returns an error when the log ends before the start of this process.
func (s *livingSales) whole() error {
	if s.reached {
		return nil
	}
	return fmt.Errorf("%w: start %d of this host is not in the log", shell.ErrBehind, s.Epoch)
}

// catchUp reads what the log has of this host after a snapshot, or all of that. A server may have far more of
// others.
func (s *livingSales) catchUp(ctx context.Context, found snapshot.Found) error {
	if found.Usable {
		s.last, s.read = found.Last, found.Last.Position
	} else {
		s.sales = map[events.SlotID]livingSale{}
	}
	head, err := s.Store.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the record: %w", err)
	}
	own := []string{s.host, s.queue, s.ledger, events.CategorySale + "-" + s.Me.String() + "-"}
	for r, err := range events.ReadPrefixed(ctx, s.Store, s.read, own) {
		if err != nil {
			return fmt.Errorf("read the record: %w", err)
		}
		s.take(r)
	}
	s.read = max(s.read, head) // What was left out is of no concern.
	return nil
}

// LivingSales returns what a start on this store would find: the slots whose sales are not
// over, in the order in which their attempts began.
func LivingSales(ctx context.Context, store events.Store, me events.Address) ([]events.SlotID, error) {
	s, err := readLivingSales(ctx, NewRecord(store, me, "", 0, "").base)
	if err != nil {
		return nil, err
	}
	slots := make([]events.SlotID, 0, len(s.sales))
	for _, l := range s.inOrder() {
		slots = append(slots, l.slot)
	}
	return slots, nil
}

// livingSalesSaver follows the log and saves the list once per Config.SnapshotEvery events.
// Only its own task touches the list until the host has stopped.
type livingSalesSaver struct {
	*hostRecord
	living *livingSales
	// others takes each event in a host of several members, and followed is how far it has; nil: the host is this
	// process.
	others   func(context.Context, events.Recorded) error
	followed *watched[events.Position]
}

func (w *livingSalesSaver) run(ctx context.Context) {
	for n := 1; ctx.Err() == nil; {
		rung, before := w.Bell.Next(), w.living.read
		err := w.RT.Guarded("living sales", func() error { return w.follow(ctx) })
		if ctx.Err() != nil || errors.Is(err, events.ErrClosed) {
			return
		}
		if w.living.read > before {
			n = 1
		}
		w.Log.Debugf("following the log for the next start was interrupted: %v", err)
		n, _ = w.Pause(ctx, "living sales", n, rung)
	}
}

func (w *livingSalesSaver) follow(ctx context.Context) error {
	tries, own := 0, events.HostStream(w.Me)
	if w.others != nil {
		w.suspect() // Another member may have taken the term while this one read the record.
	}
	for r, err := range w.Store.Subscribe(ctx, w.living.read) {
		if err != nil {
			return err
		}
		if r.Stream == own && (r.Meta.Epoch > w.Epoch || w.others != nil && r.Meta.Epoch != w.Epoch) {
			w.suspect() // The next heartbeat would notice it later.
		}
		if w.others != nil {
			if err := w.others(ctx, r); err != nil { // It comes again.
				return err
			}
			w.followed.set(r.Position)
		}
		w.living.take(r)
		if !w.saves() || w.living.since < (tries+1)*w.SnapshotEvery {
			continue
		}
		w.Yield(ctx, "snapshot of the living sales")
		if err := w.save(ctx); err != nil && ctx.Err() == nil {
			w.Log.Warnf("the list of living sales was not saved; it is tried again later: %v", err)
			tries++
			continue
		}
		tries = 0
	}
	return nil
}

// saves reports whether this process saves the list: of several members, the owner does.
func (w *livingSalesSaver) saves() bool {
	owner, lasts := w.ownerNow()
	return w.Saves() && (w.others == nil || lasts && owner == w.Member)
}

func (w *livingSalesSaver) save(ctx context.Context) error {
	if w.living.last.Position == 0 || w.living.incomplete {
		return nil
	}
	_, err := w.Write(ctx, events.HostStream(w.Me), livingSalesSchema, w.living.last, w.living.pieces())
	if err == nil {
		w.living.since = 0
	}
	return err
}

// Finish implements shell.Saver.
func (w *livingSalesSaver) Finish(ctx context.Context) error {
	if w.living.since == 0 || !w.saves() {
		return nil
	}
	return w.save(ctx)
}
