// Package requester is a client of the market: it codes a file into a dataset, serves its blocks, posts the request,
// and says what became of it. `hostnode client` is for trials of one's own host, on any chain; the demonstration
// uses the same parts.
//
// A client has a directory: its key, and a Shelf of datasets with the requests that were posted for each.
package requester

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/storage/dataset"
)

// ErrNotPrepared: the shelf has no dataset of that name.
var ErrNotPrepared = errors.New("no file or CID that was prepared here")

// ErrAmbiguous: several datasets have that name.
var ErrAmbiguous = errors.New("several datasets have this name")

// CodeOf returns the erasure code for a number of slots, with at most one parity slot for two data slots.
func CodeOf(slots int) dataset.Params {
	m := max(slots/3, 1)
	return dataset.Params{K: slots - m, M: m}
}

// Shelf is a directory of datasets, each in a directory that is named by its CID. It is safe for concurrent use.
type Shelf struct {
	dir string

	mu   sync.Mutex
	open map[string]*dataset.Dataset // by CID
}

// Open opens the shelf in a directory, which need not be there.
func Open(dir string) *Shelf { return &Shelf{dir: dir, open: map[string]*dataset.Dataset{}} }

// Close closes all datasets.
func (s *Shelf) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for cid, d := range s.open {
		err = errors.Join(err, d.Close())
		delete(s.open, cid)
	}
	return err
}

// Prepare codes a file. A file that was coded before has its dataset already.
func (s *Shelf) Prepare(
	ctx context.Context, file string, code dataset.Params, progress func(done, total events.Bytes),
) (*dataset.Dataset, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the client's directory: %w", err)
	}
	fresh, err := os.MkdirTemp(s.dir, "new-")
	if err != nil {
		return nil, fmt.Errorf("make the client's directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	made := filepath.Join(fresh, "dataset")
	d, err := dataset.PrepareFile(ctx, file, made, code, dataset.Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	cid := d.CID().String()
	if err := d.Close(); err != nil {
		return nil, err
	}
	err = os.Rename(made, filepath.Join(s.dir, cid))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("name the dataset: %w", err)
	}
	if err := durable.Sync(s.dir); err != nil {
		return nil, err
	}
	return s.Find(cid)
}

// All are the datasets, by CID.
func (s *Shelf) All() ([]*dataset.Dataset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the datasets: %w", err)
	}
	var all []*dataset.Dataset
	for _, e := range entries {
		if _, err := dataset.ParseCID(e.Name()); err != nil {
			continue
		}
		d := s.open[e.Name()]
		if d == nil {
			if d, err = dataset.Open(filepath.Join(s.dir, e.Name())); err != nil {
				return nil, err
			}
			s.open[e.Name()] = d
		}
		all = append(all, d)
	}
	return all, nil
}

// Find is the dataset with a CID, or that of a file with this name. Errors: ErrNotPrepared, ErrAmbiguous.
func (s *Shelf) Find(name string) (*dataset.Dataset, error) {
	all, err := s.All()
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(all, func(d *dataset.Dataset) bool {
		return d.CID().String() != name && d.Manifest().Filename != filepath.Base(name)
	})
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%w: %s", ErrNotPrepared, name)
	case 1:
		return found[0], nil
	}
	cids := make([]string, len(found))
	for i, d := range found {
		cids[i] = d.CID().String()
	}
	return nil, fmt.Errorf("%w: %s may be any of %v", ErrAmbiguous, name, cids)
}

// Naming are the datasets that a name means to Find, or else those with requests whose ids begin with it; Only then
// leaves these. Errors: as those of Find.
func (s *Shelf) Naming(name string) ([]*dataset.Dataset, error) {
	d, err := s.Find(name)
	if !errors.Is(err, ErrNotPrepared) {
		return []*dataset.Dataset{d}, err
	}
	all, unread := s.All()
	if unread != nil {
		return nil, unread
	}
	var found []*dataset.Dataset
	for _, d := range all {
		posted, err := s.Requests(d)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(posted, func(p Posted) bool { return begins(p.ID, name) }) {
			found = append(found, d)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w, nor the beginning of a request's id", err)
	}
	return found, nil
}

// begins: an id begins with these digits, of which some must be there.
func begins(id events.RequestID, digits string) bool {
	digits = strings.TrimPrefix(strings.ToLower(digits), "0x")
	return digits != "" && strings.HasPrefix(id.String(), "0x"+digits)
}

// Object is an object of any dataset, for storage.NewHandler. What was prepared after the shelf was opened is found,
// too.
func (s *Shelf) Object(c dataset.CID) ([]byte, error) {
	all, err := s.All()
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		if b, err := d.Object(c); !errors.Is(err, dataset.ErrNotFound) {
			return b, err
		}
	}
	return nil, dataset.ErrNotFound
}

// Posted is a request that was posted, or was about to be.
type Posted struct {
	ID          events.RequestID `json:"id"`
	Marketplace events.Address   `json:"marketplace"`
	At          time.Time        `json:"at"`
}

// requestsFile has a Posted in each line.
const requestsFile = "requests"

// Note remembers a request for a dataset. It is noted before it is posted, so that none is paid for and forgotten.
func (s *Shelf) Note(d *dataset.Dataset, p Posted) (err error) {
	f, err := os.OpenFile(s.requests(d), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note the request: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := json.NewEncoder(f).Encode(p); err != nil {
		return fmt.Errorf("note the request: %w", err)
	}
	return f.Sync()
}

// Requests are those that were noted for a dataset, oldest first.
func (s *Shelf) Requests(d *dataset.Dataset) (all []Posted, err error) {
	f, err := os.Open(s.requests(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which requests were posted: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p Posted
		if json.Unmarshal(lines.Bytes(), &p) == nil { // Else a crash cut it off, before it was posted.
			all = append(all, p)
		}
	}
	return all, nil
}

func (s *Shelf) requests(d *dataset.Dataset) string {
	return filepath.Join(s.dir, d.CID().String(), requestsFile)
}
