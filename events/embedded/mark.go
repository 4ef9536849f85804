package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// The small files beside pebble's directory.
const (
	formatFile = "FORMAT"
	markFile   = "MARK"
	lockFile   = "LOCK"
	dataDir    = "pebble"

	// formatVersion is the version of everything this package stores. Format 2
	// added virtual streams and stream metadata; since format 3, virtual
	// streams have the same members as in EventStoreDB (upgrade.go), and
	// records have the keys of causes.
	formatVersion = 3
	formatPrefix  = "hostnode event store, format "
	// formatUpgrading is written between formatVersion and the old format while
	// an upgrade from that is not finished.
	formatUpgrading = ", upgrading from "
	markBytes       = 16
	markMagic       = 0x686e6d31 // "hnm1"
	markClean       = 1 << 63
)

// mark is a file that remembers the last acknowledged position. It is written
// after each sync of the log, before the callers are answered, and is not
// synced itself: a power cut may leave an older value, but never a newer one.
// So a store that ends before its mark has lost acknowledged events, which
// pebble alone cannot tell from a log that ends in an unfinished write. The
// highest bit says that the store was closed properly.
type mark struct {
	file vfs.File
	buf  [markBytes]byte
}

// readMark returns what the last process left; known is false when the mark is
// missing or unreadable.
func readMark(fsys vfs.FS, dir string) (last events.Position, clean, known bool, err error) {
	b, err := readSmall(fsys, dir, markFile, markBytes+1)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, false, nil
	} else if err != nil {
		return 0, false, false, err
	}
	last, clean, known = parseMark(b)
	return last, clean, known, nil
}

// readSmall reads at most the first bytes of a file.
func readSmall(fsys vfs.FS, dir, name string, most int64) ([]byte, error) {
	f, err := fsys.Open(fsys.PathJoin(dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// parseMark parses magic, position with the clean bit, and CRC-32C.
func parseMark(b []byte) (last events.Position, clean, known bool) {
	if len(b) != markBytes || binary.BigEndian.Uint32(b) != markMagic ||
		binary.BigEndian.Uint32(b[12:]) != crc32.Checksum(b[:12], crcTable) {
		return 0, false, false
	}
	n := binary.BigEndian.Uint64(b[4:])
	return events.Position(n &^ markClean), n&markClean != 0, true
}

// openMark opens the mark for writing: from here on the store is in use.
func openMark(fsys vfs.FS, dir string, last events.Position) (*mark, error) {
	f, err := fsys.OpenReadWrite(fsys.PathJoin(dir, markFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	m := &mark{file: f}
	if err := m.write(last, false); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), syncDir(fsys, dir)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

func (m *mark) write(last events.Position, clean bool) error {
	n := uint64(last)
	if clean {
		n |= markClean
	}
	binary.BigEndian.PutUint32(m.buf[:], markMagic)
	binary.BigEndian.PutUint64(m.buf[4:], n)
	binary.BigEndian.PutUint32(m.buf[12:], crc32.Checksum(m.buf[:12], crcTable))
	_, err := m.file.WriteAt(m.buf[:], 0)
	return err
}

// closeClean notes that everything was written and the store closed properly.
func (m *mark) closeClean(last events.Position) error {
	return errors.Join(m.write(last, true), m.file.Sync(), m.file.Close())
}

// prepareFormat reads FORMAT, or writes it when the directory is new. If an
// upgrade is not finished, it returns the format that this began with, and that
// it has begun.
func prepareFormat(fsys vfs.FS, dir string) (version int, begun, created bool, err error) {
	b, err := readSmall(fsys, dir, formatFile, 128)
	if errors.Is(err, fs.ErrNotExist) {
		if err := formatDamaged(fsys, dir, "it is missing"); err != nil {
			return 0, false, false, err
		}
		return formatVersion, false, true, claim(fsys, dir)
	} else if err != nil {
		return 0, false, false, err
	}
	version, begun, err = parseFormat(dir, string(b))
	if errors.Is(err, ErrNotAStore) {
		if err := formatDamaged(fsys, dir, fmt.Sprintf("it says %.60q", b)); err != nil {
			return 0, false, false, err
		}
	}
	return version, begun, false, err
}

// formatDamaged returns an error if the directory holds a store, or an unfinished
// backup, whose FORMAT cannot be used: no other program leaves our MARK beside it.
func formatDamaged(fsys vfs.FS, dir, how string) error {
	if _, _, known, err := readMark(fsys, dir); err != nil || !known {
		return err
	}
	return &DamagedError{Reason: fmt.Errorf("%w: its %s file: %s", ErrNotAStore, formatFile, how)}
}

func parseFormat(dir, text string) (version int, begun bool, err error) {
	number, ok := strings.CutPrefix(strings.TrimSuffix(text, "\n"), formatPrefix)
	newest, from, begun := strings.Cut(number, formatUpgrading)
	if begun && newest == strconv.Itoa(formatVersion) {
		number = from
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if !ok || err != nil || n == 0 || begun && n >= formatVersion {
		return 0, false, fmt.Errorf("%s: %w: its %s file says %q", dir, ErrNotAStore, formatFile, text)
	}
	if n > formatVersion {
		return 0, false, fmt.Errorf("%s: %w: %d, this version of hostnode knows %d; use a newer hostnode",
			dir, ErrNewerFormat, n, formatVersion)
	}
	return int(n), begun, nil
}

// claim makes an empty directory a store.
func claim(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != lockFile && name != formatFile+".new" {
			return fmt.Errorf("%s: %w: it has no %s file, but %s",
				dir, ErrNotAStore, formatFile, name)
		}
	}
	return writeFormat(fsys, dir, 0)
}

// writeFormat writes FORMAT; during an upgrade, with the format that it began
// with. The file appears, or is replaced, only once its new contents are on disk.
func writeFormat(fsys vfs.FS, dir string, from int) error {
	text := formatPrefix + strconv.Itoa(formatVersion)
	if from != 0 {
		text += formatUpgrading + strconv.Itoa(from)
	}
	path := fsys.PathJoin(dir, formatFile)
	f, err := fsys.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text + "\n"))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}

// makeDir creates a directory and makes its name durable, parents included.
func makeDir(fsys vfs.FS, dir string) error {
	_, err := fsys.Stat(dir)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := fsys.PathDir(dir)
	if parent != dir {
		if err := makeDir(fsys, parent); err != nil {
			return err
		}
	}
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncDir(fsys, parent)
}

func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
