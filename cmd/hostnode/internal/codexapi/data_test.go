package codexapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/codexapi"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

func TestAnUploadIsListedReadBackAndRemoved(t *testing.T) {
	r := newRig(t, nil)
	data := strings.Repeat("0123456789", 10_000)
	cid := r.must(t, 200, "POST", "/data", data,
		"Content-Type", "text/html", "Content-Disposition", `attachment; filename="a b.html"`)
	d, err := r.shelf.Get(must(dataset.ParseCID(cid)))
	if err != nil {
		t.Fatal(err)
	}
	item := fmt.Sprintf(`{"cid":"%s","manifest":{"treeCid":"%s","datasetSize":100000,"blockSize":65536,`+
		`"filename":"a b.html","mimetype":"text/html","protected":false}}`, cid, d.Manifest().Tree)
	for path, want := range map[string]string{
		"/data": `{"content":[` + item + `]}`, "/data/" + cid + "/network/manifest": item,
		"/data/" + cid + "/exists": `{"` + cid + `":true}`, "/data/" + cid + "/network/stream": data,
		"/api/storage/v1/data/" + cid: data,
	} {
		if says := r.must(t, 200, "GET", path, ""); says != want {
			t.Errorf("%s: %.300s, want %.300s", path, says, want)
		}
	}
	if says := r.must(t, 200, "POST", "/data/"+cid+"/network", ""); says != item {
		t.Errorf("POST network: %s", says)
	}
	status, part, h := r.ask(t, "GET", "/data/"+cid, nil, "Range", "bytes=65530-65545")
	if status != 206 || part != data[65530:65546] {
		t.Errorf("range: %d %q", status, part)
	}
	if h.Get("Content-Disposition") != `attachment; filename="a b.html"` || h.Get("Content-Security-Policy") != "sandbox" ||
		h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("a browser may take it for a page: %v", h)
	}
	r.must(t, 204, "DELETE", "/data/"+cid, "")
	r.must(t, 204, "DELETE", "/data/"+cid, "")
	for path, want := range map[string]int{
		"/data/" + cid: 404, "/data/" + cid + "/network/stream": 404, "/data/" + cid + "/network/manifest": 404, "/data/zz": 400,
		"/data/zz/exists": 400,
	} {
		if status, says := r.call(t, "GET", path, ""); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, says, want)
		}
	}
	if says := r.must(t, 200, "GET", "/data/"+cid+"/exists", ""); says != `{"`+cid+`":false}` {
		t.Errorf("exists: %s", says)
	}
	r.leftIs(t)
}

// leftIs says what is on the shelf.
func (r *rig) leftIs(t *testing.T, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if strings.Join(left, " ") != strings.Join(want, " ") {
		t.Errorf("on the shelf are %v, want %v", left, want)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAnUploadThatIsRefusedLeavesNothing(t *testing.T) {
	limited := newRig(t, func(c *codexapi.Config) { c.MaxUpload = 100_000 })
	tight := newRig(t, func(c *codexapi.Config) { c.Room = func() (events.Bytes, error) { return 70_000, nil } })
	unknown := func(n int) io.Reader { // of unknown length
		return struct{ io.Reader }{strings.NewReader(strings.Repeat("x", n))}
	}
	for name, c := range map[string]struct {
		on      *rig
		body    io.Reader
		headers []string
		status  int
		says    string
	}{
		"too long, as it says":   {limited, strings.NewReader(strings.Repeat("x", 100_001)), nil, 413, "at most 100000 bytes"},
		"too long":               {limited, unknown(100_001), nil, 413, "at most 100000 bytes"},
		"no room":                {tight, strings.NewReader(strings.Repeat("x", 70_001)), nil, 507, "room for 70000 bytes"},
		"no room, as it goes on": {tight, unknown(70_001), nil, 507, "room for 70000 bytes"},
		"empty":                  {limited, nil, nil, 422, "the body is empty"},
		"bad type":               {limited, unknown(1), []string{"Content-Type", "x y/z"}, 422, "The MIME type 'x y/z' is not valid."},
		"name with a path": {
			limited, unknown(1), []string{"Content-Disposition", `attachment; filename="../x"`}, 422, "The filename is not valid.",
		},
		"no name": {limited, unknown(1), []string{"Content-Disposition", `attachment`}, 422, "The filename is not valid."},
	} {
		t.Run(name, func(t *testing.T) {
			status, says, _ := c.on.ask(t, "POST", "/data", c.body, c.headers...)
			if status != c.status || !strings.Contains(says, c.says) {
				t.Errorf("%d %s, want %d %s", status, says, c.status, c.says)
			}
			c.on.leftIs(t)
		})
	}
	cid := limited.must(t, 200, "POST", "/data", strings.Repeat("x", 100_000))
	limited.leftIs(t, cid)
}

func TestAnUploadThatIsCutOffLeavesNothing(t *testing.T) {
	r := newRig(t, nil)
	body := io.MultiReader(strings.NewReader(strings.Repeat("x", 200_000)), iotest.ErrReader(errors.New("gone")))
	q, err := http.NewRequestWithContext(t.Context(), "POST", r.url+"/api/codex/v1/data", body)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := http.DefaultClient.Do(q); err == nil {
		_ = a.Body.Close()
		t.Errorf("it is answered with %s", a.Status)
	}
	r.server.Close() // When the call has ended.
	r.leftIs(t)
}

func TestAFullDiskIsSaid(t *testing.T) {
	r := newRig(t, func(c *codexapi.Config) {
		c.Shelf = requester.Open("/dev/full/no") // Nothing can be made there.
	})
	if status, says := r.call(t, "POST", "/data", "x"); status != 500 || !strings.Contains(says, "make the client's directory") {
		t.Errorf("%d %s", status, says)
	}
	r = newRig(t, nil)
	r.failed = fmt.Errorf("note the request: %w", syscall.ENOSPC)
	cid := r.must(t, 200, "POST", "/data", strings.Repeat("x", 200_000))
	status, says := r.call(t, "POST", "/storage/request/"+cid, `{"duration":100,"proofProbability":"1",
		"pricePerBytePerSecond":"2","collateralPerByte":"3","expiry":50}`)
	if status != 507 || !strings.Contains(says, "no space left on device") {
		t.Errorf("%d %s", status, says)
	}
}

func TestWhatIsNotHereIsFetched(t *testing.T) {
	data := strings.Repeat("0123456789", 20_000)
	elsewhere := requester.Open(t.TempDir())
	defer elsewhere.Close()
	plain := must(elsewhere.Store(t.Context(), strings.NewReader(data), dataset.Options{Filename: "x"}))
	coded := must(elsewhere.Code(t.Context(), plain, dataset.Params{K: 2, M: 1}))
	r := newRig(t, func(c *codexapi.Config) { c.Content = another{Shelf: elsewhere} })
	for _, d := range []*dataset.Dataset{plain, coded} {
		path := "/data/" + d.CID().String()
		if says := r.must(t, 200, "GET", path+"/network/stream", ""); d == plain && says != data {
			t.Errorf("%d bytes are streamed", len(says))
		}
		r.must(t, 404, "GET", path, "")
		r.must(t, 200, "POST", path+"/network", "")
		r.must(t, 200, "POST", path+"/network", "")
	}
	if err := r.api.Close(); err != nil { // It ends what goes on.
		t.Fatal(err)
	}
	late := must(elsewhere.Store(t.Context(), strings.NewReader("late"), dataset.Options{}))
	r.must(t, 503, "POST", "/data/"+late.CID().String()+"/network", "")
	cut := newRig(t, func(c *codexapi.Config) { c.Content = another{elsewhere, 70_000} })
	a, err := http.Get(cut.url + "/api/codex/v1/data/" + plain.CID().String() + "/network/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if b, err := io.ReadAll(a.Body); err == nil {
		t.Errorf("a stream of %d bytes that was cut off looks whole", len(b))
	}
}

func TestAFetchInTheBackgroundGivesTheSameNames(t *testing.T) {
	elsewhere := requester.Open(t.TempDir())
	defer elsewhere.Close()
	plain := must(elsewhere.Store(t.Context(), strings.NewReader(strings.Repeat("y", 200_000)), dataset.Options{MimeType: "text/x"}))
	coded := must(elsewhere.Code(t.Context(), plain, dataset.Params{K: 2, M: 1}))
	r := newRig(t, func(c *codexapi.Config) { c.Content = another{Shelf: elsewhere} })
	path := "/data/" + coded.CID().String()
	r.must(t, 200, "POST", path+"/network", "")
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for status := 0; status != 200; status, _ = r.call(t, "GET", path, "") {
		if soon.Err() != nil {
			t.Fatalf("it is not there yet: %d", status)
		}
	}
	r.must(t, 200, "GET", "/data/"+plain.CID().String(), "")
}

func TestTheNodeSaysThatItHasNoPeers(t *testing.T) {
	r := newRig(t, nil)
	for path, want := range map[string]int{
		"/spr": 503, "/peerid": 503, "/node/peerid": 503, "/connect/16Uiu2?addrs=/ip4/1.2.3.4/tcp/1": 400,
		"/api/storage/v1/spr": 503, "/nothing": 404, "/api/storage/v1/sales/slots": 404,
	} {
		if status, says := r.call(t, "GET", path, ""); status != want || strings.HasPrefix(says, "{") {
			t.Errorf("%s: %d %s, want %d", path, status, says, want)
		}
	}
	info := fields(t, r.must(t, 200, "GET", "/debug/info", ""))
	if diff := cmp.Diff(map[string]any{
		"id": "", "addrs": []any{}, "spr": "", "announceAddresses": []any{}, "repo": r.data, "table": map[string]any{
			"localNode": map[string]any{"nodeId": "", "peerId": "", "record": "", "address": "", "seen": false}, "nodes": []any{},
		}, "codex": map[string]any{"version": "", "revision": "", "contracts": ""},
	}, info); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	for name, want := range map[string]logrus.Level{"TRACE": logrus.TraceLevel, "NOTICE": logrus.InfoLevel, "fatal": logrus.FatalLevel} {
		if r.must(t, 200, "POST", "/debug/chronicles/loglevel?level="+name, ""); r.log.Logger.GetLevel() != want {
			t.Errorf("%s is %s", name, r.log.Logger.GetLevel())
		}
	}
	r.must(t, 400, "POST", "/debug/chronicles/loglevel", "")
	r.must(t, 400, "POST", "/debug/chronicles/loglevel?level=trace;debug:sales", "")
}

func TestWhatIsLeftOfPaymentsIsCollectedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &market{failed: errors.New("no node answers")}
		log := logrus.New()
		var said strings.Builder
		log.SetOutput(&said)
		a := codexapi.New(codexapi.Config{Buyer: m, Log: logrus.NewEntry(log)})
		time.Sleep(95 * time.Second)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if n := strings.Count(said.String(), "no node answers"); m.collected != 3 || n != 3 {
			t.Errorf("it is tried %d times, and %d failures are said", m.collected, n)
		}
	})
}
