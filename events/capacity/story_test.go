package capacity

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hostnode/hostnode/events"
)

// TestStories runs the scripts in testdata. A line is a command and its arguments; below it are
// the events that follow, or the error, and the book. Ids are one byte, times are distances
// from the start.
func TestStories(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range scripts {
		s := New()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "show" {
				return show(s)
			}
			out, err := Decide(s, command(t, d))
			var b strings.Builder
			if err != nil {
				fmt.Fprintf(&b, "error: %v\n", err)
			}
			for _, e := range out {
				s = Evolve(s, e)
				fmt.Fprintln(&b, tell(e))
				if reason, _ := Wakes(s, e); reason != "" {
					fmt.Fprintf(&b, "  the queue wakes: %s\n", reason)
				}
			}
			if err == nil && len(out) == 0 {
				b.WriteString("nothing follows\n")
			}
			if err := s.Check(); err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			if len(out) > 0 {
				fmt.Fprintf(&b, "  %s\n", s.Book())
			}
			return b.String()
		})
	}
}

func show(s State) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.Book())
	for a := range s.Availabilities() {
		fmt.Fprintf(&b, "availability %s: %d of %d bytes free, collateral %s = %s remaining + %s committed + %s lost, "+
			"%d reservations\n", short(&a), a.Free(), a.Size, a.Collateral, a.Remaining(), a.Committed, a.Lost, a.Reservations)
	}
	for r := range s.Reservations() {
		fmt.Fprintf(&b, "reservation of slot %s attempt %d: %d of %d bytes stored\n",
			r.Slot.Short(), r.Attempt, r.Stored, r.Bytes)
	}
	for one := range s.Sectors() {
		fmt.Fprintf(&b, "sector %d: %+v, deposit %s, lost %s\n", one.Number, one.Space, one.Deposit, one.Lost)
	}
	for _, one := range s.PieceFiles() {
		fmt.Fprintf(&b, "piece %s: %d bytes\n", one.CID, one.Bytes)
	}
	if d := s.Deposits(); d != (Deposits{}) {
		fmt.Fprintf(&b, "deposits: %s held, %s returned, %s lost\n", d.Held, d.Returned, d.Lost)
	}
	return b.String()
}

// arguments reads the arguments of a command.
type arguments struct {
	t *testing.T
	d *datadriven.TestData
}

func (a arguments) number(key string, otherwise uint64) uint64 {
	a.d.MaybeScanArgs(a.t, key, &otherwise)
	return otherwise
}

func (a arguments) duration(key, otherwise string) time.Duration {
	a.d.MaybeScanArgs(a.t, key, &otherwise)
	d, err := time.ParseDuration(otherwise)
	if err != nil {
		a.t.Fatalf("%s: %v", a.d.Pos, err)
	}
	return d
}

func command(t *testing.T, d *datadriven.TestData) Command {
	a := arguments{t, d}
	switch d.Cmd {
	case "set-quota":
		return SetQuota{At: start, Bytes: events.Bytes(a.number("bytes", 0))}
	case "create":
		o := Offer{
			Size: events.Bytes(a.number("size", 0)), Duration: a.duration("duration", "1h"),
			MinPrice: amount(a.number("price", 1)), Collateral: amount(a.number("collateral", 1_000_000)),
			Enabled: !d.HasArg("disabled"),
		}
		if d.HasArg("until") {
			o.Until = start.Add(a.duration("until", ""))
		}
		return Create{start, fill[events.AvailabilityID](byte(a.number("id", 1))), o}
	case "hold", "release-part", "settle-deposit":
		return sectorCommand(a)
	case "hold-piece":
		piece := Piece{Bytes: events.Bytes(a.number("bytes", 0))}
		d.ScanArgs(t, "cid", &piece.CID)
		return HoldPiece{start, piece, events.Bytes(a.number("quota", 0))}
	case "release-piece":
		cid := ""
		d.ScanArgs(t, "cid", &cid)
		return ReleasePiece{start, cid}
	case "update":
		return update(a)
	case "delete":
		return Delete{start, fill[events.AvailabilityID](byte(a.number("id", 1)))}
	case "reserve":
		return Reserve{
			At: start, Slot: fill[events.SlotID](byte(a.number("slot", 1))), Attempt: uint32(a.number("attempt", 1)),
			Ask: Ask{
				SlotSize: events.Bytes(a.number("size", 0)), Duration: a.duration("duration", "1h"),
				PricePerBytePerSecond: amount(a.number("price", 1)), CollateralPerByte: amount(a.number("collateral", 1)),
				RequestEnd: start.Add(a.duration("end", "1h")), Overhead: events.Bytes(a.number("overhead", 0)),
			},
		}
	case "release":
		return Release{start, reservationArg(a), events.Bytes(a.number("total", 0))}
	case "settle":
		return Settle{
			At: start, Reservation: reservationArg(a),
			CollateralReturned: amount(a.number("returned", 0)), CollateralLost: amount(a.number("lost", 0)),
		}
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return nil
}

func sectorCommand(a arguments) Command {
	sector := a.number("sector", 1)
	var most *events.Amount
	if a.d.HasArg("most") {
		most = ptr(amount(a.number("most", 0)))
	}
	switch a.d.Cmd {
	case "hold":
		bytes := func(key string) events.Bytes { return events.Bytes(a.number(key, 0)) }
		space := Space{bytes("unsealed"), bytes("sealed"), bytes("tree"), bytes("scratch")}
		return Hold{start, sector, space, amount(a.number("deposit", 0)), most, bytes("quota")}
	case "release-part":
		part := ""
		a.d.ScanArgs(a.t, "part", &part)
		return ReleasePart{start, sector, Part(part)}
	}
	return SettleDeposit{start, sector, amount(a.number("held", 0)), amount(a.number("lost", 0)), most}
}

func reservationArg(a arguments) events.ReservationID {
	return ReservationIDOf(fill[events.SlotID](byte(a.number("slot", 1))), uint32(a.number("attempt", 1)))
}

func update(a arguments) Command {
	u := Update{At: start, ID: fill[events.AvailabilityID](byte(a.number("id", 1)))}
	for _, arg := range a.d.CmdArgs {
		switch arg.Key {
		case "size":
			u.Size = ptr(events.Bytes(a.number("size", 0)))
		case "duration":
			u.Duration = ptr(a.duration("duration", ""))
		case "price":
			u.MinPrice = ptr(amount(a.number("price", 0)))
		case "collateral":
			u.Collateral = ptr(amount(a.number("collateral", 0)))
		case "enable":
			u.Enabled = ptr(true)
		case "disable":
			u.Enabled = ptr(false)
		case "until":
			u.Until = ptr(start.Add(a.duration("until", "")))
		case "endless":
			u.Until = &time.Time{}
		}
	}
	return u
}
