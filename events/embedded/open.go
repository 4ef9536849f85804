package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// Limits of the store.
const (
	// DefaultCacheBytes is the block cache when Config does not set it. Pebble's
	// own 8 MiB make long reads three times slower. A dedicated event store would
	// use 256 MiB; a quarter of that leaves memory to the prover, and holds the
	// streams of some thousand sales.
	DefaultCacheBytes = 64 << 20
	// memTableBytes is how much is written before pebble makes a table of it;
	// Open replays up to two of these from the log.
	memTableBytes = 16 << 20
	// mergeAfter is how many tables that may have the same key are written before they are merged into the next level.
	// With pebble's own 4, merging takes a tenth to two fifths more processor time; with 8, a read that comes before it
	// looks into up to 4 tables more. A larger memTableBytes saves nothing: writing into it takes longer.
	mergeAfter = 8
	// bloomBits per key let a read of a stream that does not exist, such as
	// that of every first append, skip the tables in about 99 of 100 cases.
	bloomBits = 10
	// lastBlockBytes is the block size of pebble's last level, which holds nearly
	// all of a store and is written once. With zstd it takes a half to two thirds
	// of the disk that pebble's defaults take there (docs/performance.md); still
	// larger blocks save little.
	lastBlockBytes = 16 << 10
)

// Config has the settings of Open. The zero value is what a host uses.
type Config struct {
	// CacheBytes is the size of the block cache; 0 means DefaultCacheBytes.
	CacheBytes int64
	// FS is the file system; nil means the machine's own.
	FS vfs.FS
	// Now gives events their Recorded time; nil means time.Now.
	Now func() time.Time
	// Log takes pebble's messages; nil drops them.
	Log Logger
	// AcceptLoss opens a store although its last acknowledged events are gone;
	// Report says how many. Without it, Open returns events.ErrDamaged.
	AcceptLoss bool

	// noSync leaves out the sync of each batch. Tests use it to show that the
	// test for power loss can fail.
	noSync bool
	// memTable replaces memTableBytes. Tests use it to fill tables with less data.
	memTable uint64
	// unfinished opens a copy that has no FORMAT, and so is not a store yet.
	unfinished bool
	// salvage opens what is left of a damaged store, for reading alone.
	salvage bool
	// stepped is called after each step of an upgrade. Tests use it.
	stepped func(done events.Position)
}

// Logger takes messages about the store's internals. It must be safe for
// concurrent use.
type Logger interface {
	Debugf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Report is what Open found.
type Report struct {
	// Created: the directory was empty.
	Created bool
	// Clean: the store was closed in order, or is new.
	Clean bool
	// Unmarked: the file with the last acknowledged position and the kind of
	// shutdown is missing or unreadable. So it is not known whether Tail.Dropped
	// bytes were acknowledged.
	Unmarked bool
	// Last is the position of the last event.
	Last events.Position
	// Acknowledged is the last position that was acknowledged, as far as is
	// known; after a power cut it may be too small.
	Acknowledged events.Position
	// Lost is how many acknowledged events are gone; other than 0 only with Config.AcceptLoss.
	Lost uint64
	// Tail is the end of the write-ahead log. The bytes dropped there were
	// never acknowledged, unless Lost says otherwise.
	Tail LogTail
	// UpgradedFrom is the older format that Open upgraded the directory from;
	// 0: it did not. Older builds can no longer open the directory.
	UpgradedFrom int
	// Unread is how many events the upgrade found damaged and left out of the
	// virtual streams; Verify names them.
	Unread uint64
}

// Open opens or creates the store in a directory. Errors other than those of the
// disk: ErrInUse, ErrNewerFormat, ErrNotAStore, events.ErrDamaged.
func Open(dir string, cfg Config) (*Store, Report, error) {
	cfg.FS = cmp.Or(cfg.FS, vfs.Default)
	cfg.CacheBytes = cmp.Or(max(cfg.CacheBytes, 0), DefaultCacheBytes)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	mapBlocks()
	s := &Store{
		dir: dir, now: cfg.Now, guard: newGuard(cfg.FS), write: pebble.Sync,
		requests: make(chan *request, maxBatchRequests),
		over:     make(chan struct{}), closing: make(chan struct{}),
	}
	if cfg.noSync {
		s.write = pebble.NoSync
	}
	s.tail.changed = make(chan struct{})
	s.guard.onFailure = s.setFailure
	s.guard.closing = s.closing
	if err := makeDir(s.guard, dir); err != nil {
		return nil, Report{}, fmt.Errorf("open event store %s: %w", dir, err)
	}
	lock, err := lockDir(s.guard, dir)
	if err != nil {
		return nil, Report{}, err
	}
	s.lock = lock
	report, err := s.open(cfg)
	if err != nil {
		return nil, report, errors.Join(fmt.Errorf("open event store %s: %w", dir, err), s.abandon())
	}
	go s.commitAll(newCommitter(s, report.Last))
	return s, report, nil
}

// lockDir keeps out other processes, and other users within this process.
func lockDir(fsys vfs.FS, dir string) (io.Closer, error) {
	lock, err := fsys.Lock(fsys.PathJoin(dir, lockFile))
	var path *fs.PathError
	switch {
	case err == nil:
		return lock, nil
	case errors.As(err, &path), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EROFS):
		return nil, fmt.Errorf("lock event store %s: %w", dir, err)
	}
	return nil, fmt.Errorf("%s: %w: a hostnode is running on this directory (%w); "+
		"stop it first, or talk to it over its API", dir, ErrInUse, err)
}

// open does everything that is done under the lock.
func (s *Store) open(cfg Config) (Report, error) {
	var r Report
	var err error
	format, begun := formatVersion, false
	if !cfg.unfinished && !cfg.salvage {
		if format, begun, r.Created, err = prepareFormat(s.guard, s.dir); err != nil {
			return r, err
		}
	}
	var known bool
	if r.Acknowledged, r.Clean, known, err = readMark(s.guard, s.dir); err != nil {
		return r, err
	}
	r.Clean = r.Clean && known || r.Created
	data := s.guard.PathJoin(s.dir, dataDir)
	if r.Tail, err = readLogTail(s.guard, data); err != nil {
		return r, err
	}
	if err := s.openPebble(data, cfg); err != nil {
		return r, err
	}
	if r.Last, err = s.lastPosition(); err != nil {
		return r, err
	}
	r.Unmarked = !known && r.Last > 0
	if r.Last < r.Acknowledged {
		lost := uint64(r.Acknowledged - r.Last)
		if !cfg.AcceptLoss {
			return r, &DamagedError{Position: r.Last + 1, Reason: fmt.Errorf("%w: the log ends "+
				"at position %d, but %d was acknowledged: %d events are gone",
				errMissing, r.Last, r.Acknowledged, lost)}
		}
		r.Lost = lost
	}
	s.synced.Store(uint64(r.Last))
	if cfg.salvage {
		return r, nil
	}
	if s.mark, err = openMark(s.guard, s.dir, r.Last); err != nil {
		return r, err
	}
	if format < formatVersion {
		r.UpgradedFrom = format
		if r.Unread, err = s.upgrade(format, begun, r.Last, cfg); err != nil {
			return r, err
		}
	}
	return r, s.failed()
}

// openPebble opens the tables and logs. If tables have no manifest, pebble would
// create a new database beside them and remove them; and it may panic on files that it
// did not write.
func (s *Store) openPebble(data string, cfg Config) (err error) {
	o := s.options(cfg)
	if o.ErrorIfNotExists, err = holdsData(s.guard, data); err != nil {
		return err
	}
	defer func() {
		if why := recover(); why != nil {
			err = &DamagedError{Reason: fmt.Errorf("pebble: %v", why)}
		}
	}()
	s.guard.opening.Store(true)
	defer s.guard.opening.Store(false)
	s.db, err = pebble.Open(data, o)
	return s.openError(err)
}

// holdsData reports whether a directory has tables or logs.
func holdsData(fsys vfs.FS, dir string) (bool, error) {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(name, ".sst") || isLog(name)
	}), err
}

// openError translates pebble's error. Unless the disk refused something it means
// damage: a table that is missing, has another size or is no table.
func (s *Store) openError(err error) error {
	if failed := s.failed(); failed != nil {
		return failed
	}
	if err == nil {
		return nil
	}
	if _, refused := errors.AsType[syscall.Errno](err); refused && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &DamagedError{Reason: tidy{err}}
}

func (s *Store) options(cfg Config) *pebble.Options {
	log := &logger{to: cfg.Log, guard: s.guard}
	o := &pebble.Options{
		FS:                 s.guard,
		CacheSize:          cfg.CacheBytes,
		MemTableSize:       cmp.Or(cfg.memTable, memTableBytes),
		FormatMajorVersion: pebble.FormatWALSyncChunks,
		Logger:             log,

		L0CompactionThreshold: mergeAfter,
		EventListener: &pebble.EventListener{
			// Who reads the damaged bytes gets the error; the default would end
			// the process.
			DataCorruption:  log.corruption,
			BackgroundError: log.background,
		},
	}
	if cfg.salvage {
		o.ReadOnly, o.FS = true, withoutOptions{s.guard}
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	last := &o.Levels[len(o.Levels)-1]
	last.BlockSize = lastBlockBytes
	last.Compression = func() *sstable.CompressionProfile { return sstable.ZstdCompression }
	return o
}

func (s *Store) lastPosition() (events.Position, error) {
	iter, err := s.db.NewIter(under(prefixEvent))
	if err != nil {
		return 0, err
	}
	defer iter.Close()
	if !iter.Last() {
		if err := iter.Error(); err != nil {
			return 0, damaged(err, "", 0, 0)
		}
		return 0, nil
	}
	return parseEventKey(iter.Key())
}
