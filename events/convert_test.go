package events_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

func TestEventsHaveTheTimeOfTheirCommandUnlessTheyHaveOne(t *testing.T) {
	early, late := time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()
	given := &messages.DataDeleted{At: events.TimeToMessage(early)}
	all := events.Stamp([]*messages.DataDeleted{given, {}}, late)
	if one, two := all[0].GetAt().AsTime(), all[1].GetAt().AsTime(); one != early || two != late {
		t.Errorf("%s and %s, want %s and %s", one, two, early, late)
	}
	if never := events.Stamp([]*messages.DataDeleted{{}}, time.Time{}); never[0].At != nil {
		t.Error("the zero time is stored")
	}
}

func TestARequestSurvivesTheRecord(t *testing.T) { rapid.Check(t, requestSurvives) }

// FuzzARequestSurvivesTheRecord is the same property, steered by coverage.
func FuzzARequestSurvivesTheRecord(f *testing.F) { f.Fuzz(rapid.MakeFuzz(requestSurvives)) }

func requestSurvives(t *rapid.T) {
	r := drawRequest(t)
	if back := events.RequestFromMessage(events.RequestToMessage(r)); back != r {
		t.Fatalf("%+v\ncame back as\n%+v", r, back)
	}
}

// drawRequest draws what a contract can hold: any number in any field.
func drawRequest(t *rapid.T) events.Request {
	return events.Request{
		ID:     events.RequestID(draw32(t, "id")),
		Client: events.Address(rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "client")),
		Ask: events.Ask{
			ProofProbability:      drawAmount(t, "probability"),
			PricePerBytePerSecond: drawAmount(t, "price"),
			CollateralPerByte:     drawAmount(t, "collateral"),
			Slots:                 rapid.Uint64().Draw(t, "slots"),
			SlotSize:              events.Bytes(rapid.Uint64().Draw(t, "slot size")),
			Duration:              events.Seconds(drawSeconds(t, "duration")),
			MaxSlotLoss:           rapid.Uint64().Draw(t, "loss"),
		},
		Content: events.Content{
			CID:        string(rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "cid")),
			MerkleRoot: events.Root(draw32(t, "root")),
		},
		Expiry: events.Seconds(drawSeconds(t, "expiry")),
		Nonce:  draw32(t, "nonce"),
	}
}

func draw32(t *rapid.T, label string) [32]byte {
	return [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, label))
}

// drawSeconds also draws more than a duration can hold.
func drawSeconds(t *rapid.T, label string) uint64 {
	if rapid.Bool().Draw(t, label+" is hostile") {
		return rapid.Uint64().Draw(t, label)
	}
	return rapid.Uint64Range(0, 1<<32).Draw(t, label)
}

func drawAmount(t *rapid.T, label string) events.Amount {
	b := draw32(t, label)
	a, err := events.AmountFromBig(new(big.Int).SetBytes(b[rapid.IntRange(0, 32).Draw(t, label+" skips"):]))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAReceiptSurvivesTheRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := events.Receipt{
			TxHash: events.Hash(draw32(t, "tx")),
			Block: events.Head{
				Number: rapid.Uint64().Draw(t, "block"),
				Hash:   events.Hash(draw32(t, "block hash")),
				Time:   events.Unix(rapid.Uint64Range(0, 1<<33).Draw(t, "time")),
			},
			Fee:     drawAmount(t, "fee"),
			GasUsed: rapid.Uint64().Draw(t, "gas"),
		}
		want := r
		if r.TxHash.Zero() { // A transaction without a hash is none.
			want = events.Receipt{}
		}
		if back := receiptFromMessage(events.ReceiptToMessage(r)); back != want {
			t.Fatalf("%+v\ncame back as\n%+v", r, back)
		}
	})
	if m := events.ReceiptToMessage(events.Receipt{}); m != nil {
		t.Errorf("the zero receipt is stored as %v, want nothing", m)
	}
	if r := receiptFromMessage(nil); r != (events.Receipt{}) {
		t.Errorf("no receipt is read as %+v", r)
	}
}

func TestTimesSurviveTheRecordInUTC(t *testing.T) {
	zone := time.FixedZone("elsewhere", 3600)
	for _, want := range []time.Time{{}, events.Unix(0), events.Unix(1_750_000_000), time.Unix(1, 999).In(zone)} {
		got := events.TimeFromMessage(events.TimeToMessage(want))
		if !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("%s came back as %s", want, got)
		}
	}
	if m := events.TimeToMessage(time.Time{}); m != nil {
		t.Errorf("the zero time is stored as %v, want nothing", m)
	}
}

func TestSecondsNeverWrapAround(t *testing.T) {
	longest := events.Seconds(math.MaxUint64)
	for _, tc := range []struct {
		n    uint64
		want time.Duration
	}{
		{0, 0},
		{3600, time.Hour},
		{9_223_372_036, 9_223_372_036 * time.Second},
		{9_223_372_037, longest},
		{1 << 63, longest},
	} {
		if got := events.Seconds(tc.n); got != tc.want || got < 0 {
			t.Errorf("%d seconds are %d ns, want %d", tc.n, got, tc.want)
		}
	}
	if longest < 290*365*24*time.Hour || longest%time.Second != 0 {
		t.Errorf("the longest duration is %s; it must be whole seconds, as it is stored in seconds", longest)
	}
}

func TestMustNamesTheBug(t *testing.T) {
	defer func() {
		if got, ok := recover().(string); !ok || got == "" {
			t.Errorf("panicked with %v, want a sentence", got)
		}
	}()
	events.Must(events.ParseAmount("much"))
	t.Error("a malformed amount passed")
}

// receiptFromMessage decodes a checked receipt; the zero receipt for nil.
func receiptFromMessage(m *messages.Receipt) events.Receipt {
	if m == nil {
		return events.Receipt{}
	}
	return events.Receipt{
		TxHash: events.Must(events.ParseHash(m.GetTxHash())),
		Block: events.Head{
			Number: m.GetBlock(),
			Hash:   events.Must(events.ParseHash(m.GetBlockHash())),
			Time:   events.TimeFromMessage(m.GetTime()),
		},
		Fee:     events.Must(events.ParseAmount(m.GetFeeWei())),
		GasUsed: m.GetGasUsed(),
	}
}

func TestNothingWaitsForAClockThatWasSetBack(t *testing.T) {
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for since, want := range map[time.Duration]bool{
		-time.Hour: true, -time.Minute: false, 0: false, time.Minute: false, time.Hour: true, 24 * 365 * time.Hour: true,
	} {
		if got := events.Waited(now, now.Add(since), time.Hour); got != want {
			t.Errorf("since %s: %t", since, got)
		}
	}
	if !events.Waited(now, time.Time{}, time.Hour) {
		t.Error("since the zero time it has not waited")
	}
}
