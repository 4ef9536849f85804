package events

import (
	"encoding/hex"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/messages"
)

// The functions in this file translate between the types of the ports and the
// stored messages. Those that read a message rely on the codec's checks; a
// malformed value at this point is a bug and panics.

// TimeToMessage is nil for the zero time.
func TimeToMessage(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// Stamp gives events the point in time of the command that they follow from, in their field at, unless
// they have one. It returns them.
func Stamp[E proto.Message](all []E, at time.Time) []E {
	for _, e := range all {
		m := e.ProtoReflect()
		if field := m.Descriptor().Fields().ByName("at"); !at.IsZero() && !m.Has(field) {
			m.Set(field, protoreflect.ValueOfMessage(timestamppb.New(at).ProtoReflect()))
		}
	}
	return all
}

// TimeFromMessage is the zero time for nil, otherwise UTC.
func TimeFromMessage(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// Waited reports whether a stored time by the machine's clock lies so long back, or ahead: then the clock was set back
// meanwhile, and nothing may wait for it to come there again.
func Waited(now, since time.Time, long time.Duration) bool { return now.Sub(since).Abs() >= long }

// Unix converts a point in chain time from the contract's seconds. Anything later than
// the calendar's end becomes the calendar's end.
func Unix(seconds uint64) time.Time { return time.Unix(int64(min(seconds, MaxUnix)), 0).UTC() }

// MaxUnix is the last second that RFC 3339 can write, the end of the year 9999.
const MaxUnix = 253_402_300_799

// Seconds converts a whole number of seconds to a duration. More than fits,
// about 292 years, becomes the longest duration: nobody stores for that long,
// and it must not wrap around. The longest duration is whole seconds too,
// because requests are recorded in seconds.
func Seconds(n uint64) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Second)
	return time.Duration(min(n, most)) * time.Second
}

// Must returns v, or panics with err, which is a bug then.
func Must[T any](v T, err error) T {
	if err != nil {
		panic("events: malformed value past the codec: " + err.Error())
	}
	return v
}

// RequestToMessage encodes a request.
func RequestToMessage(r Request) *messages.Request {
	return &messages.Request{
		Id:                    r.ID.String(),
		Client:                r.Client.String(),
		ProofProbability:      r.Ask.ProofProbability.String(),
		PricePerBytePerSecond: r.Ask.PricePerBytePerSecond.String(),
		CollateralPerByte:     r.Ask.CollateralPerByte.String(),
		Slots:                 r.Ask.Slots,
		SlotSize:              uint64(r.Ask.SlotSize),
		DurationSeconds:       uint64(r.Ask.Duration / time.Second),
		MaxSlotLoss:           r.Ask.MaxSlotLoss,
		Cid:                   hex0x([]byte(r.Content.CID)),
		MerkleRoot:            r.Content.MerkleRoot.String(),
		ExpirySeconds:         uint64(r.Expiry / time.Second),
		Nonce:                 hex0x(r.Nonce[:]),
	}
}

// RequestFromMessage decodes a checked request.
func RequestFromMessage(m *messages.Request) Request {
	return Request{
		ID:     Must(ParseRequestID(m.GetId())),
		Client: Must(ParseAddress(m.GetClient())),
		Ask: Ask{
			ProofProbability:      Must(ParseAmount(m.GetProofProbability())),
			PricePerBytePerSecond: Must(ParseAmount(m.GetPricePerBytePerSecond())),
			CollateralPerByte:     Must(ParseAmount(m.GetCollateralPerByte())),
			Slots:                 m.GetSlots(),
			SlotSize:              Bytes(m.GetSlotSize()),
			Duration:              Seconds(m.GetDurationSeconds()),
			MaxSlotLoss:           m.GetMaxSlotLoss(),
		},
		Content: Content{
			CID:        string(Must(hex.DecodeString(strings.TrimPrefix(m.GetCid(), "0x")))),
			MerkleRoot: Must(ParseRoot(m.GetMerkleRoot())),
		},
		Expiry: Seconds(m.GetExpirySeconds()),
		Nonce:  Must(parse32[[32]byte]("nonce", m.GetNonce())),
	}
}

// ReceiptToMessage encodes a receipt; nil for the zero receipt, which stands
// for a transaction that was not sent by this process but found on chain.
func ReceiptToMessage(r Receipt) *messages.Receipt {
	if r.TxHash.Zero() {
		return nil
	}
	return &messages.Receipt{
		TxHash:    r.TxHash.String(),
		Block:     r.Block.Number,
		BlockHash: r.Block.Hash.String(),
		Time:      TimeToMessage(r.Block.Time),
		FeeWei:    r.Fee.String(),
		GasUsed:   r.GasUsed,
	}
}
