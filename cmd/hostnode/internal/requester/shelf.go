// Package requester is a client of the market: it codes a file into a dataset, serves its blocks, posts the request,
// and says what became of it. `hostnode client` is for trials of one's own host, on any chain; the demonstration
// uses the same parts.
//
// A Client has a directory: its key, and a Shelf of datasets with the requests that were posted for each.
package requester

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	open map[dataset.CID]*dataset.Dataset
}

// Open opens the shelf in a directory, which need not be there.
func Open(dir string) *Shelf { return &Shelf{dir: dir, open: map[dataset.CID]*dataset.Dataset{}} }

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
	return s.add(func(dir string) (*dataset.Dataset, error) {
		return dataset.PrepareFile(ctx, file, dir, code, dataset.Options{Progress: progress})
	})
}

// Store keeps what source has as a plain dataset, under these names.
func (s *Shelf) Store(ctx context.Context, source io.Reader, o dataset.Options) (*dataset.Dataset, error) {
	return s.add(func(dir string) (*dataset.Dataset, error) { return dataset.Store(ctx, source, dir, o) })
}

// Code codes the original data of a dataset. If that was done before, it returns the dataset of then.
func (s *Shelf) Code(ctx context.Context, d *dataset.Dataset, code dataset.Params) (*dataset.Dataset, error) {
	m := d.Manifest()
	tree := m.Tree
	if m.Erasure != nil {
		tree = m.Erasure.OriginalTree
	}
	all, err := s.All()
	if err != nil {
		return nil, err
	}
	for _, made := range all {
		is := made.Manifest()
		if is.Erasure.OriginalTree == tree && is.Erasure.Params == code && !made.Gone() &&
			is.Erasure.OriginalSize == d.Layout().Size && is.Filename == m.Filename && is.MimeType == m.MimeType {
			return made, nil
		}
	}
	return s.add(func(dir string) (*dataset.Dataset, error) {
		return dataset.Prepare(ctx, d.Original(), int64(d.Layout().Size), dir, code, dataset.Options{
			Filename: m.Filename, MimeType: m.MimeType,
		})
	})
}

// add has a dataset made in a new directory, and names that by its CID. One that is there already stays, and gets its
// blocks back if they were removed.
func (s *Shelf) add(makeIn func(dir string) (*dataset.Dataset, error)) (*dataset.Dataset, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the client's directory: %w", err)
	}
	fresh, err := os.MkdirTemp(s.dir, "new-")
	if err != nil {
		return nil, fmt.Errorf("make the client's directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	made := filepath.Join(fresh, "dataset")
	d, err := makeIn(made)
	if err != nil {
		return nil, err
	}
	cid := d.CID()
	if err := d.Close(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = os.Rename(made, s.dirOf(cid))
	if errors.Is(err, fs.ErrExist) {
		if d, err = s.opened(cid); err == nil && d.Gone() {
			delete(s.open, cid)
			err = dataset.Adopt(s.dirOf(cid), made)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("name the dataset: %w", err)
	}
	if err := durable.Sync(s.dir); err != nil {
		return nil, err
	}
	return s.opened(cid)
}

// opened is the dataset with a CID. The lock is held.
func (s *Shelf) opened(cid dataset.CID) (*dataset.Dataset, error) {
	if d := s.open[cid]; d != nil {
		return d, nil
	}
	d, err := dataset.Open(s.dirOf(cid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotPrepared, cid)
	}
	if err != nil {
		return nil, err
	}
	s.open[cid] = d
	return d, nil
}

// Get is the dataset with a CID, coded or plain, or ErrNotPrepared.
func (s *Shelf) Get(cid dataset.CID) (*dataset.Dataset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened(cid)
}

// Remove deletes the blocks of the dataset with a CID, if there is one, and all of it unless requests were posted for
// it: these are remembered.
func (s *Shelf) Remove(cid dataset.CID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.open[cid]; d != nil { // Who reads it now meets an error.
		delete(s.open, cid)
		_ = d.Close()
	}
	_, err := os.Stat(filepath.Join(s.dirOf(cid), requestsFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.RemoveAll(s.dirOf(cid))
	case err != nil:
		return err
	}
	if err := dataset.Discard(s.dirOf(cid)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Everything is all datasets, by CID: also the plain ones, and those of which only the names are left.
func (s *Shelf) Everything() ([]*dataset.Dataset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the datasets: %w", err)
	}
	var all []*dataset.Dataset
	for _, e := range entries {
		cid, err := dataset.ParseCID(e.Name())
		if err != nil {
			continue
		}
		d, err := s.opened(cid)
		if errors.Is(err, ErrNotPrepared) {
			continue // Another process has just removed it.
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// All are the coded datasets, by CID.
func (s *Shelf) All() ([]*dataset.Dataset, error) {
	all, err := s.Everything()
	return slices.DeleteFunc(all, func(d *dataset.Dataset) bool { return d.Manifest().Erasure == nil }), err
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
	all, err := s.Everything()
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
	return filepath.Join(s.dirOf(d.CID()), requestsFile)
}

func (s *Shelf) dirOf(cid dataset.CID) string { return filepath.Join(s.dir, cid.String()) }
