package replay_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

func TestAHostOfSeveralMembersHasTheNewestRunOfEach(t *testing.T) {
	at := func(second int) *timestamppb.Timestamp { return timestamppb.New(time.Unix(int64(second), 0)) }
	start := func(epoch uint64, member string) *messages.HostStarted {
		return &messages.HostStarted{
			At: at(int(epoch)), Epoch: epoch, ChainId: 1, Genesis: events.Hash{1}.String(),
			Contract: events.Address{2}.String(), Member: member,
		}
	}
	for _, stream := range []struct {
		name string
		list []messages.HostEvent
		want []string
	}{
		{"members", []messages.HostEvent{
			start(1, ""), start(2, "north"), start(3, "south"), &messages.TermTaken{At: at(4), Epoch: 3, Term: 1, Member: "south"},
			&messages.HostHeartbeat{At: at(9), Epoch: 2}, &messages.HostStopped{At: at(10), Epoch: 3},
		}, []string{"north 2  1970-01-01T00:00:09Z", "south 3 true 1970-01-01T00:00:10Z"}},
		{"none any more", []messages.HostEvent{start(1, "north"), start(2, "south"), start(3, "")}, nil},
	} {
		t.Run(stream.name, func(t *testing.T) {
			s := storetest.NewMemory()
			for i, e := range stream.list {
				name, version, data, err := catalog.Codec().Encode(e)
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.Append(t.Context(), events.HostStream(me), events.ExpectNext(uint64(i)), []events.NewEvent{{
					ID: events.EventID{byte(i + 1)}, Type: name, Data: data, Meta: events.Metadata{Version: version},
				}})
				if err != nil {
					t.Fatal(err)
				}
			}
			r, err := replay.Stream(t.Context(), s, events.HostStream(me), nil, false)
			if err != nil || r.Unread > 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			var got []string
			for _, l := range r.State.Lists {
				for _, row := range l.Rows {
					got = append(got, row.Get("member")+" "+row.Get("epoch")+" "+row.Get("stopped")+" "+row.Get("heardAt"))
				}
			}
			if diff := cmp.Diff(stream.want, got); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if owner := r.State.Facts.Get("owner"); (owner == "south") != (stream.want != nil) {
				t.Errorf("the owner is %q", owner)
			}
		})
	}
}
