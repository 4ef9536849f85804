package aggregation

import (
	"maps"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/saved"
	"github.com/hostnode/hostnode/projections/machine"
	"github.com/hostnode/hostnode/prover/commd"
)

// Cargo is what is shown of a host's ledger of pieces.
type Cargo struct {
	// Queued, Aggregated, Approved and Refused count the pieces by where they are.
	Queued     int `json:"queued"`
	Aggregated int `json:"aggregated"`
	Approved   int `json:"approved"`
	Refused    int `json:"refused"`
	// Groups has the padded bytes of each group.
	Groups map[string]cargo.Group `json:"groups"`
	// OldestQueued is when the oldest piece was queued that is queued still.
	OldestQueued time.Time `json:"oldestQueued,omitzero"`
	Queue        []Piece   `json:"queue"`    // the first 1,000, by priority
	Isolated     int       `json:"isolated"` // lists that wait to be tried alone
	// Ferries are all lists, in the order in which they were made, with those that became aggregates.
	Ferries []Ferry `json:"ferries"`
	// State is what all of this was made from, for what else is asked in this process. It must not be changed.
	State cargo.State `json:"-"`
}

// Piece is a queued piece.
type Piece struct {
	Priority uint64    `json:"priority"`
	Piece    string    `json:"piece"` // its piece CID
	Size     uint64    `json:"size"`
	Content  string    `json:"content"`
	Group    string    `json:"group,omitempty"`
	Inserted time.Time `json:"inserted"`
	Attempts uint8     `json:"attempts,omitempty"` // aggregates with it that were rejected without a list
	Ferry    string    `json:"ferry,omitempty"`    // on which it is
	Isolated bool      `json:"isolated,omitempty"` // it is suspected, and tried with few others
}

// Ferry is a list of pieces that travel together, or the aggregate that it became.
type Ferry struct {
	ID        string           `json:"id"`
	State     cargo.FerryState `json:"state"`
	Class     uint64           `json:"class"` // of an aggregate its size
	Pieces    int              `json:"pieces"`
	Bytes     uint64           `json:"bytes"` // padded, of its pieces
	Full      bool             `json:"full,omitempty"`
	Isolated  bool             `json:"isolated,omitempty"`
	Attempt   uint8            `json:"attempt,omitempty"`
	Aggregate string           `json:"aggregate,omitempty"` // its piece CID
	Since     time.Time        `json:"since"`               // the list was made
	Made      time.Time        `json:"made,omitzero"`
	Ended     time.Time        `json:"ended,omitzero"`
	Reason    string           `json:"reason,omitempty"` // why it is rejected
}

// cargoView is the view. Its row is made once for all who ask between two events, and must not be changed.
type cargoView struct {
	state cargoState
	mu    sync.Mutex
	rows  []Cargo
}

// cargoState is what a checkpoint holds.
type cargoState struct{ Ledger saved.Cargo }

func newCargoView() machine.View { return &cargoView{state: cargoState{saved.NewCargo()}} }

// Fold implements machine.View.
func (v *cargoView) Fold(_ events.Recorded, m proto.Message) bool {
	e, own := m.(messages.CargoEvent)
	if own {
		v.state.Ledger.State = cargo.Evolve(v.state.Ledger.State, e)
		v.rows = nil
	}
	return own
}

// State implements machine.View.
func (v *cargoView) State() any {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rows = nil // It may be read anew.
	return &v.state
}

// Rows implements machine.View. Sharing the ledger changes it, so those who ask at once wait for each other.
func (v *cargoView) Rows() any {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.rows == nil {
		v.rows = []Cargo{cargoRow(v.state.Ledger.Share())}
	}
	return v.rows
}

func cargoRow(s cargo.State) Cargo {
	row := Cargo{
		Queued: s.Counts[cargo.Queued], Aggregated: s.Counts[cargo.Aggregated], Approved: s.Counts[cargo.Approved],
		Refused: s.Counts[cargo.Refused], Groups: maps.Clone(s.Groups), Queue: []Piece{}, Ferries: []Ferry{},
		Isolated: len(s.Shown().Isolated), State: s,
	}
	row.OldestQueued, _ = s.Oldest()
	for _, priority := range s.Waiting(most) {
		p, _ := s.Piece(priority)
		one := Piece{
			Priority: priority, Piece: commd.CID(p.Root), Size: p.Size(), Content: p.Content.String(),
			Group: s.Group(p), Inserted: clock(p.At), Attempts: p.Attempts, Isolated: p.Suspected(),
		}
		if f := s.Ferry(p); f != nil {
			one.Ferry = f.ID
		}
		row.Queue = append(row.Queue, one)
	}
	for _, f := range s.Ferries() {
		row.Ferries = append(row.Ferries, FerryOf(f))
	}
	return row
}

// FerryOf is what is shown of a ferry.
func FerryOf(f *cargo.Ferry) Ferry {
	return Ferry{
		ID: f.ID, State: f.State, Class: f.Class, Pieces: len(f.Pieces), Bytes: f.Bytes, Full: f.Full,
		Isolated: f.Isolated, Attempt: f.Attempt, Aggregate: f.Aggregate, Since: clock(f.Since), Made: clock(f.Made),
		Ended: clock(f.Ended), Reason: f.Reason,
	}
}

// clock is a point in time from seconds; 0: none.
func clock(seconds int64) (at time.Time) {
	if seconds != 0 {
		at = time.Unix(seconds, 0).UTC()
	}
	return at
}
