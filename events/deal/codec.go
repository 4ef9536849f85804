package deal

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of deals are stored.
func Table() []events.Entry {
	at := timestamppb.New(events.Unix(1_700_000_000))
	entry := func(name string, example Event) events.Entry {
		return events.Entry{Name: name, Version: 1, Example: example, Check: check}
	}
	return []events.Entry{
		entry("DealOffered", &messages.DealOffered{At: at, Broker: "http", Size: 1 << 35}),
		entry("DealSigned", &messages.DealSigned{At: at, Deal: "17"}),
		entry("DealApproved", &messages.DealApproved{At: at, Deal: "17"}),
		entry("DealRejected", &messages.DealRejected{
			At: at, Deal: "17", Reason: "it cannot be read", Part: 1, Parts: 1,
			Bad: []string{"baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"},
		}),
		entry("DealDoubted", &messages.DealDoubted{At: at, Said: "APPROVED", Reason: "it is REJECTED, which is final"}),
	}
}

func check(m proto.Message) error {
	if err := events.CheckDated(m); err != nil {
		return err
	}
	e, rejected := m.(*messages.DealRejected)
	if rejected && (e.GetPart() > e.GetParts() || (e.GetPart() == 0) != (len(e.GetBad()) == 0)) {
		return fmt.Errorf("%w: part %d of %d, with %d pieces", events.ErrMalformed, e.GetPart(), e.GetParts(),
			len(e.GetBad()))
	}
	return nil
}
