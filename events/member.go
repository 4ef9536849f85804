package events

import (
	"errors"
	"fmt"
	"regexp"
)

// ErrMemberAway: a member of the host does not answer. What it was asked may have been heard.
var ErrMemberAway = errors.New("member does not answer")

// ErrNoOwner: no member of the host has the term now, so nobody sends transactions. It is temporary.
var ErrNoOwner = errors.New("no member of the host sends transactions now")

// Member is the name of one of the processes that together are a host; empty: the host is one
// process. A name stays, whichever process has it.
type Member string

var memberName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// ParseMember checks the name of a member: up to 40 lower-case letters, digits and dashes, and no
// dash at the beginning. ErrMalformed.
func ParseMember(s string) (Member, error) {
	if !memberName.MatchString(s) {
		return "", fmt.Errorf("%w: %q is no name of a member: up to 40 lower-case letters, digits and dashes, "+
			"beginning with a letter or a digit", ErrMalformed, clip(s))
	}
	return Member(s), nil
}

// Node names a host that is watched: a member of ours, or the address of any host of the market, in small letters.
type Node string

// ParseNode reads the name of a member, or an address. ErrMalformed.
func ParseNode(s string) (Node, error) {
	if member, err := ParseMember(s); err == nil {
		return Node(member), nil
	}
	address, err := ParseAddress(s)
	if err != nil {
		return "", fmt.Errorf("%w: %q is neither a member's name nor an address", ErrMalformed, clip(s))
	}
	return Node(address.String()), nil
}

// MemberError is the error with which a member answered another one.
type MemberError struct {
	Member Member
	Text   string
}

func (e *MemberError) Error() string { return fmt.Sprintf("member %s: %s", e.Member, e.Text) }
