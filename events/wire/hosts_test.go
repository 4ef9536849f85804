package wire_test

import (
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/wire"
)

func TestAHostWritesTheStreamsOfItsAccountAndNobodyElses(t *testing.T) {
	s := serveTLS(t, nil)
	own, other, slot := events.Address{1}, events.Address{2}, events.SlotID{3} // The user "host" is the first.
	const (
		yes     = esdb.ErrorCode(-1)
		no      = esdb.ErrorCodeAccessDenied
		missing = esdb.ErrorCodeResourceNotFound
	)
	queue, snapshots := events.SlotQueueStream(own), events.SnapshotStream(events.SlotQueueStream(own))
	market := events.MarketStream(1, other)
	for _, c := range []struct {
		stream        string
		read, appends esdb.ErrorCode
		metadata      esdb.ErrorCode
	}{
		{events.SaleStream(own, slot), yes, yes, no},
		{events.HostStream(own), yes, yes, no},
		{events.CapacityStream(own), yes, yes, no},
		{events.LedgerStream(own, "north-2"), yes, yes, no},
		{events.SnapshotStream(events.LedgerStream(own, "north-2")), yes, yes, yes},
		{events.LedgerStream(other, "north-2"), no, no, no},
		{events.ProofsStream(own, "north-2"), yes, yes, yes},
		{events.ProofsStream(other, "north-2"), no, no, no},
		{"proofs-" + own.String(), no, no, no},
		{events.CapacityStream(own) + "-North", no, no, no},
		{events.TxStream(own), yes, yes, no},
		{events.ValidatorStream(own), yes, yes, no},
		{queue, yes, yes, yes},
		{snapshots, yes, yes, yes},
		{events.SnapshotStream(events.HostStream(own)), yes, yes, yes},
		{market, yes, yes, no},
		{events.SaleStream(other, slot), no, no, no},
		{events.HostStream(other), no, no, no},
		{events.SlotQueueStream(other), no, no, no},
		{events.SnapshotStream(events.SlotQueueStream(other)), no, no, no},
		{events.SaleStream(own, slot) + "-more", no, no, no},
		{"sale-" + own.String(), no, no, no},
		{"sale-" + strings.ToUpper(own.String()) + "-" + slot.String(), no, no, no},
		{events.HostStream(own) + "0", no, no, no},
		{"orders-" + own.String(), no, no, no},
		{"$own-1", no, no, no},
		{"$users", no, no, no},
		{"$ce-sale", yes, no, no},
		{"$streams", yes, no, no},
	} {
		t.Run(c.stream, func(t *testing.T) {
			client := s.client(t, "host")
			_, err := client.AppendToStream(soon(t), c.stream, esdb.AppendToStreamOptions{}, event("x", "{}"))
			if got := codeOf(err); got != c.appends {
				t.Errorf("append: code %d, want %d (%v)", got, c.appends, err)
			}
			_, err = client.AppendToStream(soon(t), "$$"+c.stream, esdb.AppendToStreamOptions{},
				event(events.TypeMetadata, `{"$tb":0}`))
			if got := codeOf(err); got != c.metadata {
				t.Errorf("set metadata: code %d, want %d (%v)", got, c.metadata, err)
			}
			_, err = readAll(client.ReadStream(soon(t), c.stream, esdb.ReadStreamOptions{}, 1))
			if got := codeOf(err); got != c.read {
				t.Errorf("read: code %d, want %d (%v)", got, c.read, err)
			}
			_, err = readAll(client.ReadStream(soon(t), "$$"+c.stream, esdb.ReadStreamOptions{}, 1))
			if got := codeOf(err); got != c.read && (got != missing || c.read == no) {
				t.Errorf("read metadata: code %d, want %d (%v)", got, c.read, err)
			}
			_, err = client.DeleteStream(soon(t), c.stream, esdb.DeleteStreamOptions{})
			if got := codeOf(err); got != no {
				t.Errorf("delete: code %d, want %d (%v)", got, no, err)
			}
			_, err = client.TombstoneStream(soon(t), c.stream, esdb.TombstoneStreamOptions{})
			if got := codeOf(err); got != no {
				t.Errorf("tombstone: code %d, want %d (%v)", got, no, err)
			}
		})
	}
}

func TestAHostIsToldWhyItMayNot(t *testing.T) {
	s := serveTLS(t, func(cfg *wire.Config) { cfg.Guarded = []string{"market"} })
	c, own, other := s.client(t, "host"), events.Address{1}, events.Address{2}
	to := func(stream string) error {
		_, err := c.AppendToStream(soon(t), stream, esdb.AppendToStreamOptions{}, event("x", "{}"))
		return err
	}
	_, deleted := c.DeleteStream(soon(t), events.HostStream(own), esdb.DeleteStreamOptions{})
	for want, err := range map[string]error{
		"the host with the account " + own.String(): to(events.HostStream(other)),
		"hosts delete nothing":                      deleted,
		"an audit rests on all of it":               to("$$" + events.HostStream(own)),
		"read-only over the wire":                   to(events.MarketStream(1, own)),
	} {
		wantCode(t, err, esdb.ErrorCodeAccessDenied)
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it was told %q, want %q", err, want)
		}
	}
}

func TestAHostSeesNoOtherHostInTheLogAndTheIndexes(t *testing.T) {
	s := serveTLS(t, nil)
	own, other, slot := events.Address{1}, events.Address{2}, events.SlotID{3}
	mine, theirs := events.SaleStream(own, slot), events.SaleStream(other, slot)
	put(t, s, theirs, "x", `{"n":1}`)
	put(t, s, mine, "x", `{"n":2}`)
	put(t, s, "$$"+theirs, events.TypeMetadata, `{}`)
	put(t, s, events.MarketStream(1, other), events.TypeLink, "0@"+theirs) // A client links to it.
	c := s.client(t, "host")
	log, err := readAll(c.ReadAll(soon(t), esdb.ReadAllOptions{}, 100))
	if err != nil {
		t.Fatal(err)
	}
	category, err := readAll(c.ReadStream(soon(t), "$ce-sale", esdb.ReadStreamOptions{ResolveLinkTos: true}, 100))
	if err != nil {
		t.Fatal(err)
	}
	links, err := readAll(c.ReadStream(soon(t), events.MarketStream(1, other), esdb.ReadStreamOptions{ResolveLinkTos: true}, 9))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range append(append(log, category...), links...) {
		if e.Event != nil {
			seen[e.Event.StreamID]++
		}
	}
	if seen[mine] != 2 || seen[theirs] != 0 || seen["$$"+theirs] != 0 {
		t.Errorf("it sees %v, want its own in the log and the index, and nobody else's", seen)
	}
	sub := followAll(t, c, esdb.SubscribeToAllOptions{From: esdb.Start{}})
	put(t, s, theirs, "x", `{"n":3}`)
	put(t, s, mine, "x", `{"n":4}`)
	for e := sub.next(); e != "1@"+mine; e = sub.next() {
		if strings.HasSuffix(e, theirs) {
			t.Errorf("a subscription shows %s", e)
		}
	}
}
