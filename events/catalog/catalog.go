// Package catalog joins the codec tables of all machines into the one codec
// that encodes and decodes every event of a host. Code that reads streams of
// several machines (actors, projections, the auditor) uses it.
package catalog

import (
	"sync"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/snapshot"
)

// Codec knows every event that a host stores. It is made once, because its tables hold
// an example of every event, which would be too much work for each event that is read.
func Codec() *events.Codec { return codec() }

var codec = sync.OnceValue(func() *events.Codec {
	return events.NewCodec(
		sale.Table(), capacity.Table(), slotqueue.Table(), sector.Table(),
		events.MarketTable(), events.HostTable(), events.TxTable(), events.ValidatorTable(), events.ProofsTable(),
		snapshot.Table(),
	)
})
