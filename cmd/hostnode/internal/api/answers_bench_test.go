package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

// inquiry is one request of the benchmark.
type inquiry struct{ method, path, body string }

func (q inquiry) String() string {
	path, _, _ := strings.Cut(q.path, "?")
	return q.method + " " + path
}

// long are the questions that read the whole record, or a stream, or the disk; watching does not end.
var long = []string{"GET audit", "GET streams/{stream}", "GET pieces", "GET downtime/trial", "GET " + api.Watch}

// questions are all of the API but the long ones, each about something that is there, and some orders.
func questions() (all []inquiry) {
	routes := api.Calls()
	for _, m := range machines.API() {
		routes = append(routes, m.Calls...)
	}
	fill := strings.NewReplacer("{slot}", slotOf(1).String(), "{number}", "7", "{node}", "node-1",
		"{stream}", events.SaleStream(me, slotOf(1)), "{piece}", "none", "{aggregate}", "none", "{id}", "none")
	for _, route := range routes {
		place := api.Place(route)
		method, path, _ := strings.Cut(place, " ")
		switch {
		case method != http.MethodGet || slices.Contains(long, place):
		case place == "GET dry": // Only a dry run answers.
		case place == "GET availabilities/preview":
			all = append(all, inquiry{method, path + "?size=1073741824&durationSeconds=86400" +
				"&minPricePerBytePerSecond=1&totalCollateral=1000000000", ""})
		case strings.Contains(path, "{machine}"):
			for _, m := range catalog.Machines() {
				all = append(all, inquiry{method, strings.ReplaceAll(path, "{machine}", m.Category), ""})
			}
		default:
			all = append(all, inquiry{method, fill.Replace(path), ""})
		}
	}
	return append(all,
		inquiry{"PATCH", "availabilities/" + events.AvailabilityID{0xa1, 1}.String(), `{"minPricePerBytePerSecond":"%d"}`},
		inquiry{"POST", "queue/pause", `{"reason":"measurement %d"}`},
	)
}

// orders counts those that were given.
var orders atomic.Int64

// answer asks once, and returns the status and the length of the answer.
func answer(ctx context.Context, c *http.Client, server string, q inquiry) (status int, size int64, err error) {
	body := q.body
	if body != "" { // An order that was given before changes nothing.
		body = fmt.Sprintf(body, orders.Add(1))
	}
	r, err := http.NewRequestWithContext(ctx, q.method, server+api.Root+q.path, strings.NewReader(body))
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
	live, _ := largeHost(t, scale{40, 3, 100, 20, 3})
	server := httptest.NewServer(api.Handler(live, silent()))
	defer server.Close()
	for _, q := range questions() {
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
	live, _ := largeHost(b, issueScale)
	server := httptest.NewServer(api.Handler(live, silent()))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for _, q := range questions() {
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
// It reports how long after its append the slowest hundredth of what was told came at least, the processor time of
// client and server for each event that a watcher was told, and what a watcher takes of the heap, on both sides.
func BenchmarkWatchers(b *testing.B) {
	const perSecond, seconds = 200, 5
	for b.Loop() {
		live, store := largeHost(b, scale{40, 3, 100, 20, 3})
		server := httptest.NewServer(api.Handler(live, silent()))
		before := used()
		all := watchers{appended: make([]atomic.Int64, perSecond*seconds)}
		ctx, leave := context.WithTimeout(b.Context(), time.Minute)
		for range api.MaxWatchers {
			all.open(ctx, b, server.URL)
		}
		memory := used() - before
		cpu := cpuTime(b)
		all.feed(b, store, time.Second/perSecond)
		all.heard.Wait()
		b.ReportMetric((cpuTime(b)-cpu).Seconds()*1e6/float64(len(all.took)), "cpu-µs/told")
		b.ReportMetric(float64(memory)/api.MaxWatchers, "heap-B/watcher")
		slices.Sort(all.took)
		b.ReportMetric(all.took[len(all.took)/2].Seconds()*1000, "p50-ms")
		b.ReportMetric(all.took[len(all.took)*99/100].Seconds()*1000, "p99-ms")
		b.ReportMetric(0, "ns/op")
		leave()
		server.CloseClientConnections()
		live.End()
		server.Close()
	}
}

// watchers hear of transactions, each of which has its number, from 1, as its nonce.
type watchers struct {
	appended []atomic.Int64 // when each was, in nanoseconds
	heard    sync.WaitGroup // all of them, by everybody
	mu       sync.Mutex
	took     []time.Duration
}

var nonce = regexp.MustCompile(`"nonce":"(\d+)"`)

func (w *watchers) open(ctx context.Context, b *testing.B, server string) {
	b.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server+api.Root+api.Watch+"?machine=tx", nil)
	if err != nil {
		b.Fatal(err)
	}
	a, err := (&http.Client{Transport: &http.Transport{}}).Do(r)
	if err != nil || a.StatusCode != http.StatusOK {
		b.Fatalf("%v: %v", a, err)
	}
	w.heard.Go(func() {
		defer a.Body.Close()
		var took []time.Duration
		lines := bufio.NewScanner(a.Body)
		for len(took) < len(w.appended) && lines.Scan() {
			if of := nonce.FindSubmatch(lines.Bytes()); of != nil {
				n, _ := strconv.Atoi(string(of[1])) // It is made of digits.
				took = append(took, time.Since(time.Unix(0, w.appended[n-1].Load())))
			}
		}
		if len(took) < len(w.appended) {
			b.Errorf("a watcher heard %d events of %d: %v", len(took), len(w.appended), lines.Err())
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.took = append(w.took, took...)
	})
}

// feed appends the events, each on time.
func (w *watchers) feed(b *testing.B, store events.Store, pause time.Duration) {
	b.Helper()
	as, to := scaled{TB: b, store: store}, events.TxStream(me)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := range w.appended {
		<-tick.C
		e := as.event(&messages.TxSent{Key: "measured", Nonce: uint64(n + 1), TxHash: events.Hash{1}.String(), At: at(n), FeeCapWei: "1", TipCapWei: "1"})
		e.ID = events.NewEventID(to, "watched", n)
		w.appended[n].Store(time.Now().UnixNano())
		if _, err := store.Append(b.Context(), to, events.Any(), []events.NewEvent{e}); err != nil {
			b.Fatal(err)
		}
	}
}

// used is what of the heap is in use after a collection.
func used() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
