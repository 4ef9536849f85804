package tx

import "strings"

// Kind is what the manager must know of calls whose keys begin with the same word. A key is
// KIND:SUBJECT and whatever else tells calls apart; the subject is what they are about, such as a slot.
type Kind struct {
	// Duty: collateral is lost when one comes too late. Duties are sent first, and a part of the
	// places is kept for them.
	Duty bool
	// AtOnce: a success counts from its first block on, whatever confirmations are configured.
	AtOnce bool
	// Hopeless says that a call which its contract refuses for this reason will not succeed
	// later either. If it is set, the contract is asked before one is sent again.
	Hopeless func(refusal error) bool
}

func kindOf(base string) string {
	kind, _, _ := strings.Cut(base, ":")
	return kind
}

// subjectOf is what a key is about, empty when it names nothing.
func subjectOf(base string) string {
	_, rest, _ := strings.Cut(base, ":")
	subject, _, _ := strings.Cut(rest, ":")
	return subject
}
