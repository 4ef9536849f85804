package sale

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/machine"
)

// Machine is what the record knows of sales.
func Machine() machine.Machine {
	naming := events.SeveralPerHost(events.CategorySale, events.ParseSaleStream, events.SaleStream)
	return machine.Telling(machine.Of(naming, Table, machine.Zero[State], Evolve, shown), Sentence)
}

// shown is the state of a sale with what it does next.
func shown(s State) any {
	out := struct {
		State
		WaitsFor string
		Effects  []string
	}{State: s}
	if !s.Over() {
		out.WaitsFor = Waiting(s)
	}
	for _, e := range Next(s) {
		out.Effects = append(out.Effects, e.Key())
	}
	return out
}
