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
