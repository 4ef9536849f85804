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

func TestTheNameOfANodesStreamSaysWhichNodeItIs(t *testing.T) {
	host, address := Address{1}, Address{0xcd}
	for _, node := range []Node{"north", "north-2", "0xab", Node(address.String())} {
		stream := NodeStream(host, node)
		if of, named, err := ParseNodeStream(stream); err != nil || of != host || named != node {
			t.Errorf("%s is of node %q of %s: %v", stream, named, of, err)
		}
	}
	for _, stream := range []string{
		"", "node", NodeStream(host, ""), NodeStream(host, "North"), NodeStream(host, "0x"+Node(strings.Repeat("g", 40))),
		"node-0x01-north", LedgerStream(host, "north"),
	} {
		if of, named, err := ParseNodeStream(stream); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q is of node %q of %s: %v", stream, named, of, err)
		}
	}
	if node, err := ParseNode("0xCD" + strings.Repeat("0", 38)); err != nil || node != Node(address.String()) {
		t.Errorf("in another spelling it is %q: %v", node, err)
	}
}
