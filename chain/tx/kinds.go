package tx

import (
	"errors"
	"slices"
	"strings"
)

// Kind is what the manager must know of calls whose keys begin with the same word. A key is
// KIND:SUBJECT, followed by whatever else tells calls apart; the subject is what they are about,
// such as a slot.
type Kind struct {
	// Duty: a late call costs collateral. Duties are sent first, and some of the transactions in
	// flight are reserved for them.
	Duty bool
	// AtOnce: a success counts from its first block on, whatever confirmations are configured.
	AtOnce bool
	// Permanent says that a call which its contract refuses for this reason will never succeed. If
	// it is set, the contract is asked before a call is sent again.
	Permanent func(refusal error) bool
}

// AnyOf is a Kind.Permanent for refusals with any of these reasons.
func AnyOf(reasons ...error) func(refusal error) bool {
	return func(refusal error) bool {
		return slices.ContainsFunc(reasons, func(reason error) bool { return errors.Is(refusal, reason) })
	}
}

func kindOf(base string) string {
	kind, _, _ := strings.Cut(base, ":")
	return kind
}

// subjectOf is the subject of a key; empty: none.
func subjectOf(base string) string {
	_, rest, _ := strings.Cut(base, ":")
	subject, _, _ := strings.Cut(rest, ":")
	return subject
}
