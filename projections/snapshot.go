package projections

import (
	"encoding/json"
	"fmt"

	"github.com/hostnode/hostnode/events"
	views "github.com/hostnode/hostnode/projections/catalog"
)

// eachHost is a view that is made for one host, of all.
func eachHost[T any](v *Views, view func(events.Address) T) map[string]T {
	all := map[string]T{}
	for address := range v.hosts {
		all[address] = view(events.Must(events.ParseAddress(address)))
	}
	return all
}

// Snapshot is all views at one position, printed, for comparison.
type Snapshot struct {
	AsOf   events.Position
	Scope  Scope
	Tables []PrintedTable
}

// PrintedTable is one view as JSON.
type PrintedTable struct {
	Name string
	JSON json.RawMessage
}

// Snapshot prints all views as of one position, in a fixed order.
func (v *Views) Snapshot() (Snapshot, error) {
	out := Snapshot{AsOf: v.asOf, Scope: v.scope}
	type table struct {
		name string
		view any
	}
	tables := []table{
		{"ledgers", v.Ledgers()},
		{"reservations", v.Reservations()},
		{"sales", v.Sales()},
		{"proofs", v.Proofs()},
		{"queues", v.Queues()},
		{"transactions", v.Transactions()},
		{"earnings", v.Earnings()},
		{"income", eachHost(v, v.Income)},
		{"periods", eachHost(v, v.Periods)},
		{"hosts", v.Hosts()},
		{"validators", v.Validators()},
		{"sectors", v.Sectors()},
	}
	for _, m := range views.Machines() {
		rows, _ := v.Of(m.Category)
		tables = append(tables, table{m.Category, rows})
	}
	for _, t := range tables {
		printed, err := json.Marshal(t.view)
		if err != nil {
			return Snapshot{}, fmt.Errorf("print view %s: %w", t.name, err)
		}
		out.Tables = append(out.Tables, PrintedTable{t.name, printed})
	}
	return out, nil
}

// Snapshot prints all views as of one position.
func (p *Projector) Snapshot() (Snapshot, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.views.Snapshot()
}
