package audit

import (
	"testing"

	"github.com/hostnode/hostnode/internal/housetest"
)

func TestTheShapeOfACheckpointIsThatOfItsSchema(t *testing.T) {
	parts := append(newAuditor(Options{}).parts(), host{}, stream{}, life{}, account{}, sectorLife{})
	housetest.Shape(t, checkpointSchema, "checkpointSchema in save.go", parts...)
}
