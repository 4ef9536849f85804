package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// LogTail describes the end of the newest write-ahead log as Open found it.
type LogTail struct {
	// File is the name of the log; empty when there was none.
	File string
	// Records is the number of batches in it that are whole.
	Records int
	// End is the offset in bytes behind the last whole batch.
	End int64
	// Dropped is the number of bytes after End that belong to an incomplete
	// batch: a write that was cut off when the process or the power ended.
	Dropped int64
}

// Offsets in the header of a chunk of pebble's log: CRC 4 bytes, size 2, type
// 1, log number 4, little-endian. Types 5 to 8 are its recyclable format, which
// the first log of a new store has; types 9 to 12 its format with synced
// offsets.
const (
	chunkType      = 6
	chunkLogNumber = 7
	chunkTypeFirst = 5
	chunkTypeLast  = 12
)

// readLogTail reads the newest log in the same way as pebble will, because
// pebble does not report what it drops.
func readLogTail(fsys vfs.FS, dir string) (LogTail, error) {
	logs, err := wal.Scan(wal.Dir{FS: fsys, Dirname: dir})
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(logs) == 0 {
		return LogTail{}, nil
	} else if err != nil {
		return LogTail{}, err
	}
	newest := logs[len(logs)-1]
	_, path := newest.SegmentLocation(newest.NumSegments() - 1)
	tail := LogTail{File: fsys.PathBase(path)}
	r := newest.OpenForRead()
	for {
		record, offset, err := r.NextRecord()
		tail.End = offset.Physical
		if err != nil { // The end in order, an end in the middle, or damage.
			break
		}
		if _, err := io.Copy(io.Discard, record); err != nil {
			break
		}
		tail.Records++
	}
	if err := r.Close(); err != nil {
		return LogTail{}, err
	}
	tail.Dropped, err = unfinished(fsys, path, tail.End, uint32(newest.Num))
	if err != nil {
		return LogTail{}, fmt.Errorf("read the end of %s: %w", tail.File, err)
	}
	return tail, nil
}

// unfinished counts the bytes from an offset to the last one that is not zero,
// if a chunk of this log begins there. Zeros are preallocated space; chunks of
// another log remain from the recycled file.
func unfinished(fsys vfs.FS, path string, offset int64, number uint32) (int64, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() <= offset {
		return 0, err
	}
	rest := make([]byte, info.Size()-offset)
	if _, err := f.ReadAt(rest, offset); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	rest = bytes.TrimRight(rest, "\x00")
	if len(rest) < chunkLogNumber+4 {
		return int64(len(rest)), nil
	}
	ours := binary.LittleEndian.Uint32(rest[chunkLogNumber:]) == number &&
		rest[chunkType] >= chunkTypeFirst && rest[chunkType] <= chunkTypeLast
	if !ours {
		return 0, nil
	}
	return int64(len(rest)), nil
}
