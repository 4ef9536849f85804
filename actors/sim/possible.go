package sim

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
)

// This file looks for impossible values in the record: blocks that the chain never had, amounts
// that do not exist, times outside this run. A recorded value stays for ever.

// mostTokens is more than all accounts of a run hold together.
const mostTokens = 1 << 50

// bounds are the possible values so far.
type bounds struct {
	block  uint64 // the highest so far
	tokens events.Amount
	from   time.Time
	to     time.Time
}

// possible returns the bounds of this world. A run takes less than a day of chain time, and the
// machine's clock, which shows another year, is off by at most a day.
func (s *simulator) possible() *bounds {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.highest = max(s.highest, s.world.tip().head.Number)
	return &bounds{
		block: s.highest, tokens: events.NewAmount(mostTokens),
		from: time.Unix(0, 0), to: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// check checks every field of an event.
func (b *bounds) check(m proto.Message) error {
	if b == nil {
		return nil
	}
	var wrong error
	b.fields(m.ProtoReflect(), func(f protoreflect.FieldDescriptor, why string) {
		if wrong == nil {
			wrong = broken(NothingImpossible, "%s has %s of %s", m.ProtoReflect().Descriptor().Name(), f.Name(), why)
		}
	})
	return wrong
}

func (b *bounds) fields(m protoreflect.Message, wrong func(protoreflect.FieldDescriptor, string)) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				b.fields(v.List().Get(i).Message(), wrong)
			}
		case f.IsList():
		case f.Message() != nil:
			if t, ok := v.Message().Interface().(*timestamppb.Timestamp); ok {
				if at := t.AsTime(); !t.IsValid() || at.Before(b.from) || at.After(b.to) {
					wrong(f, at.String())
				}
				break
			}
			b.fields(v.Message(), wrong)
		case f.Kind() == protoreflect.Uint64Kind:
			block := f.Name() == "block" || f.Name() == "number" || f.Name() == "ancestor" || f.Name() == "filled_block"
			if n := v.Uint(); n > 1<<62 || block && n > b.block {
				wrong(f, fmt.Sprint(n))
			}
		case f.Kind() == protoreflect.StringKind:
			if a, err := events.ParseAmount(v.String()); err == nil && b.tokens.Less(a) {
				wrong(f, v.String())
			}
		}
		return true
	})
}
