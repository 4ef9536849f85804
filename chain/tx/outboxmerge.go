package tx

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/messages"
)

// This file adapts the outbox of an account that several processes own in turn. While the event store
// was away, the owner sent duties whose events are only in its outbox; meanwhile, another one wrote
// to the stream. These events are facts, so they follow the stream's end when the first owner
// returns.

// merge gives the entries that the stream lacks the revisions after its end. The former outbox is kept
// beside the new one. It returns all entries, and the length of the stream.
func (cfg *Config) merge(
	ctx context.Context, store events.Store, box *outbox, entries []entry,
) (all []entry, length uint64, err error) {
	theirs, from, err := divergent(ctx, store, box, entries)
	if err != nil {
		return nil, 0, err
	}
	length = from + uint64(len(theirs))
	// Only a store that takes appends knows for certain where a stream ends. Nothing is written.
	if _, err := store.Append(ctx, box.owner.Stream, events.ExpectNext(length), nil); err != nil {
		return nil, 0, fmt.Errorf("whether the account's record ends at event %d: %w", length, err)
	}
	shared := countBelow(entries, from)
	all, twice := merged(entries[:shared], theirs, entries[shared:])
	aside, err := box.renumber(all, length, time.Now())
	if err != nil {
		return nil, 0, err
	}
	cfg.Log.Warnf("transactions: another owner of the account wrote %d events to its record after event %d; the "+
		"%d that only this outbox had follow them; the former outbox is kept as %s",
		len(theirs), from, len(all)-shared-len(theirs), aside)
	for _, key := range twice {
		cfg.Log.Warnf("transactions: another owner of the account also sent %s; both are followed", key)
	}
	return all, length, nil
}

// divergent are the events of the stream from the first revision on at which it differs from the outbox.
func divergent(
	ctx context.Context, store events.Store, box *outbox, entries []entry,
) (theirs []entry, from uint64, err error) {
	byRevision := map[uint64]entry{}
	for _, r := range entries {
		byRevision[r.Revision] = r
	}
	codec := events.NewCodec(transactions.Table())
	from = box.copied
	for e, err := range store.ReadStream(ctx, box.owner.Stream, events.ReadStream{From: box.copied}) {
		if err != nil {
			return nil, 0, err
		}
		if r, has := byRevision[e.Revision]; has && len(theirs) == 0 {
			id, err := entryID(box.owner.Stream, r)
			if err != nil {
				return nil, 0, err
			}
			if id == e.ID {
				from = e.Revision + 1
				continue
			}
		}
		m, err := codec.Decode(e)
		if err != nil {
			return nil, 0, err
		}
		theirs = append(theirs, entry{e.Revision, m, e.Meta.Correlation})
	}
	return theirs, from, nil
}

// merged are the entries that both have, then the other owner's, then ours with new revisions. Ours keep their
// keys, except that the number of the try differs where the other owner sent the same call with another
// nonce: then both are followed. It returns those keys.
func merged(shared, theirs, ours []entry) (all []entry, twice []string) {
	g := merging{
		shared: newSends(shared), theirs: newSends(theirs), ours: newSends(ours),
		tries: map[string]int{}, names: map[string]string{},
	}
	all = slices.Concat(shared, theirs)
	for _, r := range slices.Concat(all, ours) {
		if key := keyOf(r.Event); key != "" {
			base, try := splitKey(key)
			g.tries[base] = max(g.tries[base], try)
		}
	}
	next := all[len(all)-1].Revision + 1
	for _, r := range ours {
		for _, r := range g.entries(r) {
			r.Revision = next
			next++
			all = append(all, r)
		}
	}
	return all, g.twice
}

// sends are what entries say about each key.
type sends struct {
	intended map[string]entry
	nonces   map[string]map[uint64]bool
	hashes   map[string]bool
	touched  map[string]bool
	ended    map[string]bool
}

func newSends(entries []entry) sends {
	s := sends{
		intended: map[string]entry{}, nonces: map[string]map[uint64]bool{}, hashes: map[string]bool{},
		touched: map[string]bool{}, ended: map[string]bool{},
	}
	for _, r := range entries {
		key := keyOf(r.Event)
		s.touched[key] = true
		switch e := r.Event.(type) {
		case *messages.TxIntended:
			s.intended[key] = r
		case *messages.TxSent:
			s.hashes[strings.ToLower(e.GetTxHash())] = true
			if s.nonces[key] == nil {
				s.nonces[key] = map[uint64]bool{}
			}
			s.nonces[key][e.GetNonce()] = true
		case *messages.TxMined, *messages.TxAbandoned:
			s.ended[key] = true
		}
	}
	return s
}

// merging finds out what is added to the stream for each entry that it lacks.
type merging struct {
	shared, theirs, ours sends
	tries                map[string]int    // the highest try, by base
	names                map[string]string // keys of ours, by their former ones
	twice                []string
}

// entries are those that an entry of ours becomes: usually itself.
func (g *merging) entries(r entry) (all []entry) {
	key := keyOf(r.Event)
	if key == "" {
		return []entry{r}
	}
	name, known := g.names[key]
	if !known {
		name = g.name(key)
		g.names[key] = name
		if _, has := g.ours.intended[key]; name != key && !has {
			i := g.shared.intended[key]
			all = append(all, entry{Event: renamed(i.Event, name), Correlation: i.Correlation})
		}
	}
	switch e := r.Event.(type) {
	case *messages.TxSent:
		if g.theirs.hashes[strings.ToLower(e.GetTxHash())] {
			return all // It is there.
		}
	case *messages.TxMined, *messages.TxAbandoned:
		if name == key && g.theirs.ended[key] { // They knew more.
			return all
		}
	}
	r.Event = renamed(r.Event, name)
	return append(all, r)
}

// name is the key that ours gets: the same one, unless the other owner used it for another transaction.
func (g *merging) name(key string) string {
	_, intended := g.ours.intended[key]
	_, before := g.shared.intended[key]
	same := !intended
	for nonce := range g.ours.nonces[key] {
		same = same && (g.shared.nonces[key][nonce] || g.theirs.nonces[key][nonce])
	}
	if !g.theirs.touched[key] || same || !intended && !before {
		return key
	}
	base, _ := splitKey(key)
	g.tries[base]++
	g.twice = append(g.twice, base)
	return joinKey(base, g.tries[base])
}

func keyOf(e proto.Message) string {
	if e, ok := e.(interface{ GetKey() string }); ok {
		return e.GetKey()
	}
	return ""
}

// renamed is a copy of an event with another key.
func renamed(e proto.Message, key string) proto.Message {
	e = proto.CloneOf(e)
	m := e.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("key"), protoreflect.ValueOfString(key))
	return e
}
