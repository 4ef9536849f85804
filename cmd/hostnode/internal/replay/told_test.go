package replay

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

func TestEventsOfAlertsAreToldInSentences(t *testing.T) {
	stream, told := events.AlertStream(events.Address{1}), []string{}
	all := slices.Collect(func(yield func(alert.Event) bool) {
		for _, e := range alert.Table() {
			if !yield(e.Example.(alert.Event)) {
				return
			}
		}
	})
	for _, m := range append(all, &messages.AlertsUnmuted{Kind: "disk-full", At: events.TimeToMessage(alert.At(all[0]))}) {
		name, version, data, err := catalog.Codec().Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		e := Told(events.Recorded{Stream: stream, Type: name, Data: data, Meta: events.Metadata{Version: version}})
		told = append(told, strings.ReplaceAll(e.Sentence, events.ExampleID, "ID"))
	}
	want := []string{
		"Alert 1, warning slot-damaged about ID: data is damaged.",
		"Alert 1 again, critical: it is gone.",
		"Alert 1 is over: it is sound again.",
		"anna knows of alert 1: on my way.",
		"anna muted alerts of slot-damaged about ID until 2023-11-14T22:13:20Z: a new disk.",
		"anna had alerts of slot-damaged about ID delivered again.",
		"Alerts are delivered by command and webhook.",
		"webhook took alert 1, as over.",
		"webhook did not take alert 1, as over (failures in a row: 2), and is tried again at 2023-11-14T22:13:20Z: " +
			"the answer is 500.",
		"The mute of alerts of disk-full has ended.",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEventsAreToldInOneLineHoweverTheirJSONIsSpaced(t *testing.T) {
	const want = "at: 2031-04-05T06:07:08Z, epoch: 1, slots: [a, b], n: 5, node: "
	for _, text := range []string{
		`{"at":"2031-04-05T06:07:08Z","epoch":"1","slots":["a","b"],"n":5,"node":""}`,
		`{"at":"2031-04-05T06:07:08Z", "epoch":"1", "slots":["a", "b"], "n":5, "node":""}`,
		`{"at":  "2031-04-05T06:07:08Z",  "epoch":"1",  "slots":["a",  "b"],  "n":5, "node":""}`,
	} {
		if got := compact(text); got != want {
			t.Errorf("%s is told as\n%s, want\n%s", text, got, want)
		}
	}
}
