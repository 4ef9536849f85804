package events_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// CheckMessage is tested from outside with the events of a sale, because their
// table has a complete example of each.

var (
	checkedID     = "0x" + strings.Repeat("ab", 32)
	checkedHost   = "0x" + strings.Repeat("cd", 20)
	checkedPoints = "0x" + strings.Repeat("01", 256)
)

func checkedRequest() *messages.Request {
	return &messages.Request{
		Id: checkedID, Client: checkedHost, ProofProbability: "4", PricePerBytePerSecond: "1",
		CollateralPerByte: "2", Slots: 3, SlotSize: 65536, DurationSeconds: 3600, MaxSlotLoss: 1,
		Cid: "0x01819a03", MerkleRoot: checkedID, ExpirySeconds: 600, Nonce: checkedID,
	}
}

func TestEveryKindOfTextIsChecked(t *testing.T) {
	amount := func(s string) proto.Message { return &messages.SlotFilled{Collateral: s} }
	id := func(s string) proto.Message { return &messages.SlotStored{SlotRoot: s} }
	proof := func(s string) proto.Message { return &messages.InitialProofMade{Challenge: checkedID, Proof: s} }
	address := func(s string) proto.Message {
		r := checkedRequest()
		r.Client = s
		return &messages.SaleStarted{SlotId: checkedID, Request: r}
	}
	cid := func(s string) proto.Message {
		r := checkedRequest()
		r.Cid = s
		return &messages.SaleStarted{SlotId: checkedID, Request: r}
	}
	dropped := func(s string) proto.Message {
		return &messages.ChainReorganized{AncestorHash: checkedID, Dropped: []string{checkedID, s}}
	}
	const most = "115792089237316195423570985008687907853269984665640564039457584007913129639935"
	for _, tc := range []struct {
		name string
		make func(string) proto.Message
		good []string
		bad  []string
	}{
		{
			"amount", amount,
			[]string{"0", "1", most},
			[]string{"", "-1", "1.5", "0x1", " 1", "1e9", strings.TrimSuffix(most, "5") + "6", "1" + most},
		},
		{
			"32 bytes", id,
			[]string{checkedID},
			[]string{
				"", "0x", checkedID[2:], checkedID + "00", checkedID[:65], strings.ToUpper(checkedID),
				"0x" + strings.ToUpper(checkedID[2:]), "0x" + strings.Repeat("zz", 32),
			},
		},
		{"address", address, []string{checkedHost}, []string{"", checkedID, "0x" + strings.Repeat("CD", 20)}},
		{"proof", proof, []string{checkedPoints}, []string{"", checkedID, checkedPoints + "00"}},
		{"hex", cid, []string{"0x", "0x01", "0x" + strings.Repeat("00", 500)}, []string{"", "01", "0x1", "0xg0", "0xAB"}},
		{"list of 32 bytes", dropped, []string{checkedID}, []string{"", "0x", "nothing"}},
	} {
		for _, s := range tc.good {
			if err := events.CheckMessage(tc.make(s)); err != nil {
				t.Errorf("%s %.20q: %v", tc.name, s, err)
			}
		}
		for _, s := range tc.bad {
			err := events.CheckMessage(tc.make(s))
			if !errors.Is(err, events.ErrMalformed) {
				t.Errorf("%s %.20q: %v, want ErrMalformed", tc.name, s, err)
			}
			if err != nil && len(err.Error()) > 400 {
				t.Errorf("%s: hostile text of %d bytes makes an error of %d", tc.name, len(s), len(err.Error()))
			}
		}
	}
}

func TestPartsThatReadersRelyOnMustBeThere(t *testing.T) {
	for name, m := range map[string]proto.Message{
		"a sale without its request": &messages.SaleStarted{SlotId: checkedID},
		"a log without its place":    &messages.ChainRequestFailed{RequestId: checkedID},
		"a request without an id": &messages.SaleStarted{SlotId: checkedID, Request: func() *messages.Request {
			r := checkedRequest()
			r.Id = ""
			return r
		}()},
		"a receipt without a hash": &messages.SlotReserved{Receipt: &messages.Receipt{
			BlockHash: checkedID, FeeWei: "1",
		}},
		"a time after the year 9999": &messages.DataDeleted{At: &timestamppb.Timestamp{Seconds: 1 << 40}},
		"a time with odd fractions":  &messages.DataDeleted{At: &timestamppb.Timestamp{Nanos: -1}},
	} {
		if err := events.CheckMessage(m); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
	for name, m := range map[string]proto.Message{
		"no receipt: learned from the chain": &messages.SlotReserved{},
		"no time":                            &messages.DataDeleted{},
		"free text may be empty":             &messages.SaleErrored{},
	} {
		if err := events.CheckMessage(m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzCheckMessage reads any JSON as any event of a sale. What passes the check
// must be safe to fold and must come back the same from the store.
func FuzzCheckMessage(f *testing.F) {
	table := sale.Table()
	codec := events.NewCodec(table)
	for i, entry := range table {
		data, err := protojson.Marshal(entry.Example)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data)
		f.Add(uint8(i), []byte(`{}`))
		f.Add(uint8(i), []byte(`{"at":"9999-12-31T23:59:59.999999999Z","request":{},"receipt":{}}`))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		m := table[int(which)%len(table)].Example.ProtoReflect().New().Interface()
		if protojson.Unmarshal(data, m) != nil {
			return
		}
		if err := events.CheckMessage(m); err != nil {
			if !errors.Is(err, events.ErrMalformed) {
				t.Fatalf("%v does not wrap ErrMalformed", err)
			}
			return
		}
		sale.Evolve(sale.State{}, m.(sale.Event)) // Panics on what it cannot read.
		name, version, stored, err := codec.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.Decode(events.Recorded{
			Type: name, Data: stored, Meta: events.Metadata{Version: version},
		})
		if err != nil || !proto.Equal(m, back) {
			t.Fatalf("stored %s, read %v, error %v", stored, back, err)
		}
	})
}
