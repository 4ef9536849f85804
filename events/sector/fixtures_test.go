package sector

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
)

// start is when all tests begin; points in time are told as distances from it.
var start = events.Unix(1_700_000_000)

// example is a copy of the stored example of an event, with fields changed by JSON.
func example(t fatal, name, change string) Event {
	t.Helper()
	for _, entry := range Table() {
		if entry.Name != name {
			continue
		}
		e := proto.Clone(entry.Example)
		if change != "" {
			with := e.ProtoReflect().New().Interface()
			if err := protojson.Unmarshal([]byte(change), with); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			with.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
				e.ProtoReflect().Set(f, v)
				return true
			})
		}
		return e.(Event)
	}
	t.Fatalf("no event is called %s", name)
	return nil
}

// tell prints an event on one line.
func tell(m proto.Message) string {
	var b strings.Builder
	r := m.ProtoReflect()
	b.WriteString(string(r.Descriptor().Name()))
	fields := r.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Name() == "at" || !r.Has(f) {
			continue
		}
		fmt.Fprintf(&b, " %s=%s", f.JSONName(), value(r.Get(f)))
	}
	return b.String()
}

func value(v protoreflect.Value) string {
	switch v := v.Interface().(type) {
	case protoreflect.List:
		var all []string
		for i := range v.Len() {
			all = append(all, value(v.Get(i)))
		}
		return "[" + strings.Join(all, " ") + "]"
	case protoreflect.Message:
		if at, ok := v.Interface().(*timestamppb.Timestamp); ok {
			return "+" + at.AsTime().Sub(start).Round(time.Second).String()
		}
		return "{" + tell(v.Interface()) + "}"
	case string:
		if strings.HasPrefix(v, "0x") && len(v) > 20 {
			return v[:6]
		}
		if strings.Contains(v, " ") {
			return fmt.Sprintf("%q", v)
		}
		return v
	}
	return v.String()
}

// stored is an event as it is after it was written and read.
func stored(t interface{ Fatalf(string, ...any) }, codec *events.Codec, e Event) Event {
	name, version, data, err := codec.Encode(e)
	if err != nil {
		t.Fatalf("store %s: %v", NameOf(e), err)
	}
	m, err := codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	if err != nil {
		t.Fatalf("read %s: %v", NameOf(e), err)
	}
	return m.(Event)
}

// standing returns a sector in a state, with everything that the state may need.
func standing(at State) Info {
	s := New(Policy{})
	if at == Undefined {
		return s
	}
	piece := Piece{CID: "baga6ea4seaqz", Size: 1024, Payload: 900}
	s.State, s.Number, s.Size, s.BeganAt = at, 1, 2048, start
	s.Provider = events.Address{0xcd}
	s.Opened, s.Space, s.Deposit = true, 6000, events.NewAmount(5000)
	one := events.Hash{1}
	s.CommD, s.CommR, s.SeedValue, s.SeedEpoch, s.Proof, s.PreCommit1Out = one, one, one, 7, "0xff", "0xee"
	s.PreCommitMessage, s.CommitMessage, s.FaultReportMsg, s.RecoveryMsg, s.TerminateMsg = one, one, one, one, one
	s.TicketValue, s.TicketEpoch = one, 3
	switch at {
	case Empty:
	case PackingFailed: // One of them can be left out.
		s.Pending = []Piece{piece, {CID: "baga6ea4seaqx", Size: 1024, Payload: 900}}
	case WaitDeals, AddPiece, Packing, AddPieceFailed:
		s.Pending = []Piece{piece}
	case PreCommit1, GetTicket:
		s.TicketValue = events.Hash{}
		fallthrough
	default:
		s.Pieces = []Piece{piece, {CID: "baga6ea4seaqy", Size: 1024}}
	}
	return s
}
