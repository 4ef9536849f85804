package node

import (
	"context"
	"errors"
	"testing"

	"github.com/hostnode/hostnode/actors/outage"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// fakeDisk has the data of some slots, or cannot be read.
type fakeDisk struct {
	slots []events.SlotID
	err   error
}

func (d fakeDisk) Stored(context.Context) (all []events.StoredSlot, err error) {
	for _, s := range d.slots {
		all = append(all, events.StoredSlot{Slot: s})
	}
	return all, d.err
}

// fakeOwned is a market with the slots 1 to 3 of the account. It refuses to send.
type fakeOwned struct{ outage.Market }

func (fakeOwned) MySlots(context.Context) (all []events.OwnedSlot, err error) {
	for n := range 3 {
		all = append(all, events.OwnedSlot{Slot: events.SlotID{byte(n + 1)}})
	}
	return all, nil
}

func (fakeOwned) SubmitProof(
	context.Context, events.SlotCall, uint64, events.Proof,
) (events.Receipt, error) {
	return events.Receipt{}, events.ErrNotOwner
}

// fakeBeside sends beside the owner.
type fakeBeside struct{ port.Account }

func (fakeBeside) SubmitProof(
	context.Context, events.SlotCall, uint64, events.Proof,
) (events.Receipt, error) {
	return events.Receipt{GasUsed: 1}, nil
}

func (fakeBeside) TakenProofs(context.Context, events.SlotID, uint64) ([]events.TakenProof, error) {
	return []events.TakenProof{{Period: 7}}, nil
}

func TestAMemberThatKnowsOnlyItsDiskProvesWhatIsOnIt(t *testing.T) {
	d := onDisk{fakeOwned{}, fakeBeside{}, fakeDisk{slots: []events.SlotID{{2}, {9}}}}
	owned, err := d.MySlots(t.Context())
	if err != nil || len(owned) != 1 || owned[0].Slot != (events.SlotID{2}) {
		t.Errorf("it proves %v, %v", owned, err)
	}
	if sent, err := d.SubmitProof(t.Context(), events.SlotCall{}, 7, events.Proof{}); err != nil || sent.GasUsed != 1 {
		t.Errorf("sent: %+v, %v", sent, err)
	}
	if taken, err := d.TakenProofs(t.Context(), events.SlotID{2}, 1); err != nil || len(taken) != 1 {
		t.Errorf("taken: %+v, %v", taken, err)
	}
	unreadable := errors.New("the disk cannot be read")
	if _, err := (onDisk{fakeOwned{}, fakeBeside{}, fakeDisk{err: unreadable}}).MySlots(t.Context()); !errors.Is(err, unreadable) {
		t.Errorf("%v", err)
	}
}

// A member without the key can prove nothing.
func TestAMemberWithoutTheKeyWaitsForTheRecord(t *testing.T) {
	for transactions, began := range map[bool]bool{false: false, true: true} {
		p := waiting(t)
		p.config.Cluster.Name, p.config.Cluster.Member, p.config.Account.Transactions = "home", "north", transactions
		p.startProving(t.Context())
		if (p.proving != nil) != began {
			t.Errorf("with account.transactions: %t, it proves: %t", transactions, p.proving != nil)
		}
		p.stopProving()
	}
}
