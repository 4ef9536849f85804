package api

import (
	"reflect"
	"strconv"
	"testing"
)

func TestWhatCountsWithoutAParameterIsOneNumber(t *testing.T) {
	for question, want := range map[any]int{SalesQuestion{}: DefaultSettled, TimelineQuestion{}: DefaultMoments} {
		kind, found := reflect.TypeOf(question), false
		for i := range kind.NumField() {
			found = found || kind.Field(i).Tag.Get("default") == strconv.Itoa(want)
		}
		if !found {
			t.Errorf("%s has another default than %d", kind, want)
		}
	}
}
