package storage

import (
	"errors"
	"net/http"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// losing answers 404 for the blocks of some slots of d.
func losing(
	d *dataset.Dataset, slots ...int,
) func(http.ResponseWriter, *http.Request, dataset.CID) bool {
	lost := map[dataset.CID]bool{}
	for _, slot := range slots {
		for step := range d.Layout().Steps {
			lost[d.BlockCID(d.Layout().Block(slot, step))] = true
		}
	}
	return func(w http.ResponseWriter, _ *http.Request, c dataset.CID) bool {
		if lost[c] {
			w.WriteHeader(http.StatusNotFound)
		}
		return lost[c]
	}
}

func TestLostSlotIsComputedFromTheOthersWithTheSameAccounting(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	o := serveObjects(t, d)
	for index := range uint64(5) {
		o.spoilWith(losing(d, int(index), int(index+1)%5))
		r := openRepo(t, t.TempDir(), Config{})
		job := jobFor(d, index)
		content := mustDownload(t, fetcherFor(t, r, FetcherConfig{}, o), job)
		if err := checkSlot(r, d, job); err != nil {
			t.Fatalf("slot %d: %v", index, err)
		}
		stored, _ := r.Stored(t.Context())
		if stored[0].Data != content.Bytes {
			t.Fatalf("slot %d: %d bytes stored, %d reported", index, stored[0].Data, content.Bytes)
		}
	}
}

func TestTooManyLostSlotsAreUnavailable(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	o := serveObjects(t, d)
	o.spoilWith(losing(d, 0, 1, 3))
	r := openRepo(t, t.TempDir(), Config{})
	_, err := fetcherFor(t, r, FetcherConfig{}, o).Download(t.Context(), jobFor(d, 0))
	if !errors.Is(err, events.ErrContentUnavailable) {
		t.Fatalf("error %v, want ErrContentUnavailable", err)
	}
}
