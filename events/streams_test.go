package events

import (
	"errors"
	"strings"
	"testing"
)

func TestTheNameOfALedgerSaysWhoseItIs(t *testing.T) {
	host := Address{1}
	for _, member := range []Member{"", "north", "north-2", "2"} {
		stream := LedgerStream(host, member)
		if of, named, err := ParseLedgerStream(stream); err != nil || of != host || named != member {
			t.Errorf("%s is of member %q of %s: %v", stream, named, of, err)
		}
		if Category(stream) != CategoryCapacity || !strings.HasPrefix(stream, CapacityStream(host)) {
			t.Errorf("the ledger of %q is %s", member, stream)
		}
	}
	for _, stream := range []string{
		"", "capacity", "capacity-", "capacity-0x01", CapacityStream(host) + "-", CapacityStream(host) + "-North",
		CapacityStream(host) + "--1", SlotQueueStream(host), "capacity-" + host.String() + "0",
	} {
		if of, named, err := ParseLedgerStream(stream); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q is of member %q of %s: %v", stream, named, of, err)
		}
	}
}

func TestTheNameOfAStreamSaysWhoseItIs(t *testing.T) {
	host := Address{0xab}
	owned := []string{
		HostStream(host), CapacityStream(host), LedgerStream(host, "north"), SlotQueueStream(host), TxStream(host),
		ValidatorStream(host), SaleStream(host, SlotID{1}), SectorStream(host, 7), ProofsStream(host, "north"),
	}
	for _, stream := range owned {
		for _, one := range []string{stream, SnapshotStream(stream)} {
			if owner, ours := StreamOwner(one); !ours || owner != host || !IsCategory(Category(stream)) {
				t.Errorf("%s is of %s (%t)", one, owner, ours)
			}
		}
	}
	if owner, ours := StreamOwner(MarketStream(1337, host)); !ours || !owner.Zero() {
		t.Errorf("a market is of %s (%t)", owner, ours)
	}
	for _, stream := range append(owned, MarketStream(1337, host)) {
		for _, foreign := range []string{
			"$" + stream, "my" + stream, strings.Replace(stream, "0xab", "0xAB", 1), stream + "_", stream + "\x00",
		} {
			if owner, ours := StreamOwner(foreign); ours {
				t.Errorf("%q is of %s", foreign, owner)
			}
		}
	}
	for _, foreign := range []string{"", "-", "host-nobody", "market-1337-0xzz", "market-01337-" + host.String(), "proofs-x"} {
		if owner, ours := StreamOwner(foreign); ours {
			t.Errorf("%q is of %s", foreign, owner)
		}
		if !InRecord(foreign) {
			t.Errorf("%q is not copied", foreign)
		}
	}
}
