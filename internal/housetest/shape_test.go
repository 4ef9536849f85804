package housetest

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

type mood uint8

func (m mood) String() string { return [...]string{"calm", "cross"}[m] }

type inner struct {
	Mood mood
	ID   [2]byte
}

type outer struct {
	Since time.Time
	By    map[string][]inner
	Again *inner
}

func TestAShapeHasEveryFieldAndTheNamesOfNumbers(t *testing.T) {
	want := `
housetest.outer
  housetest.outer.Since time.Time
  housetest.outer.By map[string][]housetest.inner
  housetest.outer.Again *housetest.inner

housetest.inner
  housetest.inner.Mood housetest.mood (uint8)
  housetest.inner.ID [2]uint8

housetest.mood
  housetest.mood 0: calm
  housetest.mood 1: cross

message Timestamp
  Timestamp.seconds optional int64 = 1
  Timestamp.nanos optional int32 = 2
`
	if got := shapeOf(outer{}, &timestamppb.Timestamp{}); got != want {
		t.Fatalf("the shape is\n%s", changes(want, got))
	}
	if got := changes(want, strings.Replace(want, "cross", "glad", 1)); got !=
		"-  housetest.mood 1: cross\n+  housetest.mood 1: glad\n" {
		t.Fatalf("the change is\n%s", got)
	}
}
