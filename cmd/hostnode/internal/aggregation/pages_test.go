package aggregation_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	room "github.com/hostnode/hostnode/actors/aggregation"
	inclusion "github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/proof"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page/pagetest"
	"github.com/hostnode/hostnode/events"
)

func pages(t *testing.T) pagetest.Browser {
	t.Helper()
	return pagetest.Open(t, pagetest.Recorded(t, pagetest.History{Root: "../../../..", Name: "aggregation"}))
}

// first is the first address in a page that a pattern finds.
func first(t *testing.T, body, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(`href="(` + pattern + `)"`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("no %s in %s", pattern, pagetest.Text(body))
	}
	return found[1]
}

func TestThePipelineIsShown(t *testing.T) {
	b := pages(t)
	b.Shows(t, "/page/aggregation", "4 CARs are to be read", "4 pieces wait for an aggregate", "tried alone",
		"1 aggregate waits for a deal", "Problem 17 REJECTED", "unreadable 1 bad piece", "OK 18 APPROVED",
		"not believed", "Problem block-digest block 3 is another one")
	_, list := b.Get(t, "/page/aggregation")
	_, after, _ := strings.Cut(list, `id="pieces"`)
	b.Shows(t, first(t, after, "/page/aggregation/pieces/[a-z0-9]+"), "queued, and waits for", "since 2023-11-15 00:4",
		"The client may delete the CAR.", "Group free")
	_, after, _ = strings.Cut(list, `id="approved"`)
	aggregate := first(t, after, "/page/aggregation/aggregates/[a-z0-9]+")
	b.Shows(t, aggregate, "State approved", "Deal OK APPROVED 18", "Its pieces")
	_, body := b.Get(t, aggregate)
	b.Shows(t, first(t, body, "/page/aggregation/pieces/[a-z0-9]+"), "OK APPROVED", "Aggregate baga6ea4")
}

// orders keeps what is ordered.
type orders struct {
	api.Backend
	given []room.Order
}

func (o *orders) Order(_ context.Context, order room.Order) (a room.Answer, err error) {
	o.given = append(o.given, order)
	return a, nil
}

func TestAFailedAggregateIsReportedByAForm(t *testing.T) {
	b := pages(t)
	_, list := b.Get(t, "/page/aggregation")
	_, after, _ := strings.Cut(list, `id="approved"`)
	if _, body := b.Get(t, first(t, after, "/page/aggregation/aggregates/[a-z0-9]+")); strings.Contains(body, `id="report"`) {
		t.Error("an approved aggregate has the form")
	}
	_, after, _ = strings.Cut(list, `id="aggregates"`)
	at := first(t, after, "/page/aggregation/aggregates/[a-z0-9]+")
	form := url.Values{"do": {"report"}, "bad": {"one, two\r\nthree"}, "reason": {"typed <b>"}}
	status, body := b.Post(t, at, form)
	if status < 400 || !strings.Contains(body, "one\ntwo\nthree</textarea>") || !strings.Contains(body, `value="typed &lt;b&gt;"`) {
		t.Errorf("%d %s", status, body)
	}
	b.Shows(t, at, "Say that it failed", "No broker is to store it")

	running := &orders{}
	status, _ = pagetest.Open(t, running).Post(t, at, form)
	var given []room.Report
	for _, o := range running.given {
		given = append(given, *o.Report)
	}
	want := []room.Report{{By: "anna", DealReport: events.DealReport{
		Aggregate: at[strings.LastIndex(at, "/")+1:], Status: events.DealRejected, Reason: "typed <b>",
		Bad: []string{"one", "two", "three"},
	}}}
	if diff := cmp.Diff(want, given); status != http.StatusSeeOther || diff != "" {
		t.Errorf("%d %s", status, diff)
	}
}

func TestAProofIsShownAndSaved(t *testing.T) {
	b := pages(t)
	_, list := b.Get(t, "/page/aggregation")
	_, after, _ := strings.Cut(list, `id="approved"`)
	_, body := b.Get(t, first(t, after, "/page/aggregation/aggregates/[a-z0-9]+"))
	_, body = b.Get(t, first(t, body, "/page/aggregation/pieces/[a-z0-9]+"))
	shown := first(t, body, "/page/aggregation/pieces/[a-z0-9]+/proof")
	b.Shows(t, shown, "Save the file", inclusion.Format)
	status, saved := b.Get(t, shown+".json")
	f, err := inclusion.Read(strings.NewReader(saved))
	if err == nil {
		err = f.Verify()
	}
	if status != http.StatusOK || err != nil || !json.Valid([]byte(saved)) {
		t.Errorf("%d %v: %s", status, err, saved)
	}
}

func TestARefusedCARIsReadAgainByAForm(t *testing.T) {
	b := pages(t)
	_, list := b.Get(t, "/page/aggregation")
	_, after, _ := strings.Cut(list, `id="refused"`)
	at := first(t, after, "/page/aggregation/pieces/[a-z0-9]+")
	cid := at[strings.LastIndex(at, "/")+1:]
	for _, address := range []string{at, "/page/aggregation/find?cid=" + cid} {
		b.Shows(t, address, "Problem refused: block-digest", "The client may delete the CAR.", "Read it again")
	}
	status, body := b.Post(t, at, url.Values{"do": {"retry"}, "link": {cid}, "reason": {"typed"}})
	if status < 400 || !strings.Contains(body, `value="typed"`) {
		t.Errorf("%d %s", status, pagetest.Text(body))
	}
}
