package catalog_test

import (
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

func TestTheNameOfAStreamSaysWhoseItIs(t *testing.T) {
	streams := catalog.Streams()
	host := events.Address{0xab}
	owned := []string{
		events.HostStream(host), events.CapacityStream(host), events.LedgerStream(host, "north"), events.SlotQueueStream(host), events.TxStream(host),
		events.ValidatorStream(host), events.SaleStream(host, events.SlotID{1}), events.SectorStream(host, 7), events.ProofsStream(host, "north"),
		events.NodeStream(host, "north"), events.NodeStream(host, events.Node(events.Address{0xcd}.String())),
	}
	for _, stream := range owned {
		for _, one := range []string{stream, events.SnapshotStream(stream)} {
			if owner, ours := streams.Owner(one); !ours || owner != host || !streams.Has(events.Category(stream)) {
				t.Errorf("%s is of %s (%t)", one, owner, ours)
			}
		}
	}
	if owner, ours := streams.Owner(events.MarketStream(1337, host)); !ours || !owner.Zero() {
		t.Errorf("a market is of %s (%t)", owner, ours)
	}
	for _, stream := range append(owned, events.MarketStream(1337, host)) {
		for _, foreign := range []string{
			"$" + stream, "my" + stream, strings.Replace(stream, "0xab", "0xAB", 1), stream + "_", stream + "\x00",
		} {
			if owner, ours := streams.Owner(foreign); ours {
				t.Errorf("%q is of %s", foreign, owner)
			}
		}
	}
	for _, foreign := range []string{"", "-", "host-nobody", "market-1337-0xzz", "market-01337-" + host.String(), "proofs-x"} {
		if owner, ours := streams.Owner(foreign); ours {
			t.Errorf("%q is of %s", foreign, owner)
		}
		if !streams.InRecord(foreign) {
			t.Errorf("%q is not copied", foreign)
		}
	}
}

func TestOnlyTheQueueMayLoseItsPast(t *testing.T) {
	streams := catalog.Streams()
	host := events.Address{1}
	for _, stream := range []string{
		events.HostStream(host), events.MarketStream(1, host), events.CapacityStream(host), events.LedgerStream(host, "slotqueue"), events.SaleStream(host, events.SlotID{}), events.TxStream(host),
		events.SnapshotStream(events.SlotQueueStream(host)), events.MetadataStream(events.SlotQueueStream(host)), "sector-1", "",
	} {
		if streams.MayTruncate(stream) {
			t.Errorf("%q may be truncated", stream)
		}
	}
	if !streams.MayTruncate(events.SlotQueueStream(host)) {
		t.Error("the queue may not be truncated")
	}
}
