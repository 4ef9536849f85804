package slotqueue

import (
	"testing"

	"github.com/hostnode/hostnode/internal/housetest"
	"github.com/hostnode/hostnode/messages"
)

func TestTheShapeOfASnapshotIsThatOfItsSchema(t *testing.T) {
	housetest.Shape(t, StateSchema, "StateSchema in pieces.go", &messages.QueueState{}, Snapshot{})
}
