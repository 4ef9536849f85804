package events

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/hostnode/hostnode/messages"
)

func TestPiecesHoldAllBitsInOrderAndStayWithinTheBound(t *testing.T) {
	for _, n := range []int{0, 1, 20_000, 100_000} {
		var p Pieces
		slot := bytes.Repeat([]byte{7}, 32)
		for i := range n {
			p.Add(&messages.LedgerState{Settled: []*messages.LedgerSettled{{SlotId: slot, Attempt: uint32(i)}}})
		}
		pieces := p.All()
		if want := n*44/MaxPieceBytes + 1; len(pieces) > want {
			t.Errorf("%d bits are in %d pieces, want at most %d", n, len(pieces), want)
		}
		next := 0
		err := JoinPieces(pieces, func(m *messages.LedgerState) error {
			for _, s := range m.GetSettled() {
				if int(s.GetAttempt()) != next {
					return errNegative
				}
				next++
			}
			return nil
		})
		if err != nil || next != n {
			t.Errorf("%d of %d bits came back, %v", next, n, err)
		}
		for _, piece := range pieces {
			if len(piece) > MaxPieceBytes {
				t.Errorf("a piece has %d bytes", len(piece))
			}
		}
	}
}

func TestABitThatIsLargerThanAPieceGetsItsOwn(t *testing.T) {
	var p Pieces
	small := &messages.LedgerState{Book: &messages.LedgerBook{Quota: 1}}
	p.Add(small)
	p.Add(&messages.LedgerState{Book: &messages.LedgerBook{FirstFault: string(make([]byte, MaxPieceBytes))}})
	p.Add(small)
	if n := len(p.All()); n != 3 {
		t.Fatalf("%d pieces", n)
	}
}

func TestPiecesThatCannotBeReadAreMalformed(t *testing.T) {
	for _, pieces := range [][][]byte{{{}, {0xff}}, {{1}}} {
		err := JoinPieces(pieces, func(*messages.LedgerState) error { return nil })
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%x: %v", pieces, err)
		}
	}
	refused := JoinPieces([][]byte{{}}, func(*emptypb.Empty) error { return errNegative })
	if !errors.Is(refused, errNegative) || !errors.Is(refused, ErrMalformed) {
		t.Errorf("%v", refused)
	}
}
