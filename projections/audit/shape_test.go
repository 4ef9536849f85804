package audit

import (
	"testing"

	"github.com/hostnode/hostnode/internal/housetest"
)

func TestTheShapeOfACheckpointIsThatOfItsSchema(t *testing.T) {
	housetest.Shape(t, checkpointSchema, "checkpointSchema in save.go", header{}, memory{})
}
