package capacity

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table says how the events of the ledger are stored. A name never changes.
func Table() []events.Entry {
	at := timestamppb.New(time.Unix(1_700_000_000, 0))
	const (
		availability = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		request      = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
		message      = "0xabababababababababababababababababababababababababababababababab"
		slot         = "0xcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
		piece        = "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"
	)
	reservation := ReservationIDOf(events.Must(events.ParseSlotID(slot)), 1).String()
	return []events.Entry{
		entry("QuotaSet", &messages.QuotaSet{At: at, Bytes: 1 << 40}),
		entry("AvailabilityCreated", &messages.AvailabilityCreated{
			At: at, AvailabilityId: availability, TotalSize: 1 << 30, DurationSeconds: 86400,
			MinPricePerBytePerSecond: "1", TotalCollateral: "1000000", Enabled: true,
		}),
		entry("AvailabilityUpdated", &messages.AvailabilityUpdated{
			At: at, AvailabilityId: availability, TotalSize: 1 << 31, DurationSeconds: 86400,
			MinPricePerBytePerSecond: "1", TotalCollateral: "2000000", Enabled: true,
			Until: timestamppb.New(time.Unix(1_800_000_000, 0)), Wider: true,
		}),
		entry("AvailabilityDeleted", &messages.AvailabilityDeleted{At: at, AvailabilityId: availability}),
		entry("ReservationCreated", &messages.ReservationCreated{
			At: at, ReservationId: reservation, AvailabilityId: availability, RequestId: request,
			SlotId: slot, SlotIndex: 3, Attempt: 1, Bytes: 1 << 20, Overhead: 1 << 16, Collateral: "1000",
			ValidUntil: timestamppb.New(time.Unix(1_700_086_400, 0)),
		}),
		entry("BytesReleased", &messages.BytesReleased{
			At: at, ReservationId: reservation, Bytes: 10_486,
		}),
		entry("ReservationDeleted", &messages.ReservationDeleted{
			At: at, ReservationId: reservation, CollateralReturned: "900", CollateralLost: "100",
		}),
		entry("SectorSpaceHeld", &messages.SectorSpaceHeld{
			At: at, Sector: 1, Unsealed: 1 << 21, Sealed: 1 << 20, Tree: 1 << 21, Scratch: 1 << 19, Deposit: "5000",
		}),
		entry("SectorSpaceReleased", &messages.SectorSpaceReleased{
			At: at, Sector: 1, Part: string(PartScratch), Bytes: 1 << 19,
		}),
		entry("SectorDepositSettled", &messages.SectorDepositSettled{At: at, Sector: 1, Held: "4000", Lost: "1000"}),
		entry("PieceSpaceHeld", &messages.PieceSpaceHeld{At: at, Cid: piece, Bytes: 1 << 20}),
		entry("PieceSpaceReleased", &messages.PieceSpaceReleased{At: at, Cid: piece, Bytes: 1 << 20}),
		entry("SectorFundsWithdrawn", &messages.SectorFundsWithdrawn{
			At: at, Number: 1, Amount: "4200", Message: message,
		}),
	}
}

func entry(name string, example Event) events.Entry {
	return events.Entry{Name: name, Version: 1, Example: example, Check: check}
}

// check validates what the schema cannot express, so that sums of the sizes
// that are folded stay within 64 bits.
func check(m proto.Message) error {
	if err := events.CheckMessage(m); err != nil {
		return err
	}
	switch e := m.(type) {
	case *messages.QuotaSet:
		return size("bytes", e.GetBytes(), 0)
	case offerEvent:
		return size("totalSize", e.GetTotalSize(), 1)
	case *messages.ReservationCreated:
		if e.GetAttempt() == 0 || e.GetValidUntil() == nil {
			return fmt.Errorf("%w: a reservation has an attempt from 1 and an end", events.ErrMalformed)
		}
		if err := size("overhead", e.GetOverhead(), 0); err != nil {
			return err
		}
		return size("bytes", e.GetBytes(), 1)
	case *messages.BytesReleased:
		return size("bytes", e.GetBytes(), 1)
	case *messages.SectorSpaceHeld, *messages.SectorSpaceReleased, *messages.SectorDepositSettled:
		return checkSector(m)
	case *messages.PieceSpaceHeld:
		return errors.Join(checkCID(e.GetCid()), size("bytes", e.GetBytes(), 1))
	case *messages.PieceSpaceReleased:
		return errors.Join(checkCID(e.GetCid()), size("bytes", e.GetBytes(), 1))
	}
	return nil
}

func checkSector(m proto.Message) error {
	if of := m.(interface{ GetSector() uint64 }); of.GetSector() == 0 {
		return fmt.Errorf("%w: sector: 0, they are counted from 1", events.ErrMalformed)
	}
	switch e := m.(type) {
	case *messages.SectorSpaceHeld:
		if SpaceOf(e).total() == 0 {
			return fmt.Errorf("%w: a sector that holds nothing", events.ErrMalformed)
		}
		for _, p := range Parts() {
			if err := size(string(p), uint64(SpaceOf(e).Of(p)), 0); err != nil {
				return err
			}
		}
	case *messages.SectorSpaceReleased:
		if p := Part(e.GetPart()); !p.known() {
			return fmt.Errorf("%w: part: %q, want one of %v", events.ErrMalformed, e.GetPart(), Parts())
		}
		return size("bytes", e.GetBytes(), 1)
	}
	return nil
}

func size(field string, n, least uint64) error {
	if n < least || n > uint64(MaxQuota) {
		return fmt.Errorf("%w: %s: %d, want %d to %d", events.ErrMalformed, field, n, least, MaxQuota)
	}
	return nil
}
