package replay

import "testing"

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
