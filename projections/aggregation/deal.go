package aggregation

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/messages"
)

// Stands implements machine.Row.
func (d Deal) Stands() (key, state string) { return d.Aggregate, string(d.Status) }

// Deal is what is shown of the deal about an aggregate, with the first 100 of the bad pieces.
type Deal struct {
	Aggregate string `json:"aggregate"`
	deal.State
}

// mostBad is how many bad pieces of a deal are shown.
const mostBad = 100

// deals is the fold behind the view.
type deals struct {
	All []Deal // in the order in which they were offered

	at map[string]int // in All; nil: All was read from a checkpoint
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
		d.All = append(d.All, Deal{Aggregate: aggregate})
	}
	one := &d.All[i]
	one.State = deal.Evolve(one.State, e)
	one.Bad = append([]string(nil), one.Bad[:min(len(one.Bad), mostBad)]...)
}

func (d *deals) rows() []Deal { return append([]Deal{}, d.All...) }
