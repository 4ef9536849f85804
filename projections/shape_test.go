package projections

import (
	"testing"

	"github.com/hostnode/hostnode/internal/housetest"
)

func TestTheShapeOfACheckpointIsThatOfItsSchema(t *testing.T) {
	housetest.Shape(t, checkpointSchema, "checkpointSchema in checkpoint.go", checkpoint{}, savedViews{})
}
