package capacity

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/housetest"
)

// source draws numbers below n: from rapid, or from the bytes of a fuzzer.
type source func(n int) int

// anyCommand draws from few ids and sizes, so that commands concern the same things, and draws
// mostly valid commands.
func anyCommand(draw source, s State) Command {
	at := start.Add(time.Duration(draw(100)) * time.Second)
	availability := fill[events.AvailabilityID](byte(draw(3) + 1))
	slot, attempt := fill[events.SlotID](byte(draw(4)+1)), uint32(1+draw(2))
	few := func(n int) int { // Zero is rare: it is refused nearly everywhere.
		if draw(15) == 1 {
			return 0
		}
		return 1 + draw(n)
	}
	bytes := func() events.Bytes { return events.Bytes(few(5)) * 100 }
	tokens := func() events.Amount { return amount(uint64(few(5)) * 300) }
	price := func() events.Amount { return amount(uint64(few(3))) }
	hours := func() time.Duration { return time.Duration(few(3)) * time.Hour }
	kind := draw(14)
	switch kind {
	case 11, 12, 13:
		return anySectorCommand(draw, s, at, bytes, tokens)
	case 0:
		return SetQuota{At: at, Bytes: bytes() * 8, Near: draw(2) == 0}
	case 1, 2:
		o := Offer{bytes() * 2, hours(), price(), tokens(), draw(4) > 0, time.Time{}}
		if draw(3) == 1 {
			o.Until = start.Add(hours())
		}
		return Create{at, availability, o}
	case 3:
		return anyUpdate(draw, Update{
			At: at, ID: availability, Size: ptr(bytes() * 2), Duration: ptr(hours()),
			MinPrice: ptr(price()), Collateral: ptr(tokens()), Enabled: ptr(draw(3) > 0),
			Until: ptr(start.Add(hours())),
		})
	case 4:
		return Delete{at, availability}
	case 5, 6, 7:
		return Reserve{
			At: at, Slot: slot, Attempt: attempt * uint32(few(1)),
			Ask: anyAsk(draw),
		}
	case 8:
		return Release{at, ReservationIDOf(slot, attempt), events.Bytes(draw(600))}
	}
	returned, lost := tokens(), tokens()
	if r, held := s.Reservation(ReservationIDOf(slot, attempt)); held && draw(4) > 0 {
		returned = r.Collateral.SubFloor(lost)
		lost = r.Collateral.Sub(returned)
	}
	settle := Settle{at, events.ReservationID{}, slot, attempt, returned, lost}
	if kind == 9 {
		return Renew{settle, Reserve{At: at, Slot: slot, Attempt: attempt + 1, Ask: anyAsk(draw)}}
	}
	return settle
}

// anySectorCommand draws a command about one of two sectors.
func anySectorCommand(
	draw source, s State, at time.Time, bytes func() events.Bytes, tokens func() events.Amount,
) Command {
	sector := uint64(1 + draw(3))
	most := ptr(amount(uint64(draw(10)) * 300))
	if draw(2) == 0 {
		most = nil
	}
	switch draw(7) {
	case 6:
		return Withdraw{at, s.Deposits().Withdrawals + uint64(draw(3)), tokens(), events.Hash{1}}
	case 0, 1:
		space := Space{Unsealed: bytes() / 2, Sealed: bytes() / 2, Scratch: events.Bytes(draw(60))}
		return Hold{at, sector, space, tokens(), most, events.Bytes(draw(2) * draw(4000))}
	case 2:
		return ReleasePart{at, sector, Parts()[draw(4)]}
	case 3:
		return HoldPiece{at, Piece{fmt.Sprintf("baga%d", draw(3)), events.Bytes(draw(3)) * 100}, events.Bytes(draw(2) * draw(4000))}
	case 4:
		return ReleasePiece{at, fmt.Sprintf("baga%d", draw(3))}
	}
	one, _ := s.Sector(sector)
	lost := amount(uint64(draw(4)) * 100)
	return SettleDeposit{at, sector, one.Deposit.SubFloor(lost), one.Lost.AddSaturating(lost), most}
}

// anyAsk draws mostly demands that some availability meets.
func anyAsk(draw source) Ask {
	ask := Ask{
		SlotSize: events.Bytes(1+draw(5)) * 100, Duration: time.Duration(1+draw(3)) * time.Hour,
		PricePerBytePerSecond: amount(uint64(1 + draw(3))), CollateralPerByte: amount(uint64(draw(4))),
		RequestEnd: start.Add(time.Duration(1+draw(3)) * time.Hour), Overhead: events.Bytes(draw(50)),
	}
	if draw(2) == 0 {
		ask.MaxAtRisk = ptr(amount(uint64(draw(8)) * 300))
	}
	if draw(4) == 0 {
		ask.Quota = events.Bytes(1 + draw(3000))
	}
	return ask
}

// anyUpdate is an update with one of the given changes.
func anyUpdate(draw source, all Update) Command {
	u := Update{At: all.At, ID: all.ID}
	switch draw(6) {
	case 0:
		u.Size = all.Size
	case 1:
		u.Duration = all.Duration
	case 2:
		u.MinPrice = all.MinPrice
	case 3:
		u.Collateral = all.Collateral
	case 4:
		u.Enabled = all.Enabled
	case 5:
		u.Until = all.Until
	}
	return u
}

func TestEveryCommandIsDrawn(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 1))
	var drawn []Command
	for range 1000 {
		drawn = append(drawn, anyCommand(chance.IntN, New()))
	}
	housetest.Complete(t, ".", "given", drawn, "commands that anyCommand draws")
}
