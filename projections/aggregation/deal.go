package aggregation

import (
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/messages"
)

// Stands implements machine.Row.
func (d Deal) Stands() (key, state string) { return d.Aggregate, string(d.Status) }

// Deal is what is shown of the deal about an aggregate.
type Deal struct {
	Aggregate string            `json:"aggregate"`
	Status    events.DealStatus `json:"status"`
	Broker    string            `json:"broker"`
	Size      uint64            `json:"size"`
	Deal      string            `json:"deal,omitempty"` // how the broker calls it
	Inserted  time.Time         `json:"inserted"`
	Signed    time.Time         `json:"signed,omitzero"`
	Processed time.Time         `json:"processed,omitzero"` // it became final
	// Bad are the first 100 pieces because of which it is rejected, BadPieces says how many there are.
	Bad       []string `json:"bad,omitempty"`
	BadPieces int      `json:"badPieces,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	By        string   `json:"by,omitempty"` // a person who rejected it
	// TimesDoubted counts what was not believed; Doubted is the newest.
	TimesDoubted int    `json:"timesDoubted,omitempty"`
	Doubted      string `json:"doubted,omitempty"`
}

// mostBad is how many bad pieces of a deal are shown.
const mostBad = 100

// deals is the fold behind the view.
type deals struct {
	All []known // in the order in which they were offered

	at map[string]int // in All; nil: All was read from a checkpoint
}

type known struct {
	Aggregate string
	State     deal.State // with the bad pieces that are shown
	Bad       int
}

func (d *deals) fold(r events.Recorded, e messages.DealEvent) {
	if d.at == nil {
		d.at = map[string]int{}
		for i, one := range d.All {
			d.at[one.Aggregate] = i
		}
	}
	_, aggregate, _ := events.ParseDealStream(r.Stream) // Of this category are only names that can be parsed.
	i, seen := d.at[aggregate]
	if !seen {
		i = len(d.All)
		d.at[aggregate] = i
		d.All = append(d.All, known{Aggregate: aggregate})
	}
	one := &d.All[i]
	one.State = deal.Evolve(one.State, e)
	switch e := e.(type) {
	case *messages.DealApproved:
		one.Bad = 0
	case *messages.DealRejected:
		if e.GetPart() <= 1 {
			one.Bad = 0
		}
		one.Bad += len(e.GetBad())
	}
	one.State.Bad = append([]string(nil), one.State.Bad[:min(len(one.State.Bad), mostBad)]...)
}

func (d *deals) rows() []Deal {
	rows := make([]Deal, 0, len(d.All))
	for _, one := range d.All {
		s := one.State
		rows = append(rows, Deal{
			Aggregate: one.Aggregate, Status: s.Status, Broker: s.Broker, Size: s.Size, Deal: s.Deal,
			Inserted: s.Inserted, Signed: s.Signed, Processed: s.Processed, Bad: s.Bad, BadPieces: one.Bad,
			Reason: s.Reason, By: s.By, TimesDoubted: s.Doubts, Doubted: s.Doubted,
		})
	}
	return rows
}
