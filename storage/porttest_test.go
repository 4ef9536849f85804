package storage

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// The repo on disk passes the port's suite, as the simulation's does.
func TestRepoObeysItsPort(t *testing.T) {
	porttest.Repo(t, func(t *testing.T) porttest.RepoWorld {
		d := prepared(t, 4, dataset.Params{K: 2, M: 1})
		r := openRepo(t, t.TempDir(), Config{})
		f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
		next := uint64(0)
		return porttest.RepoWorld{Repo: r, Put: func(until time.Time) events.SlotID {
			job := jobFor(d, next)
			next++
			job.Until = until
			mustDownload(t, f, job)
			return job.Slot
		}, Download: func() error {
			_, err := f.Download(t.Context(), jobFor(d, 2))
			return err
		}}
	})
}
