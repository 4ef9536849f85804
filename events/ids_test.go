package events

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestIdentifiersPrintAndParseAsLowerCaseHex(t *testing.T) {
	digits := strings.Repeat("0aF9", 16)
	want := "0x" + strings.ToLower(digits)
	for name, parse := range map[string]func(string) (fmt.Stringer, error){
		"request":      func(s string) (fmt.Stringer, error) { return ParseRequestID(s) },
		"slot":         func(s string) (fmt.Stringer, error) { return ParseSlotID(s) },
		"availability": func(s string) (fmt.Stringer, error) { return ParseAvailabilityID(s) },
		"reservation":  func(s string) (fmt.Stringer, error) { return ParseReservationID(s) },
		"hash":         func(s string) (fmt.Stringer, error) { return ParseHash(s) },
		"challenge":    func(s string) (fmt.Stringer, error) { return ParseChallenge(s) },
		"root":         func(s string) (fmt.Stringer, error) { return ParseRoot(s) },
	} {
		for _, text := range []string{digits, "0x" + digits, "0X" + strings.ToUpper(digits)} {
			if id, err := parse(text); err != nil || id.String() != want {
				t.Errorf("%s %s: %v, %v", name, text, id, err)
			}
		}
		for _, text := range []string{
			"", "0x", digits[1:], digits + "0", "0x" + digits + "00", "g" + digits[1:], "0x0x" + digits[4:],
			" " + digits[1:], strings.Repeat("0", 100_000),
		} {
			_, err := parse(text)
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%s %.80q: %v, want malformed", name, text, err)
			} else if len(err.Error()) > 300 {
				t.Errorf("%s: the error repeats %d bytes of its input", name, len(err.Error()))
			}
		}
	}
	address, err := ParseAddress("0XABCDEF0123456789ABCDEF0123456789ABCDEF01")
	if err != nil || address.String() != "0xabcdef0123456789abcdef0123456789abcdef01" {
		t.Errorf("address: %v, %v", address, err)
	}
	if _, err := ParseAddress(digits); !errors.Is(err, ErrMalformed) {
		t.Errorf("an address of 32 bytes: %v", err)
	}
}

func TestShortAndZeroForms(t *testing.T) {
	if got := (SlotID{0xde, 0xad, 0xbe, 0xef, 1}).Short(); got != "0xdeadbeef" {
		t.Errorf("slot: %s", got)
	}
	if got := (RequestID{0, 1, 2, 3, 4}).Short(); got != "0x00010203" {
		t.Errorf("request: %s", got)
	}
	if !(Hash{}).Zero() || (Hash{31: 1}).Zero() || !(Address{}).Zero() || (Address{19: 1}).Zero() ||
		!(ReservationID{}).Zero() || (ReservationID{1}).Zero() {
		t.Error("zero is not told from the rest")
	}
}

func TestEventIDsAreTheSameForTheSameCauseOnly(t *testing.T) {
	first := NewEventID("sale-1", "log 7", 0)
	if got := first.String(); got != NewEventID("sale-1", "log 7", 0).String() {
		t.Errorf("made twice: %s and another", got)
	}
	name := strings.Repeat("long ", 200) // Longer than what NewEventID has room for at first.
	for id, of := range map[EventID]string{first: "sale-1\x00log 7\x000", NewEventID(name, "", -3): name + "\x00\x00-3"} {
		if want := uuid.NewSHA1(namespace, []byte(of)); uuid.UUID(id) != want {
			t.Errorf("%.20q has the id %s, of UUIDv5 it is %s", of, id, want)
		}
	}
	seen := map[EventID]string{first: "first"}
	for name, id := range map[string]EventID{
		"another stream":  NewEventID("sale-2", "log 7", 0),
		"another cause":   NewEventID("sale-1", "log 8", 0),
		"another ordinal": NewEventID("sale-1", "log 7", 1),
		"moved border":    NewEventID("sale-1l", "og 7", 0),
		"cause and digit": NewEventID("sale-1", "log ", 70),
	} {
		if other, twice := seen[id]; twice {
			t.Errorf("%s has the id of %s", name, other)
		}
		seen[id] = name
	}
	if back, err := ParseEventID(first.String()); err != nil || back != first {
		t.Errorf("read back: %v, %v", back, err)
	}
	for _, text := range []string{"", "x", first.String() + "0", strings.Repeat("a", 100_000)} {
		if _, err := ParseEventID(text); !errors.Is(err, ErrMalformed) || len(err.Error()) > 300 {
			t.Errorf("%.50q: %.300v", text, err)
		}
	}
}

func TestProofsPrintAndParse(t *testing.T) {
	var p Proof
	for i := range p {
		for j := range p[i] {
			p[i][j] = byte(i*32 + j)
		}
	}
	if back, err := ParseProof(p.String()); err != nil || back != p || p.Invalid() {
		t.Errorf("read back: %v, %v", back, err)
	}
	if _, err := ParseProof(p.String()[2:] + "00"); !errors.Is(err, ErrMalformed) {
		t.Errorf("too long: %v", err)
	}
	if !(Proof{}).Invalid() {
		t.Error("the proof of zeros is not called invalid")
	}
}

func TestStreamNames(t *testing.T) {
	host, slot := Address{1}, SlotID{2}
	name := SaleStream(host, slot)
	if h, s, err := ParseSaleStream(name); err != nil || h != host || s != slot {
		t.Errorf("%s is read as %v, %v, %v", name, h, s, err)
	}
	for _, bad := range []string{
		"", "sale", "sale-1-2", TxStream(host), name + "-1",
		"sales" + name[4:], "sale-" + slot.String() + "-" + host.String(),
	} {
		if _, _, err := ParseSaleStream(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v, want malformed", bad, err)
		}
	}
	sector := SectorStream(host, 17)
	if h, n, err := ParseSectorStream(sector); err != nil || h != host || n != 17 {
		t.Errorf("%s is read as %v, %d, %v", sector, h, n, err)
	}
	for _, bad := range []string{
		"", "sector", "sector-1-2", name, sector + "-1", SectorStream(host, 0), "sector-" + host.String() + "-017",
		"sector-" + host.String() + "-18446744073709551616",
	} {
		if _, _, err := ParseSectorStream(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v, want malformed", bad, err)
		}
	}
	for stream, want := range map[string]string{
		sector: CategorySector, name: CategorySale, HostStream(host): CategoryHost, CapacityStream(host): CategoryCapacity,
		SlotQueueStream(host): CategorySlotQueue, TxStream(host): CategoryTx,
		MarketStream(7, host): CategoryMarket, "nodash": "nodash", "a-b-c": "a", "": "", "-x": "",
	} {
		if got := Category(stream); got != want {
			t.Errorf("category of %q is %q, want %q", stream, got, want)
		}
	}
}

func FuzzParseIDs(f *testing.F) {
	f.Add("0x" + strings.Repeat("ab", 32))
	f.Add(strings.Repeat("0", 40))
	f.Add(NewEventID("a", "b", 1).String())
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseSlotID(text); err == nil {
			if back, err := ParseSlotID(id.String()); err != nil || back != id {
				t.Fatalf("slot %q: %v, then %v, %v", text, id, back, err)
			}
		}
		if a, err := ParseAddress(text); err == nil {
			if back, err := ParseAddress(a.String()); err != nil || back != a {
				t.Fatalf("address %q: %v, then %v, %v", text, a, back, err)
			}
		}
		if id, err := ParseEventID(text); err == nil {
			if back, err := ParseEventID(id.String()); err != nil || back != id {
				t.Fatalf("event id %q: %v, then %v, %v", text, id, back, err)
			}
		}
		if h, s, err := ParseSaleStream(text); err == nil {
			if h2, s2, err := ParseSaleStream(SaleStream(h, s)); err != nil || h2 != h || s2 != s {
				t.Fatalf("sale stream %q: %v %v, then %v %v, %v", text, h, s, h2, s2, err)
			}
		}
	})
}

func TestSnapshotsHaveStreamsOfTheirOwn(t *testing.T) {
	host := Address{1}
	for of, want := range map[string]string{
		SlotQueueStream(host):       "slotqueueSnapshot-" + host.String(),
		HostStream(host):            "hostSnapshot-" + host.String(),
		LedgerStream(host, "north"): "capacitySnapshot-" + host.String() + "-north",
	} {
		got := SnapshotStream(of)
		if got != want || !IsSnapshot(got) || IsSnapshot(of) || IsSnapshot(MetadataStream(got)) {
			t.Errorf("snapshots of %s are in %s", of, got)
		}
	}
}

func TestAnAddressInMixedCaseMustHaveItsChecksum(t *testing.T) {
	const right = "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" // An example of EIP-55.
	for text, ok := range map[string]bool{
		"0x" + right: true, "0x" + strings.ToLower(right): true, "0x" + strings.ToUpper(right): true,
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD": false, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee": false,
		right: true,
	} {
		_, err := ParseAddress(text)
		if ok != (err == nil) || !ok && !(errors.Is(err, ErrChecksum) && errors.Is(err, ErrMalformed)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
