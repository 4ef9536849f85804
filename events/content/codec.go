package content

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the events of CARs are stored.
func Table() []events.Entry {
	at := timestamppb.New(events.Unix(1_700_000_000))
	source := &messages.ContentSource{
		BucketName: "carpark", BucketRegion: "eu-west-1", Key: "a/a.car", BucketUrl: "https://cars.example/",
	}
	const piece = "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"
	entry := func(name string, example Event) events.Entry {
		return events.Entry{Name: name, Version: 1, Example: example, Check: check}
	}
	return []events.Entry{
		entry("ContentRequested", &messages.ContentRequested{
			At: at, Size: 1000, Source: source, Group: "free", Piece: piece, PieceSize: 1024,
		}),
		entry("ContentSourceAdded", &messages.ContentSourceAdded{At: at, Source: source}),
		entry("ContentAccepted", &messages.ContentAccepted{
			At: at, Piece: piece, PieceSize: 1024, Blocks: 5, RootAbsent: true, Kept: true,
		}),
		entry("ContentRefused", &messages.ContentRefused{
			At: at, Code: "block-digest", Detail: "block 3 is another one",
		}),
		entry("ContentRetried", &messages.ContentRetried{At: at, By: "anna", Reason: "the source was mended"}),
	}
}

func check(m proto.Message) error {
	if err := events.CheckDated(m); err != nil {
		return err
	}
	e, ok := m.(made)
	if _, claim := m.(*messages.ContentRequested); !ok || claim && pieceOf(e) == (Piece{}) {
		return nil
	}
	if err := pieceOf(e).check(); err != nil {
		return fmt.Errorf("%w: %w", events.ErrMalformed, err)
	}
	return nil
}
