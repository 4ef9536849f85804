package witness

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// line is one append as the file has it: its last event, and the offers and
// reservations that began or ended with it.
type line struct {
	Stream   string `json:"stream"`
	Revision uint64 `json:"revision"`
	ID       string `json:"id"`
	// Position in the log; 0: not known.
	Position events.Position `json:"position,omitempty"`
	At       time.Time       `json:"at"`
	Terms    []terms         `json:"terms,omitempty"`
}

// terms describe an offer or a reservation; Text is empty when it has ended.
type terms struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
	Text string `json:"text,omitempty"`
}

// The kinds of terms.
const (
	kindOffer       = "offer"
	kindReservation = "reservation"
)

// maxStreams is how many streams are remembered; beyond that, those that were not
// written for the longest time are forgotten. A host has four, and one for each slot
// it ever took.
const maxStreams = 10_000

// book is the fold of the lines.
type book struct {
	streams map[string]seen
	open    map[terms]opened // by kind and key
	count   uint64
	last    *seen // that was folded
}

type seen struct {
	line
	order uint64
}

type opened struct {
	text     string
	revision uint64
	order    uint64
}

func newBook() *book { return &book{streams: map[string]seen{}, open: map[terms]opened{}} }

func (b *book) clone() *book {
	return &book{streams: maps.Clone(b.streams), open: maps.Clone(b.open), count: b.count, last: b.last}
}

// restore takes back what an earlier state had and this one lacks.
func (b *book) restore(whole *book) {
	for stream, of := range whole.streams {
		if b.streams[stream].Revision <= of.Revision {
			b.streams[stream] = of
		}
	}
	for key, o := range whole.open {
		if _, known := b.open[key]; !known {
			b.open[key] = o
		}
	}
}

func (b *book) fold(l line) {
	b.count++
	for _, t := range l.Terms {
		key := terms{Kind: t.Kind, Key: t.Key}
		if t.Text == "" {
			delete(b.open, key)
			continue
		}
		b.open[key] = opened{t.Text, l.Revision, b.count}
	}
	l.Terms = nil
	b.last = &seen{l, b.count}
	b.streams[l.Stream] = *b.last
	if len(b.streams) > 2*maxStreams {
		for _, s := range b.newest()[maxStreams:] {
			delete(b.streams, s.Stream)
		}
	}
}

// set notes that a stream ends elsewhere than before.
func (b *book) set(of seen, end ending) {
	if end.has == 0 {
		delete(b.streams, of.Stream)
		return
	}
	of.Revision, of.ID = end.has-1, end.id
	b.streams[of.Stream] = of
}

// newest returns the streams, the most recently written first.
func (b *book) newest() []seen {
	return slices.SortedFunc(maps.Values(b.streams), func(x, y seen) int { return cmp.Compare(y.order, x.order) })
}

// since returns the terms of a kind that began at or after a revision, in order.
func (b *book) since(kind string, revision uint64) (texts []string) {
	var all []opened
	for key, o := range b.open {
		if key.Kind == kind && o.revision >= revision {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(x, y opened) int { return cmp.Compare(x.order, y.order) })
	for _, o := range all {
		texts = append(texts, o.text)
	}
	return texts
}

// lines are as many as the state needs.
func (b *book) lines() []line {
	all := b.newest()
	slices.Reverse(all)
	out := make([]line, len(all))
	for i, s := range all {
		out[i] = s.line
	}
	// Open terms come before the ledger's own line, with the revision where they began.
	ledger := slices.IndexFunc(out, func(l line) bool { return events.Category(l.Stream) == events.CategoryCapacity })
	if ledger < 0 {
		return out
	}
	keys := slices.SortedFunc(maps.Keys(b.open), func(x, y terms) int {
		return cmp.Compare(b.open[x].order, b.open[y].order)
	})
	began := make([]line, len(keys))
	for i, key := range keys {
		began[i] = out[ledger]
		began[i].Revision, began[i].Terms = b.open[key].revision, []terms{{key.Kind, key.Key, b.open[key].text}}
	}
	return slices.Insert(out, ledger, began...)
}

// ledgerJSON is what is read of the ledger's events.
type ledgerJSON struct {
	AvailabilityID string `json:"availabilityId"`
	ReservationID  string `json:"reservationId"`
	SlotID         string `json:"slotId"`
	TotalSize      string `json:"totalSize"`
	Duration       string `json:"durationSeconds"`
	Price          string `json:"minPricePerBytePerSecond"`
	Collateral     string `json:"totalCollateral"`
	Enabled        bool   `json:"enabled"`
}

// termsOf returns what an event of the ledger begins or ends; nothing for an event that cannot be
// read.
func termsOf(e events.NewEvent) (t terms, ok bool) {
	var j ledgerJSON
	if json.Unmarshal(e.Data, &j) != nil {
		return t, false
	}
	switch e.Type {
	case "AvailabilityCreated", "AvailabilityUpdated":
		state := "enabled"
		if !j.Enabled {
			state = "disabled"
		}
		return terms{kindOffer, j.AvailabilityID, fmt.Sprintf("%s: %s bytes for %s s at %s, collateral %s, %s",
			j.AvailabilityID, j.TotalSize, j.Duration, j.Price, j.Collateral, state)}, true
	case "AvailabilityDeleted":
		return terms{Kind: kindOffer, Key: j.AvailabilityID}, true
	case "ReservationCreated":
		return terms{kindReservation, j.ReservationID, "slot " + j.SlotID}, true
	case "ReservationDeleted":
		return terms{Kind: kindReservation, Key: j.ReservationID}, true
	}
	return t, false
}
