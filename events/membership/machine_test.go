package membership_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
)

func TestAHostsStreamSaysWhatIsLeftAloneAndOnWhichMarket(t *testing.T) {
	at := timestamppb.New(events.Unix(7))
	fold := membership.Machine().New()
	for _, e := range []messages.HostEvent{
		&messages.HostStarted{At: at, Epoch: 1, ChainId: 1, Genesis: "0x01", Contract: "0x02"},
		&messages.WorkQuarantined{At: at, Epoch: 1, Kind: "market", Key: "17", Reason: "panic"},
		&messages.WorkQuarantined{At: at, Epoch: 1, Kind: "slot", Key: "0x03", Reason: "panic"},
		&messages.WorkQuarantined{At: at, Epoch: 1, Kind: "market", Key: "17", Reason: "panic again"},
		&messages.QuarantineEnded{At: at, Epoch: 1, Kind: "slot", Key: "0x03"},
		&messages.HostStarted{At: at, Epoch: 2, ChainId: 5, Genesis: "0x04", Contract: "0x05"},
	} {
		if !fold.Fold(e) {
			t.Fatalf("%T is no event of a host", e)
		}
	}
	if fold.Fold(&messages.BlocksScanned{}) {
		t.Error("an event of a market is one of a host")
	}
	got := fold.State().(membership.Host)
	got.State = membership.State{}
	want := membership.Host{ChainID: 5, Genesis: "0x04", Contract: "0x05", Quarantined: []membership.Quarantined{
		{Kind: "market", Key: "17", Reason: "panic again", Since: events.Unix(7)},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
