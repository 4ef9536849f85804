package api_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/pages"
	"github.com/hostnode/hostnode/events"
)

// maxPage is the most bytes of a page, whatever the size of the host.
const maxPage = 300_000

// pagesOf are the addresses of all pages, each about something that a large host has.
func pagesOf() (all []string) {
	fill := strings.NewReplacer("{slot}", slotOf(2).String(), "{id}", events.AvailabilityID{0xa1, 1}.String(),
		"{machine}", events.CategorySale, "{stream}", events.SaleStream(me, slotOf(1)), "{number}", "7", "{node}", "node-1")
	for _, p := range pages.All(machines.Pages()) {
		if at := fill.Replace(p.Path); p.File == nil && !strings.Contains(at, "{") &&
			p.Path != "aggregation/find" { // It needs a piece.
			all = append(all, page.Root+at)
		}
	}
	return append(all, page.To("earnings")+"?by=slot", page.To("proofs")+"?outcome=submitted")
}

func siteOf(live *api.Live) *page.Site {
	s := page.New(pages.All(machines.Pages()), silent())
	s.Answer(live)
	return s
}

func shown(s *page.Site, at string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, at, nil))
	return answer
}

func TestPagesOfARunningHostAreThereAndSmall(t *testing.T) {
	live, _ := largeHost(t, scale{40, 60, 500, 20, 3})
	s := siteOf(live)
	for _, at := range pagesOf() {
		answer := shown(s, at)
		if answer.Code != http.StatusOK || answer.Body.Len() > maxPage || !strings.Contains(answer.Body.String(), "</html>") {
			t.Errorf("%s: %d with %d bytes: %.300s", at, answer.Code, answer.Body.Len(), answer.Body)
		}
	}
}

// BenchmarkPages makes each page of the host of BenchmarkAnswers, one after the other. Of each it reports the processor
// time, how long the slowest hundredth took at least, and its bytes.
func BenchmarkPages(b *testing.B) {
	live, _ := largeHost(b, issueScale)
	s := siteOf(live)
	for _, at := range pagesOf() {
		b.Run(strings.NewReplacer("/page/", "", "/", ":").Replace(at), func(b *testing.B) {
			var took []time.Duration
			var bytes int
			cpu := cpuTime(b)
			for b.Loop() {
				began := time.Now()
				answer := shown(s, at)
				took = append(took, time.Since(began))
				if bytes = answer.Body.Len(); answer.Code != http.StatusOK || bytes > maxPage {
					b.Errorf("%d with %d bytes", answer.Code, bytes)
				}
			}
			b.ReportMetric((cpuTime(b)-cpu).Seconds()*1000/float64(len(took)), "cpu-ms/page")
			slices.Sort(took)
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
			b.ReportMetric(float64(bytes), "B/page")
			b.ReportMetric(0, "ns/op") // Says less than the others.
		})
	}
}
