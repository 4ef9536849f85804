package downtime

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
)

// maxTried is the most verdicts of a trial, those that change nothing as well: some ten seconds.
const maxTried = 1_000_000

// fact is something that was so, whatever the rules: a node joined or left, was audited, was not watched; or a person
// decided. The time of the command is when it is known.
type fact struct {
	node    events.Node
	command Command
}

// Try returns the events of nodes as they would be under other rules, with a WindowClosed or a WindowRevised for each
// audit. The recorded ones are in the order of each stream. The chore runs at the end of each window, until the time.
// Everything is known in its own time, however late it was recorded: an audit at the end of its window, a void time
// when it begins. The guard decides anew. What persons decided stays, and audits that the rules would have refused are
// left out. ErrRules also if there is too much to be judged.
func Try(rules Service, record map[events.Node][]Event, until time.Time) (map[events.Node][]Event, error) {
	if err := rules.Check(); err != nil {
		return nil, err
	}
	facts, fleet, out := rules.facts(record), Fleet{}, map[events.Node][]Event{}
	if len(facts) == 0 {
		return out, nil
	}
	at := rules.StartOf(facts[0].command.command()).Add(rules.WindowLength)
	if runs := int64(until.Sub(at) / rules.WindowLength); runs*int64(len(record)) > maxTried {
		return nil, fmt.Errorf("%w: %d nodes would be judged %d times, and a trial judges at most %d times in all; "+
			"try longer windows, or an earlier end", ErrRules, len(record), runs, maxTried)
	}
	do := func(node events.Node, c Command) {
		all, _ := Decide(fleet[node], c) // An error is of what these rules refuse.
		for _, e := range all {
			fleet[node] = Evolve(fleet[node], e)
		}
		out[node] = append(out[node], all...)
	}
	for ; !at.After(until); at = at.Add(rules.WindowLength) {
		for ; len(facts) > 0 && !facts[0].command.command().After(at); facts = facts[1:] {
			node, s := facts[0].node, fleet[facts[0].node]
			force, _ := facts[0].command.(Force)
			void, slept := facts[0].command.(Void)
			switch {
			case slept:
				fleet[node] = s.void(void).cleanup(void.At)
			case force.To != Exited:
				do(node, facts[0].command)
			case s.Judged(): // It left, even if these rules had refused it; who was disqualified stays so.
				delete(fleet, node)
			}
		}
		runs, err := rules.Chore(fleet, at)
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			for _, c := range run.Commands {
				do(run.Node, c)
			}
		}
	}
	return out, nil
}

// facts are those of a record, in the order in which they are known.
func (r Service) facts(record map[events.Node][]Event) (all []fact) {
	for _, node := range slices.Sorted(maps.Keys(record)) {
		for _, e := range record[node] {
			switch c := Asked(e).(type) {
			case Join:
				all = append(all, fact{node, Join{c.At, r}})
			case Write:
				for _, a := range c.Audits {
					all = append(all, fact{node, Write{r.StartOf(a.Time).Add(r.WindowLength), []Audit{a}}})
				}
			case Void:
				if c.At = c.From; !c.All {
					all = append(all, fact{node, c})
				}
			case Force:
				all = append(all, fact{node, c})
			case Judge, Maintain:
			}
		}
	}
	slices.SortStableFunc(all, func(a, b fact) int { return a.command.command().Compare(b.command.command()) })
	return all
}
