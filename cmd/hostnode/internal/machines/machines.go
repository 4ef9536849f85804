// Package machines lists the further machines of a host: what the program must know of each besides its rows in
// events/catalog (its record) and projections/catalog (its view and its judge). Selling, sectors, members and what
// belongs to them came before this list and are wired by hand. How a machine is added is told in docs/architecture.md.
package machines

import (
	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerting"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/downtime"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/events"
)

// Row is one machine, or several that are asked and told together.
type Row struct {
	// Categories are those of its streams (events/catalog).
	Categories []string
	// API is what it answers, over the socket and without a host.
	API api.Machine
	// Commands are its commands; nil: there are none.
	Commands func(*cli.App) *cobra.Command
	// Pages are those that it shows in a browser, besides its rows and streams; nil: none.
	Pages []page.Page
	// Room is what runs of it in a host; nil: nothing does.
	Room node.MakeRoom
}

// All are the rows.
var All = []Row{
	{
		Categories: []string{events.CategoryNode}, API: downtime.API(), Commands: downtime.Commands,
		Pages: downtime.Pages(), Room: downtime.MakeRoom,
	},
	{
		Categories: []string{events.CategoryContent, events.CategoryCargo, events.CategoryDeal},
		API:        aggregation.API(), Commands: aggregation.Commands, Pages: aggregation.Pages(),
		Room: aggregation.MakeRoom,
	},
	{
		Categories: []string{events.CategoryAlert}, API: alerting.API(), Commands: alerting.Commands,
		Pages: alerting.Pages(), Room: alerting.MakeRoom,
	},
}

// API is what all of them answer.
func API() (all []api.Machine) {
	for _, m := range All {
		all = append(all, m.API)
	}
	return all
}

// Pages is what all of them show.
func Pages() (all []page.Page) {
	for _, m := range All {
		all = append(all, m.Pages...)
	}
	return all
}

// Rooms is what runs of all of them.
func Rooms() (all []node.MakeRoom) {
	for _, m := range All {
		if m.Room != nil {
			all = append(all, m.Room)
		}
	}
	return all
}
