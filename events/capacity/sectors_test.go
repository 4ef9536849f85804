package capacity

import (
	"errors"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// holdFew is a sector of ten bytes with a deposit of five.
var holdFew = Hold{At: start, Sector: 1, Space: Space{Sealed: 10}, Deposit: amount(5)}

func TestASectorsSpaceIsRefusedOrHeldOnce(t *testing.T) {
	other := holdFew
	other.Space.Sealed = 11
	second := Hold{At: start, Sector: 2, Space: Space{Sealed: 90}, Deposit: amount(1), MaxDeposits: ptr(amount(5))}
	free := second
	free.Deposit = amount(0)
	outside := free
	outside.Quota = 99
	ended := []Command{holdFew, ReleasePart{start, 1, PartSealed}, SettleDeposit{At: start, Sector: 1}}
	var space *SpaceError
	var deposit *DepositError
	for _, test := range []struct {
		name  string
		given []Command
		when  Command
		want  any // nil: accepted
	}{
		{"all there is", []Command{holdFew}, free, nil},
		{"one byte more than there is", []Command{holdFew}, Hold{Sector: 2, Space: Space{Tree: 91}}, &space},
		{"one byte more than the host may use", []Command{holdFew}, outside, &space},
		{"a deposit that is one too much", []Command{holdFew}, second, &deposit},
		{"a larger deposit that is one too much", []Command{holdFew}, SettleDeposit{
			Sector: 1, Held: amount(7), MaxDeposits: ptr(amount(6)),
		}, &deposit},
		{"a larger deposit", []Command{holdFew}, SettleDeposit{
			Sector: 1, Held: amount(6), Lost: amount(5), MaxDeposits: ptr(amount(6)),
		}, nil},
		{
			"a loss that shrinks",
			[]Command{holdFew, SettleDeposit{Sector: 1, Held: amount(4), Lost: amount(1)}},
			SettleDeposit{Sector: 1},
			ErrInvalid,
		},
		{"the same again", []Command{holdFew}, holdFew, nil},
		{"a withdrawal", nil, Withdraw{start, 1, amount(5), events.Hash{1}}, nil},
		{
			"the same again",
			[]Command{Withdraw{start, 1, amount(5), events.Hash{1}}},
			Withdraw{start, 1, amount(7), events.Hash{2}},
			nil,
		},
		{"one too many", nil, Withdraw{start, 2, amount(5), events.Hash{1}}, ErrInvalid},
		{"a withdrawal of nothing", nil, Withdraw{At: start, Number: 1}, ErrInvalid},
		{"other space", []Command{holdFew}, other, ErrHeld},
		{"scratch space once more, and there is none", []Command{
			Hold{Sector: 1, Space: Space{Sealed: 10, Scratch: 9}},
			ReleasePart{start, 1, PartScratch},
			Hold{Sector: 2, Space: Space{Sealed: 90}},
		}, Hold{Sector: 1, Space: Space{Sealed: 10, Scratch: 9}}, &space},
		{"after the end", ended, holdFew, ErrEnded},
		{"no sector", nil, Hold{Space: Space{Tree: 1}}, ErrInvalid},
		{"no space", nil, Hold{Sector: 1}, ErrInvalid},
		{"more than can be", nil, Hold{Sector: 1, Space: Space{Scratch: MaxQuota + 1}}, ErrInvalid},
		{"a part that nobody knows", []Command{holdFew}, ReleasePart{start, 1, "cache"}, ErrInvalid},
		{"a part that is not held", []Command{holdFew}, ReleasePart{start, 1, PartTree}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, append([]Command{SetQuota{At: start, Bytes: 100}}, test.given...)...)
			_, err := Decide(s, test.when)
			switch want := test.want.(type) {
			case nil:
				if err != nil {
					t.Fatal(err)
				}
			case error:
				if !errors.Is(err, want) {
					t.Fatalf("%v, want %v", err, want)
				}
			default:
				if !errors.As(err, want) || err.Error() == "" {
					t.Fatalf("%v, want a %T", err, want)
				}
			}
		})
	}
}

func TestTheLedgerHoldsSoManySectorsAndNoMore(t *testing.T) {
	s := NewWithin(Limits{MaxSectors: 1})
	for _, c := range []Command{SetQuota{At: start, Bytes: 100}, holdFew} {
		s, _ = step(t, s, c)
	}
	if _, err := Decide(s, Hold{Sector: 2, Space: Space{Tree: 1}}); !errors.Is(err, ErrLimit) {
		t.Fatalf("a second sector: %v, want %v", err, ErrLimit)
	}
}

// Bytes that sectors hold do not count as free for availabilities.
func TestWhatSectorsHoldIsNotOnOffer(t *testing.T) {
	s := given(t, SetQuota{At: start, Bytes: 1005}, holdFew)
	var none *SpaceError
	if _, err := Decide(s, create); !errors.As(err, &none) || none.Book.Sectors != 10 {
		t.Fatalf("an availability of 1000 bytes beside a sector in 1005: %v", err)
	}
	if s.Book().Allocated() != 10 || s.Book().Sectors != events.Bytes(10) {
		t.Fatalf("%s", s.Book())
	}
}

// A sector that is sealed again gets scratch space once more, and nothing else.
func TestScratchSpaceIsHeldAnew(t *testing.T) {
	hold := Hold{At: start, Sector: 1, Space: Space{Sealed: 10, Tree: 3, Scratch: 7}, Deposit: amount(5)}
	s := given(t, SetQuota{At: start, Bytes: 100}, hold, ReleasePart{start, 1, PartScratch})
	if got := s.Book().Sectors; got != 13 {
		t.Fatalf("sectors hold %d", got)
	}
	s, _ = step(t, s, ReleasePart{start, 1, PartTree})
	s, out := step(t, s, hold)
	one, _ := s.Sector(1)
	if len(out) != 1 || one.Scratch != 7 || one.Tree != 0 || one.Deposit != amount(5) || s.Book().Sectors != 17 {
		t.Fatalf("%v: it has %+v, sectors hold %d", out, one, s.Book().Sectors)
	}
	if again, err := Decide(s, hold); err != nil || len(again) > 0 {
		t.Fatalf("a second time: %v, %v", again, err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}
