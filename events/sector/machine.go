package sector

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of sectors.
func Machine() machine.Machine {
	naming := events.SeveralPerHost(events.CategorySector, events.ParseSectorStream, events.SectorStream)
	return machine.Of(naming, Table, func() Info { return New(Policy{}) }, Evolve, shown)
}

// shown is the state of a sector with what it does next.
func shown(s Info) any {
	out := struct {
		Info
		Effects []string
	}{Info: s}
	for _, e := range Next(s) {
		out.Effects = append(out.Effects, e.Key())
	}
	return out
}
