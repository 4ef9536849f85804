package projections

import (
	"testing"

	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/internal/housetest"
)

func TestTheShapeOfACheckpointIsThatOfItsSchema(t *testing.T) {
	parts := append(newHost("", Limits{}).parts(), snapshot.Event{}, Problem{})
	housetest.Shape(t, checkpointSchema, "checkpointSchema in checkpoint.go", parts...)
}
