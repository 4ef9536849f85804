// Package catalog lists the machines with a view and a judge of their own (projections/machine). Views and audits take
// from here what there is; such a machine is added by a line.
package catalog

import (
	"slices"

	"github.com/hostnode/hostnode/projections/aggregation"
	"github.com/hostnode/hostnode/projections/alert"
	"github.com/hostnode/hostnode/projections/downtime"
	"github.com/hostnode/hostnode/projections/machine"
)

// Machines returns them. The slice must not be changed.
func Machines() []machine.Machine { return machines }

var machines = append([]machine.Machine{downtime.Machine(), alert.Machine()}, aggregation.Machines()...)

// Of returns the machine of a category; false: it has no view of its own.
func Of(category string) (m machine.Machine, known bool) {
	i := slices.IndexFunc(machines, func(m machine.Machine) bool { return m.Category == category })
	if i < 0 {
		return m, false
	}
	return machines[i], true
}
