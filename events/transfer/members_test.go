package transfer_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transfer"
)

func TestTheLedgersOfAllMembersAreCopied(t *testing.T) {
	from := storetest.NewMemory()
	host := events.Address{1}
	want := []string{
		events.CapacityStream(host), events.LedgerStream(host, "north"), events.LedgerStream(host, "south"),
		events.HostStream(host),
	}
	snapshots := events.SnapshotStream(events.LedgerStream(host, "north"))
	for i, stream := range append([]string{snapshots}, want...) {
		e := events.NewEvent{ID: events.EventID{byte(i + 1)}, Type: "A", Data: []byte("{}")}
		if err := put(t.Context(), from, stream, e); err != nil {
			t.Fatal(err)
		}
	}
	file := bytes.NewReader(mustExport(t, from))
	copied, imported := storetest.NewMemory(), storetest.NewMemory()
	mustCopy(t, from, copied, transfer.Options{})
	if _, err := transfer.Import(t.Context(), file, imported, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]events.Store{"copy": copied, "import": imported} {
		digest, err := transfer.DigestOf(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range digest.Streams {
			got = append(got, s.Stream)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("streams of the %s (-want +got):\n%s", name, diff)
		}
	}
}
