package api

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePackageDocListsTheCalls(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var listed, declared []string
	for _, m := range regexp.MustCompile(`(?m)^//\t(GET|POST|PATCH|DELETE) +/v1/([^? \n]+)`).FindAllSubmatch(text, -1) {
		if path := string(m[2]); path != "past/status" && "/v1/"+path != exportPath { // These are no calls.
			listed = append(listed, string(m[1])+" "+path)
		}
	}
	for _, c := range Calls() {
		declared = append(declared, Place(c))
	}
	slices.Sort(listed)
	slices.Sort(declared)
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Error(diff)
	}
}

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
