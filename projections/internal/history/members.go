package history

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// hostMembers are the members of a host, and which of them writes what is written once per host.
type hostMembers struct {
	starts     uint64        // of all members
	hostLedger events.Member // the member that has the host's own ledger
	resting    map[events.Member]restingMember
	term       uint64
	owner      uint64 // the epoch that has the term
}

// restingMember is a member that does not write now.
type restingMember struct {
	ledger capacity.State
	epoch  uint64
}

// As lets another member of the host write from now on; it has to Start once.
func (w *Writer) As(member events.Member) {
	if w.resting == nil {
		w.resting = map[events.Member]restingMember{}
	}
	w.resting[w.Member] = restingMember{w.Ledger, w.Epoch}
	of, known := w.resting[member]
	if !known {
		of.ledger = capacity.New()
	}
	w.Member, w.Ledger, w.Epoch = member, of.ledger, of.epoch
}

// Become makes the host of one process the first member of a host of several, which keeps its ledger.
func (w *Writer) Become(member events.Member) { w.Member, w.hostLedger = member, member }

func (w *Writer) hasHostLedger() bool { return w.Member != "" && w.Member == w.hostLedger }

// LedgerStream is the ledger of the member that writes.
func (w *Writer) LedgerStream() string {
	if w.hasHostLedger() {
		return events.CapacityStream(w.Me)
	}
	return events.LedgerStream(w.Me, w.Member)
}

// TakeTerm makes the member that writes the owner of what is written once per host.
func (w *Writer) TakeTerm() {
	w.T.Helper()
	w.term++
	w.owner = w.Epoch
	w.Append(events.HostStream(w.Me), "", &messages.TermTaken{
		At: events.TimeToMessage(w.Now), Epoch: w.Epoch, Term: w.term, Member: string(w.Member),
	})
}

// EndTerm gives the term back.
func (w *Writer) EndTerm() {
	w.T.Helper()
	w.Append(events.HostStream(w.Me), "", &messages.TermEnded{
		At: events.TimeToMessage(w.Now), Epoch: w.Epoch, Term: w.term,
	})
}

// writes is the epoch that writes to a stream.
func (w *Writer) writes(stream string) uint64 {
	switch events.Category(stream) {
	case events.CategorySlotQueue, events.CategoryTx, events.CategoryMarket, events.CategoryValidator:
		if w.Member != "" {
			return w.owner
		}
	}
	return w.Epoch
}

// HandOut gives the slot of a request that Enqueue has taken to the member that writes.
func (w *Writer) HandOut(r events.Request) {
	w.T.Helper()
	collateral := events.NewAmount(131072)
	w.AskQueue(slotqueue.HandOut{
		At: w.Now, RequestID: r.ID, SlotIndex: 1, Member: w.Member, Collateral: collateral, Balance: events.MaxAmount(),
	})
}

// offerID is the id of a member's availability.
func (w *Writer) offerID() events.AvailabilityID {
	id := events.AvailabilityID{0xa1}
	copy(id[1:], w.Member)
	return id
}

// Members is a host of one process that becomes the first of two members, north and south: they sell at the same
// time, the term changes hands, and north stops and starts again. North sells for requests 1, 3 and 5, south for 2
// and 4; in the end 4 and 5 are hosted, and a slot of 6 is handed out to south.
func (w *Writer) Members() {
	w.T.Helper()
	const north, south = events.Member("north"), events.Member("south")
	w.Start()
	w.Offer(4)
	w.Life(1, 1)
	w.Stop()
	w.Become(north)
	w.Start()
	w.TakeTerm()
	w.As(south)
	w.Start()
	w.Offer(4)
	slots := map[uint64]events.SlotID{}
	sell := func(member events.Member, n uint64) {
		r := w.Request(n)
		w.Enqueue(r)
		w.As(member)
		w.HandOut(r)
		slots[n] = w.Begin(r)
		w.Fill(slots[n])
		w.Dequeue(r, "filled")
	}
	sell(south, 2)
	sell(north, 3)
	w.Heartbeat()
	w.As(south)
	w.Heartbeat()
	w.Prove(slots[2], 1)
	w.As(north)
	w.EndTerm()
	w.As(south)
	w.TakeTerm()
	sell(south, 4)
	w.As(north)
	w.Finish(slots[3], 131072)
	w.TakeTerm() // It did not hear of south for a while.
	w.Stop()
	w.Start()
	w.As(south)
	w.TakeTerm()
	w.Finish(slots[2], 131072)
	sell(north, 5)
	last := w.Request(6)
	w.Enqueue(last)
	w.As(south)
	w.HandOut(last)
}

// Heartbeat is a sign of life of the process that writes.
func (w *Writer) Heartbeat() {
	w.T.Helper()
	w.Append(events.HostStream(w.Me), "", &messages.HostHeartbeat{At: events.TimeToMessage(w.Now), Epoch: w.Epoch})
}
