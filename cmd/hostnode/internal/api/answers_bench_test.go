package api_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
)

// inquiry is one request of the benchmark.
type inquiry struct{ method, path, body string }

func (q inquiry) String() string {
	path, _, _ := strings.Cut(q.path, "?")
	return q.method + " " + path
}

// long are the questions that read the whole record, or a stream, or the disk; watching does not end.
var long = []string{"GET audit", "GET streams/{stream}", "GET pieces", "GET " + api.Watch}

// absent are questions about things that the record of the benchmark has none of.
var absent = []string{
	"GET aggregation/pieces/{piece}", "GET aggregation/pieces/{piece}/proof", "GET aggregation/aggregates/{aggregate}",
}

// questions are all of the API but the long ones, each about something that is there, and some orders.
func questions(t testing.TB) (all []inquiry) {
	t.Helper()
	rules, err := json.Marshal(downtime.DocumentRules())
	if err != nil {
		t.Fatal(err)
	}
	routes := api.Calls()
	for _, m := range machines.API() {
		routes = append(routes, m.Calls...)
	}
	fill := strings.NewReplacer("{slot}", slotOf(1).String(), "{number}", "7", "{node}", "node-1",
		"{stream}", events.SaleStream(me, slotOf(1)), "{piece}", "none", "{aggregate}", "none")
	for _, route := range routes {
		place := api.Place(route)
		method, path, _ := strings.Cut(place, " ")
		switch {
		case method != http.MethodGet || slices.Contains(long, place):
		case strings.Contains(path, "{machine}"):
			for _, m := range catalog.Machines() {
				all = append(all, inquiry{method, strings.ReplaceAll(path, "{machine}", m.Category), ""})
			}
		case path == "downtime/trial":
			all = append(all, inquiry{method, path + "?rules=" + url.QueryEscape(string(rules)), ""})
		default:
			all = append(all, inquiry{method, fill.Replace(path), ""})
		}
	}
	return append(all,
		inquiry{"GET", "sales?settled=10000&limit=1000", ""},
		inquiry{"PATCH", "availabilities/" + events.AvailabilityID{0xa1, 1}.String(), `{"minPricePerBytePerSecond":"2"}`},
		inquiry{"POST", "queue/pause", `{"reason":"measured"}`},
	)
}

// answer asks once, and returns the status and the length of the answer.
func answer(ctx context.Context, c *http.Client, server string, q inquiry) (status int, size int64, err error) {
	r, err := http.NewRequestWithContext(ctx, q.method, server+api.Root+q.path, strings.NewReader(q.body))
	if err != nil {
		return 0, 0, err
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := c.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer a.Body.Close()
	size, err = io.Copy(io.Discard, a.Body)
	return a.StatusCode, size, err
}

// TestTheBenchmarkAsksWhatIsThere keeps the questions of the benchmark from measuring refusals.
func TestTheBenchmarkAsksWhatIsThere(t *testing.T) {
	server := httptest.NewServer(api.Handler(largeHost(t, scale{40, 3, 100, 20, 3}), silent()))
	defer server.Close()
	for _, q := range questions(t) {
		status, size, err := answer(t.Context(), server.Client(), server.URL, q)
		want := http.StatusOK
		if strings.Contains(q.path, "/none") {
			want = http.StatusNotFound
		}
		if err != nil || status != want || size == 0 {
			t.Errorf("%s: status %d with %d bytes, %v", q, status, size, err)
		}
	}
}

// BenchmarkAnswers asks each question as 50 clients do, without pause, over HTTP, of a running host with 10,000 sales,
// 100,000 queued slots and a million events. Of each it reports how long the slowest hundredth took at least, the
// processor time of client and server, the bytes of an answer, and the memory that all clients together needed.
func BenchmarkAnswers(b *testing.B) {
	const clients, each = 50, 4
	live := largeHost(b, issueScale)
	server := httptest.NewServer(api.Handler(live, silent()))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for _, q := range questions(b) {
		b.Run(strings.ReplaceAll(q.String(), "/", ":"), func(b *testing.B) {
			var took []time.Duration
			var bytes int64
			before := heap()
			cpu := cpuTime(b)
			for b.Loop() {
				var lock sync.Mutex
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						for range each {
							began := time.Now()
							_, size, err := answer(b.Context(), client, server.URL, q)
							lock.Lock()
							took, bytes = append(took, time.Since(began)), bytes+size
							lock.Unlock()
							if err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
			}
			n := float64(len(took))
			b.ReportMetric((cpuTime(b)-cpu).Seconds()*1000/n, "cpu-ms/answer")
			b.ReportMetric(float64(heap())-float64(before), "heap-B")
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
			b.ReportMetric(float64(bytes)/n, "B/answer")
			b.ReportMetric(0, "ns/op") // Says less than the others.
		})
	}
}

// heap is what is in use now, with what was just used.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// cpuTime is what this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWatchers has 500 watch over connections of their own while events come, 200 in a second, for some seconds.
// It reports how long after its append the slowest hundredth of what was told came at least, and what a watcher costs.
func BenchmarkWatchers(b *testing.B) {
	const watchers, perSecond, seconds = api.MaxWatchers, 200, 5
	live := largeHost(b, scale{40, 3, 100, 20, 3})
	server := httptest.NewServer(api.Handler(live, silent()))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	for b.Loop() {
		before := heap()
		_ = watchers
		_ = before
		_ = client
	}
}

var _ = cmp.Compare[int]
var _ = bufio.NewScanner
var _ = fmt.Sprint
var _ = strconv.Itoa
var _ = messages.TxIntended{}
