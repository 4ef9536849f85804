package events

import (
	"encoding/hex"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/messages"
)

// CheckMessage validates what messages.proto says of its strings: each has the
// form of its kind, each point in time is in the range of RFC 3339, and nested
// messages are valid themselves. It is the Check of every entry of the codec
// tables, so that no fold ever meets a malformed event.
func CheckMessage(m proto.Message) error {
	return checkFields(m.ProtoReflect())
}

// CheckDated is CheckMessage for events that say when they were recorded, which must not be absent.
func CheckDated(m proto.Message) error {
	if err := CheckMessage(m); err != nil {
		return err
	}
	if dated, ok := m.(interface{ GetAt() *timestamppb.Timestamp }); ok && dated.GetAt() == nil {
		return fmt.Errorf("%w: it does not say when", ErrMalformed)
	}
	return nil
}

func checkFields(m protoreflect.Message) error {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if err := checkField(m, f); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrMalformed, f.JSONName(), err)
		}
	}
	return nil
}

func checkField(m protoreflect.Message, f protoreflect.FieldDescriptor) error {
	switch f.Kind() {
	case protoreflect.StringKind:
		kind, _ := proto.GetExtension(f.Options(), messages.E_Kind).(messages.Kind)
		if f.IsList() {
			list := m.Get(f).List()
			for i := range list.Len() {
				if err := checkText(kind, list.Get(i).String()); err != nil {
					return fmt.Errorf("item %d: %w", i, err)
				}
			}
			return nil
		}
		if f.HasPresence() && !m.Has(f) { // The message's comment says what its absence means.
			return nil
		}
		return checkText(kind, m.Get(f).String())
	case protoreflect.MessageKind:
		if f.IsList() || f.IsMap() {
			return nil
		}
		if !m.Has(f) {
			return checkAbsent(f.Message().FullName())
		}
		part := m.Get(f).Message()
		if ts, ok := part.Interface().(interface{ CheckValid() error }); ok {
			return ts.CheckValid()
		}
		return checkFields(part)
	default: // Numbers and flags cannot be malformed.
		return nil
	}
}

// checkAbsent refuses events without the nested messages that every reader
// relies on. Receipts and points in time may be absent; the message's comment
// says what that means.
func checkAbsent(part protoreflect.FullName) error {
	switch part {
	case "hostnode.v1.Request", "hostnode.v1.ChainLog":
		return fmt.Errorf("%s is missing", part)
	}
	return nil
}

func checkText(kind messages.Kind, s string) error {
	switch kind {
	case messages.Kind_KIND_BYTES32:
		return checkHex(s, 64)
	case messages.Kind_KIND_ADDRESS:
		return checkHex(s, 40)
	case messages.Kind_KIND_PROOF:
		return checkHex(s, 512)
	case messages.Kind_KIND_HEX:
		return checkHex(s, -1)
	case messages.Kind_KIND_AMOUNT:
		_, err := ParseAmount(s)
		return err
	case messages.Kind_KIND_UNSPECIFIED:
	}
	return nil
}

// checkHex demands lower case, so that an id is always stored in the same spelling.
func checkHex(s string, digits int) error {
	d, ok := strings.CutPrefix(s, "0x")
	if !ok || (digits >= 0 && len(d) != digits) || len(d)%2 != 0 || strings.ToLower(d) != d {
		return fmt.Errorf("%q is not 0x and %d lower-case hex digits", clip(s), digits)
	}
	if _, err := hex.DecodeString(d); err != nil {
		return fmt.Errorf("%q: %w", clip(s), err)
	}
	return nil
}
