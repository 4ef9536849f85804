package members

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/readyproofs"
	"github.com/hostnode/hostnode/events/storetest"
)

func readyOf(store events.Store, member events.Member) *ReadyProofs {
	b := &shell.Base{
		Store: store, Codec: catalog.Codec(), Clock: shelltest.Clock{}, Log: shelltest.QuietLog(),
		Me: events.Address{1}, Member: member, Epoch: 3, Yield: shelltest.NoYield,
	}
	b.StoreWatch = shell.NewStoreWatch(b.Clock, b.Log, shelltest.NoYield)
	return NewReadyProofs(b)
}

// readyProof is a proof of the member west for a period of a minute.
func readyProof(slot byte, period uint64) Ready {
	return Ready{
		Member: "west", Slot: events.SlotID{slot}, Period: period, Challenge: events.Challenge{slot},
		Deadline: events.Unix(60*period + 59), Proof: events.Proof{{slot}, {byte(period)}},
	}
}

func TestAProofIsLeftInTheEventStoreOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		west, north := readyOf(store, "west"), readyOf(store, "north")
		var want []Ready
		for _, slot := range []byte{1, 2, 1} { // The answer to the first one may be lost.
			if err := west.HandOver(t.Context(), readyProof(slot, 7)); err != nil {
				t.Fatal(err)
			}
			if slot == 2 {
				want = []Ready{readyProof(2, 7), readyProof(1, 7)}
			}
		}
		got, err := north.HandedOver(t.Context(), "west", events.Unix(0))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v; it was handed over (-want +got):\n%s", err, diff)
		}
		if other, err := north.HandedOver(t.Context(), "south", events.Unix(0)); err != nil || len(other) > 0 {
			t.Errorf("another member handed over %v, %v", other, err)
		}
		stream := events.ProofsStream(events.Address{1}, "west")
		last, found, err := events.Last(t.Context(), store, events.MetadataStream(stream))
		if err != nil || !found {
			t.Fatalf("its old proofs stay for ever: %v", err)
		}
		if meta, err := events.ParseStreamMetadata(last.Data); err != nil || meta.MaxCount != keptReady || last.Revision != 0 {
			t.Errorf("revision %d of the metadata: %+v, %v", last.Revision, meta, err)
		}
	})
}

func TestANewOwnerReadsBackToTheProofsThatAreTooOld(t *testing.T) {
	store := storetest.NewMemory()
	west := readyOf(store, "west")
	for _, r := range []Ready{readyProof(1, 5), readyProof(2, 5), readyProof(1, 6), readyProof(1, 7)} {
		if err := west.HandOver(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readyOf(store, "north").HandedOver(t.Context(), "west", events.Unix(6*60))
	if diff := cmp.Diff([]Ready{readyProof(1, 7), readyProof(1, 6)}, got); err != nil || diff != "" {
		t.Errorf("%v; read (-want +got):\n%s", err, diff)
	}
}

func TestWhatCannotBeReadIsLeftAlone(t *testing.T) {
	store := storetest.NewMemory()
	west, stream := readyOf(store, "west"), events.ProofsStream(events.Address{1}, "west")
	if err := west.HandOver(t.Context(), readyProof(1, 7)); err != nil {
		t.Fatal(err)
	}
	name, version, sound, err := catalog.Codec().Encode(readyproofs.Table()[0].Example)
	if err != nil {
		t.Fatal(err)
	}
	for i, poison := range []events.NewEvent{
		{Type: name, Data: []byte("{")},
		{Type: name, Data: []byte(`{"slotId":"0x01"}`)},
		{Type: name, Data: []byte(`{"slotId":"` + events.SlotID{}.String() + `","period":"7","challenge":"` +
			events.Challenge{}.String() + `","proof":"` + events.Proof{}.String() + `"}`)}, // Without a deadline.
		{Type: name, Data: sound, Meta: events.Metadata{Version: version + 1}},
		{Type: "ProofMaybe", Data: sound},
		{Type: "TermTaken", Data: []byte(`{"member":"west","term":"1","epoch":"1"}`)},
	} {
		poison.ID = events.NewEventID(stream, "poison", i)
		if _, err := store.Append(t.Context(), stream, events.Any(), []events.NewEvent{poison}); err != nil {
			t.Fatal(err)
		}
		e, _, err := events.Last(t.Context(), store, stream)
		if err != nil {
			t.Fatal(err)
		}
		if r, is, err := west.Read(e); is || !errors.Is(err, shell.ErrUnreadable) {
			t.Errorf("%s %s was read as %+v: %v", poison.Type, poison.Data, r, err)
		}
	}
	got, err := west.HandedOver(t.Context(), "west", events.Unix(0))
	if diff := cmp.Diff([]Ready{readyProof(1, 7)}, got); err != nil || diff != "" {
		t.Errorf("%v; read (-want +got):\n%s", err, diff)
	}
	for _, other := range []string{
		events.ProofsStream(events.Address{2}, "west"), events.SaleStream(events.Address{1}, events.SlotID{1}),
		"proofs-" + events.Address{1}.String(), "proofs-west", "$proofs",
	} {
		if r, is, err := west.Read(events.Recorded{Stream: other, Type: name, Data: sound}); is || err != nil {
			t.Errorf("%s was read as %+v: %v", other, r, err)
		}
	}
}

func TestAStoreThatIsAwayTakesNoProof(t *testing.T) {
	store := storetest.NewMemory()
	west := readyOf(store, "west")
	call := west.base.StoreWatch.Call(t.Context(), "x")
	call.Failed(events.ErrAway)
	if err := west.HandOver(t.Context(), readyProof(1, 7)); !errors.Is(err, shell.ErrStoreAway) {
		t.Errorf("it was handed over: %v", err)
	}
	call.End()
	if err := west.HandOver(t.Context(), readyProof(1, 7)); err != nil {
		t.Error(err)
	}
}

// silentStore takes no append and does not say so.
type silentStore struct{ events.Store }

func (silentStore) Append(ctx context.Context, _ string, _ events.Expected, _ []events.NewEvent) (events.AppendResult, error) {
	<-ctx.Done()
	return events.AppendResult{}, ctx.Err()
}

func TestAStoreThatDoesNotAnswerHoldsUpNoProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		err := readyOf(silentStore{storetest.NewMemory()}, "west").HandOver(t.Context(), readyProof(1, 7))
		if took := time.Since(begin); err == nil || took > handOverTimeout {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
