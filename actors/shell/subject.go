package shell

import (
	"errors"
	"fmt"
	"strings"
)

// SubjectKind is a kind of work that can be quarantined. The names are stored.
type SubjectKind string

// The kinds of work.
const (
	// SubjectSale is a sale that cannot be run; the key is its slot.
	SubjectSale SubjectKind = "sale"
	// SubjectMarket is an event of the market that the queue cannot judge; the key is its
	// revision in the market's stream, from 1.
	SubjectMarket SubjectKind = "market"
	// SubjectLedger is a command that the ledger cannot decide; the key is its cause.
	SubjectLedger SubjectKind = "ledger"
	// SubjectDuties is the computing of what a slot owes; the key is the slot.
	SubjectDuties SubjectKind = "duties"
	// SubjectSlot is a slot on offer that cannot be looked at; the key is the slot.
	SubjectSlot SubjectKind = "slot"
	// SubjectSector is a sector that cannot be run; the key is its number.
	SubjectSector SubjectKind = "sector"
)

// Subject is a piece of work that can be quarantined by itself.
type Subject struct {
	Kind SubjectKind
	Key  string
}

func (s Subject) String() string { return string(s.Kind) + ":" + s.Key }

// ErrNotQuarantined: no such piece of work is quarantined.
var ErrNotQuarantined = errors.New("that is not quarantined")

// ParseSubject parses what String returned.
func ParseSubject(text string) (Subject, error) {
	kind, key, ok := strings.Cut(text, ":")
	if !ok || key == "" {
		return Subject{}, fmt.Errorf("%w: %.100q", ErrNotQuarantined, text)
	}
	return Subject{SubjectKind(kind), key}, nil
}
