// Package catalog lists the machines of a host, as far as the record knows them. Whatever reads or copies streams
// (stores, actors, projections, the auditor, replay) takes from here what there is; a machine is added by a line.
package catalog

import (
	"sync"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/machine"
	"github.com/hostnode/hostnode/events/market"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/readyproofs"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/events/validation"
)

// Machines returns all machines. The slice must not be changed.
func Machines() []machine.Machine { return machines() }

var machines = sync.OnceValue(func() []machine.Machine {
	return []machine.Machine{
		capacity.Machine(), sale.Machine(), slotqueue.Machine(), transactions.Machine(), membership.Machine(),
		validation.Machine(), sector.Machine(), market.Machine(), readyproofs.Machine(),
		downtime.Machine(), content.Machine(), cargo.Machine(), deal.Machine(), alert.Machine(),
	}
})

// Codec knows every event that a host stores, and those of snapshots. It is made once, because its tables hold
// an example of every event, which would be too much work for each event that is read.
func Codec() *events.Codec { return codec() }

var codec = sync.OnceValue(func() *events.Codec {
	tables := [][]events.Entry{snapshot.Table()}
	for _, m := range Machines() {
		tables = append(tables, m.Table())
	}
	return events.NewCodec(tables...)
})

// Streams are the names of all machines' streams.
func Streams() events.Streams { return streams() }

var streams = sync.OnceValue(func() (all events.Streams) {
	for _, m := range Machines() {
		all = append(all, m.Naming)
	}
	return all
})

// Of returns the machine of a stream, whatever follows the category; false: it is none of ours.
func Of(stream string) (m machine.Machine, known bool) {
	for _, m := range Machines() {
		if m.Category == events.Category(stream) {
			return m, true
		}
	}
	return m, false
}
