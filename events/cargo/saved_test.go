package cargo

import (
	"errors"
	"testing"
	"time"

	"github.com/hostnode/hostnode/internal/housetest"
)

func TestTheShapeOfWhatIsSavedIsThatOfItsSchema(t *testing.T) {
	housetest.Shape(t, StateSchema, "StateSchema in saved.go", Saved{})
}

func FuzzRestore(f *testing.F) {
	f.Add(make([]byte, savedPiece), uint64(1), uint64(7))
	f.Add([]byte{1}, uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, pieces []byte, one, other uint64) {
		from := Saved{
			Pieces: pieces, Names: []string{"a"}, Last: 1, Suspects: [][]uint64{{one, other}}, Releasable: []uint64{other},
			Ferries: []*Ferry{{Number: 1, ID: "list", Pieces: []uint64{one, other}, Full: one%2 == 0, State: Made, Aggregate: "a"}},
		}
		s, err := Restore(from)
		if err != nil {
			if !errors.Is(err, ErrSaved) {
				t.Fatal(err)
			}
			return
		}
		if again := string(s.Saved().Pieces); len(again) != len(pieces) {
			t.Errorf("%d bytes became %d", len(pieces), len(again))
		}
		_ = s.Check()
		_ = Documented().Plan(s, time.Unix(0, 0))
		s.Waiting(10)
	})
}
