package actors

import (
	"testing"

	"github.com/hostnode/hostnode/internal/housetest"
	"github.com/hostnode/hostnode/messages"
)

func TestTheShapeOfTheListOfLivingSalesIsThatOfItsSchema(t *testing.T) {
	housetest.Shape(t, livingSalesSchema, "livingSalesSchema in livingsales.go", &messages.HostState{})
}
