package port

import (
	"context"

	"github.com/hostnode/hostnode/events"
)

// Cluster joins the members of one host. A host of one process has none.
//
// It only says who seems to be alive, and carries questions. Who may do what is in the record.
type Cluster interface {
	// Member is the name of this member.
	Member() events.Member
	// Campaign waits until this member holds the lease, which says that nobody else seems to run
	// what runs once per host. The context that it returns ends when the lease is lost or given
	// back; Campaign may be called again then. It fails only when ctx ends.
	Campaign(ctx context.Context) (held context.Context, err error)
	// Resign gives the lease back, so that another member need not wait until it expires.
	Resign(ctx context.Context) error
	// Seen are the members that seem to be alive, this one included, in the order of their names.
	Seen() []events.Member
	// Call asks a member and waits for the answer. A question may arrive twice, and after the
	// caller has given up. ErrMemberAway: there was no answer, and it is not known whether the
	// question was heard. *events.MemberError: the member answered with an error.
	Call(ctx context.Context, to events.Member, question []byte) (answer []byte, err error)
	// Serve sets who answers the questions of other members. Until then they get ErrMemberAway.
	// It is called once.
	Serve(answer func(ctx context.Context, from events.Member, question []byte) ([]byte, error))
}

// Account is the right to send an account's transactions, which one member of a host has at a time.
type Account interface {
	// Own takes it: what earlier owners sent is known when it returns. Until Disown, the market
	// sends. events.ErrAway while the record does not answer.
	Own(ctx context.Context) error
	// Disown gives it up. Calls under way end with events.ErrNotOwner.
	Disown() error
	// Lost is closed when another process sends the account's transactions, or when none can be
	// sent any more, since the last Own.
	Lost() <-chan struct{}
	// SubmitProof is Market.SubmitProof although another member may own the account: the owner does
	// not answer, and the proof is due. It is sent beside the owner, so both may take the same nonce.
	SubmitProof(ctx context.Context, call events.SlotCall, period uint64, proof events.Proof) (events.Receipt, error)
	// TakenProofs is Market.TakenProofs of what this process sent, whether or not it owns the account.
	TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error)
}
