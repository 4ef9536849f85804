package chain

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// The outbox is a file of frames. A frame is a length (4 bytes, little-endian, of the
// payload), a CRC32C of the payload (4 bytes, little-endian) and the payload, a JSON
// object. The first frame says whose outbox this is, every other one holds an event of
// the account's stream with the revision that it has there. Each frame is synced before
// the next is written, so only the last one can be torn; a torn one was never acted on
// and is cut off.
const (
	outboxFormat     = 1
	frameHeaderBytes = 8
	// maxFrameBytes is the most bytes of a payload; our calls have below 1 KiB.
	maxFrameBytes = 1 << 20
	// compactBytes is the size at which an outbox is rewritten without the past.
	compactBytes = 16 << 20
)

// Errors of the outbox.
var (
	// ErrForeignOutbox: the file belongs to another account or chain.
	ErrForeignOutbox = errors.New("outbox belongs to another account or chain")
	// ErrOutboxDamaged: bytes in the middle of the file do not have their checksum.
	ErrOutboxDamaged = errors.New("outbox is damaged")
	// ErrOutboxFailed: the disk failed. Nothing is sent until the next start.
	ErrOutboxFailed = errors.New("outbox failed")
)

// outboxOwner is the first frame.
type outboxOwner struct {
	Format  int    `json:"format"`
	Stream  string `json:"stream"`
	ChainID uint64 `json:"chainId"`
	Genesis string `json:"genesis"`
}

func (o outboxOwner) String() string {
	return fmt.Sprintf("%s on chain %d with genesis %s", o.Stream, o.ChainID, o.Genesis)
}

// record is an event of the account's stream, or, without an event, a mark that
// revisions below its own are used up, and in the stream.
type record struct {
	Revision    uint64
	Event       proto.Message // a messages.TxEvent; nil in a mark
	Correlation string
}

// frameJSON is a record as it is written.
type frameJSON struct {
	Revision    uint64          `json:"revision"`
	Type        string          `json:"type,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	Correlation string          `json:"correlation,omitempty"`
}

// outbox is the open file. It is used by one goroutine.
type outbox struct {
	path  string
	owner outboxOwner
	codec *events.Codec
	file  *os.File
	size  int64
	next  uint64 // the next revision
	// copied is how many events the stream held for sure when the file was last
	// compacted.
	copied uint64
	err    error // after a failed write
}

// openOutbox opens or makes the outbox and returns what it holds, oldest first.
func openOutbox(path string, owner outboxOwner) (*outbox, []record, error) {
	owner.Format = outboxFormat
	o := &outbox{path: path, owner: owner, codec: events.NewCodec(events.TxTable())}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open outbox: %w", err)
	}
	o.file = file
	records, err := o.load()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open outbox %s: %w", path, err), file.Close())
	}
	return o, records, nil
}

func (o *outbox) load() ([]record, error) {
	raw, err := io.ReadAll(o.file)
	if err != nil {
		return nil, err
	}
	payloads, good, err := splitFrames(raw)
	if err != nil {
		return nil, err
	}
	if good < len(raw) {
		if err := o.file.Truncate(int64(good)); err != nil {
			return nil, fmt.Errorf("cut off torn end: %w", err)
		}
	}
	if _, err := o.file.Seek(int64(good), io.SeekStart); err != nil {
		return nil, err
	}
	o.size = int64(good)
	if len(payloads) == 0 {
		return nil, o.begin()
	}
	if err := o.checkOwner(payloads[0]); err != nil {
		return nil, err
	}
	var records []record
	for i, p := range payloads[1:] {
		r, err := o.decode(p)
		if err != nil {
			return nil, fmt.Errorf("%w: frame %d: %w", ErrOutboxDamaged, i+1, err)
		}
		o.next = max(o.next, r.Revision)
		if r.Event == nil {
			o.copied = max(o.copied, r.Revision)
			continue
		}
		o.next = max(o.next, r.Revision+1)
		records = append(records, r)
	}
	return records, nil
}

func (o *outbox) begin() error {
	payload, err := json.Marshal(o.owner)
	if err != nil {
		return err
	}
	if err := o.write(payload); err != nil {
		return err
	}
	return syncDir(filepath.Dir(o.path))
}

func (o *outbox) checkOwner(payload []byte) error {
	var found outboxOwner
	if err := json.Unmarshal(payload, &found); err != nil {
		return fmt.Errorf("%w: first frame: %w", ErrOutboxDamaged, err)
	}
	if found != o.owner {
		return fmt.Errorf("%w: it is of %s in format %d",
			ErrForeignOutbox, found, found.Format)
	}
	return nil
}

// splitFrames returns the payloads of all whole frames and how many bytes they take.
// The rest is the torn end of a last write, unless more than one frame's worth of good
// data follows, which is damage.
func splitFrames(raw []byte) (payloads [][]byte, good int, err error) {
	for good < len(raw) {
		rest := raw[good:]
		if len(rest) < frameHeaderBytes {
			return payloads, good, nil
		}
		length := int(binary.LittleEndian.Uint32(rest))
		if length > maxFrameBytes || length > len(rest)-frameHeaderBytes {
			return payloads, good, nil
		}
		payload := rest[frameHeaderBytes : frameHeaderBytes+length]
		if crc32.Checksum(payload, castagnoli()) != binary.LittleEndian.Uint32(rest[4:]) {
			if allZero(rest[frameHeaderBytes+length:]) {
				return payloads, good, nil
			}
			return nil, good, fmt.Errorf("%w: checksum of the frame at byte %d", ErrOutboxDamaged, good)
		}
		if length == 0 { // Zeros of a file system that extended the file first.
			return payloads, good, nil
		}
		payloads = append(payloads, payload)
		good += frameHeaderBytes + length
	}
	return payloads, good, nil
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func frame(payload []byte) []byte {
	b := make([]byte, frameHeaderBytes, frameHeaderBytes+len(payload))
	binary.LittleEndian.PutUint32(b, uint32(len(payload)))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(payload, castagnoli()))
	return append(b, payload...)
}

func (o *outbox) encode(r record) ([]byte, error) {
	f := frameJSON{Revision: r.Revision, Correlation: r.Correlation}
	if r.Event != nil {
		name, _, data, err := o.codec.Encode(r.Event)
		if err != nil {
			return nil, err
		}
		f.Type, f.Data = name, data
	}
	return json.Marshal(f)
}

func (o *outbox) decode(payload []byte) (record, error) {
	var f frameJSON
	if err := json.Unmarshal(payload, &f); err != nil {
		return record{}, err
	}
	r := record{Revision: f.Revision, Correlation: f.Correlation}
	if f.Type == "" {
		return r, nil
	}
	m, err := o.codec.Decode(events.Recorded{
		Stream: o.owner.Stream, Revision: f.Revision, Type: f.Type, Data: f.Data,
		Meta: events.Metadata{Version: 1},
	})
	if err != nil {
		return record{}, err
	}
	r.Event = m
	return r, nil
}

// add writes an event and returns when it is on disk.
func (o *outbox) add(e messages.TxEvent, correlation string) (record, error) {
	r := record{Revision: o.next, Event: e, Correlation: correlation}
	if err := o.put(r); err != nil {
		return record{}, err
	}
	return r, nil
}

// put writes a record with the revision that it has.
func (o *outbox) put(r record) error {
	payload, err := o.encode(r)
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	if err := o.write(payload); err != nil {
		return err
	}
	o.next = r.Revision + 1
	return nil
}

func (o *outbox) write(payload []byte) error {
	if o.err != nil {
		return o.err
	}
	if len(payload) > maxFrameBytes {
		return fmt.Errorf("outbox: record of %d bytes, the limit is %d", len(payload), maxFrameBytes)
	}
	b := frame(payload)
	_, err := o.file.Write(b)
	if err == nil {
		err = o.file.Sync()
	}
	if err != nil {
		// What is on disk now is unknown; only reading it again tells.
		o.err = fmt.Errorf("%w: %w", ErrOutboxFailed, err)
		return o.err
	}
	o.size += int64(len(b))
	return nil
}

// compact rewrites the file with the records that are still needed. All events must be
// in the stream already.
func (o *outbox) compact(keep []record) error {
	if o.err != nil {
		return o.err
	}
	temporary := o.path + ".new"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("compact outbox: %w", err)
	}
	fresh := &outbox{path: temporary, owner: o.owner, codec: o.codec, file: file}
	if err := fresh.fill(keep, o.next); err != nil {
		return errors.Join(fmt.Errorf("compact outbox: %w", err), file.Close())
	}
	if err := os.Rename(temporary, o.path); err != nil {
		return errors.Join(fmt.Errorf("compact outbox: %w", err), file.Close())
	}
	old := o.file
	o.file, o.size = file, fresh.size
	return errors.Join(syncDir(filepath.Dir(o.path)), old.Close())
}

// fill writes all records with one sync.
func (o *outbox) fill(keep []record, next uint64) error {
	payload, err := json.Marshal(o.owner)
	if err != nil {
		return err
	}
	all := frame(payload)
	for _, r := range append(slices.Clip(keep), record{Revision: next}) {
		payload, err := o.encode(r)
		if err != nil {
			return err
		}
		all = append(all, frame(payload)...)
	}
	if _, err := o.file.Write(all); err != nil {
		return err
	}
	o.size = int64(len(all))
	return o.file.Sync()
}

func (o *outbox) close() error { return o.file.Close() }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}
