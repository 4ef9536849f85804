package audit

import (
	"testing"

	"github.com/hostnode/hostnode/internal/housetest"
	"github.com/hostnode/hostnode/projections/catalog"
)

func TestTheShapeOfACheckpointIsThatOfItsSchema(t *testing.T) {
	parts := append(newAuditor(Options{}).parts(), host{}, stream{}, life{}, account{}, sectorLife{})
	for _, m := range catalog.Machines() {
		parts = append(parts, m.Judge().State())
	}
	housetest.Shape(t, checkpointSchema, "checkpointSchema in save.go", parts...)
}
