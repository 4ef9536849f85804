package tx

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/messages"
)

// The outbox is a file of frames. A frame is the length of the payload (4 bytes, little-endian),
// its CRC32C (4 bytes, little-endian) and the payload, a JSON object. The first frame names the
// owner; every other one holds an event of the account's stream with its revision. Each frame is
// synced before anything is done about it and before the next is written, so only the last one can
// be torn, and is then cut off. A file that is missing or empty is restored from the account's
// stream (join).
const (
	outboxFormat     = 1
	frameHeaderBytes = 8
	// maxFrameBytes is the longest payload; our calls have less than 1 KiB.
	maxFrameBytes = 1 << 20
	// compactBytes is the size at which an outbox is rewritten without old entries.
	compactBytes = 16 << 20
)

// Errors of the outbox.
var (
	// ErrForeignOutbox: the file belongs to another account or chain.
	ErrForeignOutbox = errors.New("outbox belongs to another account or chain")
	// ErrOutboxDamaged: a frame in the middle of the file does not have its checksum.
	ErrOutboxDamaged = errors.New("outbox is damaged")
	// ErrOutboxFailed: a write failed. Nothing is sent until the next start.
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

// entry is an event of the account's stream. Without an event it is a mark: all lower revisions are
// used, and in the stream.
type entry struct {
	Revision    uint64
	Event       proto.Message // a messages.TxEvent; nil in a mark
	Correlation string
}

// frameJSON is an entry as it is stored.
type frameJSON struct {
	Revision    uint64          `json:"revision"`
	Type        string          `json:"type,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	Correlation string          `json:"correlation,omitempty"`
}

// outbox is the open file. Only one goroutine may use it.
type outbox struct {
	path  string
	owner outboxOwner
	codec *events.Codec
	file  *os.File
	size  int64
	next  uint64 // the next revision
	// copied is the number of events that were certainly in the stream when the file was last
	// compacted.
	copied uint64
	err    error // after a failed write
}

// openOutbox opens or creates the outbox and returns its entries, oldest first.
func openOutbox(path string, owner outboxOwner) (*outbox, []entry, error) {
	owner.Format = outboxFormat
	o := &outbox{path: path, owner: owner, codec: events.NewCodec(transactions.Table())}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open outbox: %w", err)
	}
	o.file = file
	entries, err := o.load()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open outbox %s: %w", path, err), file.Close())
	}
	return o, entries, nil
}

func (o *outbox) load() ([]entry, error) {
	raw, err := io.ReadAll(o.file)
	if err != nil {
		return nil, err
	}
	payloads, good, err := splitFrames(raw)
	if err == nil && len(payloads) == 0 {
		err = o.checkStart(raw)
	}
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
	var entries []entry
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
		entries = append(entries, r)
	}
	return entries, nil
}

func (o *outbox) begin() error {
	payload, err := json.Marshal(o.owner)
	if err != nil {
		return err
	}
	if err := o.write(payload); err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(o.path))
}

// checkStart returns an error for a file without a whole frame, unless its content is the beginning of a
// first frame: anything else means that something was lost.
func (o *outbox) checkStart(raw []byte) error {
	payload, err := json.Marshal(o.owner)
	if err == nil && !bytes.HasPrefix(frame(payload), bytes.TrimRight(raw, "\x00")) {
		err = fmt.Errorf("%w: its %d bytes are not the beginning of an outbox", ErrOutboxDamaged, len(raw))
	}
	return err
}

func (o *outbox) checkOwner(payload []byte) error {
	var found outboxOwner
	if err := json.Unmarshal(payload, &found); err != nil {
		return fmt.Errorf("%w: first frame: %w", ErrOutboxDamaged, err)
	}
	if found != o.owner {
		return fmt.Errorf("%w: it belongs to %s and has format %d",
			ErrForeignOutbox, found, found.Format)
	}
	return nil
}

// splitFrames returns the payloads of all whole frames and the number of bytes they take. What
// follows is the torn end of the last write, or else damage: a synced frame may have been acted on,
// and must not be dropped silently.
func splitFrames(raw []byte) (payloads [][]byte, good int, err error) {
	for good < len(raw) {
		payload, ok := firstFrame(raw[good:])
		if !ok {
			break
		}
		payloads = append(payloads, payload)
		good += frameHeaderBytes + len(payload)
	}
	if !torn(raw[good:]) {
		return payloads, good, fmt.Errorf("%w: at byte %d of %d is neither a frame nor the torn end of one",
			ErrOutboxDamaged, good, len(raw))
	}
	return payloads, good, nil
}

// firstFrame is the payload of the whole frame that b begins with.
func firstFrame(b []byte) (payload []byte, ok bool) {
	if len(b) <= frameHeaderBytes {
		return nil, false
	}
	length := int(binary.LittleEndian.Uint32(b))
	if length == 0 || length > maxFrameBytes || length > len(b)-frameHeaderBytes {
		return nil, false
	}
	payload = b[frameHeaderBytes : frameHeaderBytes+length]
	return payload, crc32.Checksum(payload, castagnoli()) == binary.LittleEndian.Uint32(b[4:])
}

// torn reports whether bytes can be the remains of one interrupted write: the beginning of a frame,
// and after it nothing, or the zeros of a file system that extended the file first. A complete
// frame with a wrong checksum is damaged, and so is one that is longer than the file although its
// JSON object is complete.
func torn(rest []byte) bool {
	payload := rest[min(len(rest), frameHeaderBytes):]
	begun := bytes.TrimRight(payload, "\x00")
	if len(begun) == 0 {
		return true
	}
	length := int(binary.LittleEndian.Uint32(rest))
	return begun[0] == '{' && utf8.Valid(trimRune(begun)) && !bytes.ContainsFunc(begun, unicode.IsControl) &&
		length <= maxFrameBytes && len(begun) < length && !json.Valid(begun)
}

// trimRune removes an incomplete character from the end.
func trimRune(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if last := b[len(b)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func frame(payload []byte) []byte {
	b := make([]byte, frameHeaderBytes, frameHeaderBytes+len(payload))
	binary.LittleEndian.PutUint32(b, uint32(len(payload)))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(payload, castagnoli()))
	return append(b, payload...)
}

func (o *outbox) encode(r entry) ([]byte, error) {
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

func (o *outbox) decode(payload []byte) (entry, error) {
	var f frameJSON
	if err := json.Unmarshal(payload, &f); err != nil {
		return entry{}, err
	}
	r := entry{Revision: f.Revision, Correlation: f.Correlation}
	if f.Type == "" {
		return r, nil
	}
	m, err := o.codec.Decode(events.Recorded{
		Stream: o.owner.Stream, Revision: f.Revision, Type: f.Type, Data: f.Data,
		Meta: events.Metadata{Version: 1},
	})
	if err != nil {
		return entry{}, err
	}
	r.Event = m
	return r, nil
}

// add writes an event and returns when it is on disk.
func (o *outbox) add(e messages.TxEvent, correlation string) (entry, error) {
	r := entry{Revision: o.next, Event: e, Correlation: correlation}
	if err := o.put(r); err != nil {
		return entry{}, err
	}
	return r, nil
}

// put writes entries with the revisions that they have, and syncs once.
func (o *outbox) put(entries ...entry) error {
	payloads := make([][]byte, len(entries))
	for i, r := range entries {
		var err error
		if payloads[i], err = o.encode(r); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	if err := o.write(payloads...); err != nil {
		return err
	}
	o.next = entries[len(entries)-1].Revision + 1
	return nil
}

func (o *outbox) write(payloads ...[]byte) error {
	if o.err != nil {
		return o.err
	}
	var b []byte
	for _, payload := range payloads {
		if len(payload) > maxFrameBytes {
			return fmt.Errorf("outbox: entry of %d bytes, the limit is %d", len(payload), maxFrameBytes)
		}
		b = append(b, frame(payload)...)
	}
	_, err := o.file.Write(b)
	if err == nil {
		err = o.file.Sync()
	}
	if err != nil {
		// What is on disk now is unknown until it is read again.
		o.err = fmt.Errorf("%w: %w", ErrOutboxFailed, err)
		return o.err
	}
	o.size += int64(len(b))
	return nil
}

// compact rewrites the file with the entries that are still needed. All events must already be in
// the stream.
func (o *outbox) compact(keep []entry) error {
	if o.err != nil {
		return o.err
	}
	whole, err := o.content(keep, o.next)
	if err != nil {
		return fmt.Errorf("compact outbox: %w", err)
	}
	temporary := o.path + ".new"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("compact outbox: %w", err)
	}
	_, err = file.Write(whole)
	if err = errors.Join(err, file.Sync()); err == nil {
		err = os.Rename(temporary, o.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("compact outbox: %w", err), file.Close())
	}
	old := o.file
	o.file, o.size = file, int64(len(whole))
	return errors.Join(durable.Sync(filepath.Dir(o.path)), old.Close())
}

// content is the whole file with these entries.
func (o *outbox) content(keep []entry, next uint64) ([]byte, error) {
	payload, err := json.Marshal(o.owner)
	if err != nil {
		return nil, err
	}
	all := frame(payload)
	for _, r := range append(slices.Clip(keep), entry{Revision: next}) {
		payload, err := o.encode(r)
		if err != nil {
			return nil, err
		}
		all = append(all, frame(payload)...)
	}
	return all, nil
}

func (o *outbox) close() error { return o.file.Close() }
