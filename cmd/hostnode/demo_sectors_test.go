//go:build !race

package main

import "testing"

// The host runs in a second process, which is killed, so the detector has little to find; and keys are made.
func TestTheDemonstrationOfSectorsShowsWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole demonstration")
	}
	runScripts(t, "testdata/demo")
}

// Four hosts run in processes of their own, and keys are made.
func TestTheDemonstrationOfDowntimeShowsWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole demonstration")
	}
	runScripts(t, "testdata/demo/downtime")
}

// The broker and the host run in processes of their own, and keys are made.
func TestTheDemonstrationOfAggregationShowsWhatItSays(t *testing.T) {
	runScripts(t, "testdata/demo/aggregation")
}
