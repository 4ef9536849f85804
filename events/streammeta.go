package events

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// StreamMetadata says what of a stream can be read, and by whom. It is the data
// of the last event of a stream's MetadataStream, in EventStoreDB's JSON.
// Hidden events stay in the log. The zero value hides nothing.
type StreamMetadata struct {
	// MaxCount: only this many events, the last ones, can be read; 0: all.
	MaxCount uint64
	// MaxAge: only events of at most this age can be read, whole seconds; 0: all.
	MaxAge time.Duration
	// TruncateBefore: only events from this revision on can be read.
	TruncateBefore uint64
	// ACL says who may do what; a nil list leaves it to the system's default.
	ACL *ACL
	// Custom are keys that do not belong to the system, and those of the system whose
	// value cannot be used. EventStoreDB takes such values too, and even writes one: $tb
	// of a stream that was deleted softly and then for good overflows.
	Custom map[string]json.RawMessage
}

// ACL lists users and groups per right: nil leaves a right to the system's
// default, and is not stored; an empty list gives it to nobody but administrators.
type ACL struct {
	Read      roles `json:"$r,omitzero"`
	Write     roles `json:"$w,omitzero"`
	Delete    roles `json:"$d,omitzero"`
	MetaRead  roles `json:"$mr,omitzero"`
	MetaWrite roles `json:"$mw,omitzero"`
}

// truncateAll, as TruncateBefore, means that the stream is deleted.
const truncateAll = math.MaxInt64

// Deleted reports whether the stream was deleted softly.
func (m StreamMetadata) Deleted() bool { return m.TruncateBefore == truncateAll }

// DeletedMetadata is the metadata of a softly deleted stream; what else was
// set stays.
func (m StreamMetadata) DeletedMetadata() StreamMetadata {
	m.TruncateBefore = truncateAll
	return m
}

// Keys of the system in a stream's metadata.
const (
	keyMaxCount = "$maxCount"
	keyMaxAge   = "$maxAge"
	keyTruncate = "$tb"
	keyACL      = "$acl"
)

// roles is one user or group, or a list of them.
type roles []string

func (r *roles) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var one string
	if json.Unmarshal(b, &one) == nil {
		*r = roles{one}
		return nil
	}
	var list []string
	err := json.Unmarshal(b, &list)
	*r = list
	return err
}

func (r roles) MarshalJSON() ([]byte, error) {
	if len(r) == 1 {
		return json.Marshal(r[0])
	}
	return json.Marshal([]string(r))
}

// ParseStreamMetadata decodes a stream's metadata, field by field as EventStoreDB
// does: a value that cannot be used, such as a negative number, hides nothing and is
// kept under Custom. No bytes are no metadata; what is no JSON object is an error.
func ParseStreamMetadata(data []byte) (StreamMetadata, error) {
	var m StreamMetadata
	if len(data) == 0 {
		return m, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return m, fmt.Errorf("%w: stream metadata is no JSON object: %w", ErrMalformed, err)
	}
	for key, value := range all {
		if !m.set(key, value) {
			if m.Custom == nil {
				m.Custom = map[string]json.RawMessage{}
			}
			m.Custom[key] = value
		}
	}
	return m, nil
}

// set sets the field of a key; false when there is none, or the value cannot be used.
func (m *StreamMetadata) set(key string, value json.RawMessage) bool {
	switch key {
	case keyMaxCount:
		return positive(value, math.MaxInt64, &m.MaxCount)
	case keyMaxAge:
		var seconds uint64
		used := positive(value, uint64(math.MaxInt64/time.Second), &seconds)
		m.MaxAge = time.Duration(seconds) * time.Second
		return used
	case keyTruncate:
		return positive(value, truncateAll, &m.TruncateBefore)
	case keyACL:
		var list *ACL
		err := json.Unmarshal(value, &list)
		if err == nil {
			m.ACL = list
		}
		return err == nil
	}
	return false
}

func positive(value json.RawMessage, most uint64, to *uint64) bool {
	var n uint64 // null leaves it as it is.
	if err := json.Unmarshal(value, &n); err != nil || n > most {
		return false
	}
	*to = n
	return true
}

// UnusableACL reports whether there is an access control list that says nothing.
// Whom it should keep out is not known.
func (m StreamMetadata) UnusableACL() bool {
	_, unusable := m.Custom[keyACL]
	return unusable && m.ACL == nil
}

// Marshal encodes the metadata in the form that ParseStreamMetadata reads.
func (m StreamMetadata) Marshal() []byte {
	all := map[string]any{}
	for key, value := range m.Custom {
		all[key] = value
	}
	if m.MaxCount > 0 {
		all[keyMaxCount] = m.MaxCount
	}
	if m.MaxAge > 0 {
		all[keyMaxAge] = uint64(m.MaxAge / time.Second)
	}
	if m.TruncateBefore > 0 {
		all[keyTruncate] = m.TruncateBefore
	}
	if m.ACL != nil {
		all[keyACL] = m.ACL
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic("events: stream metadata of plain fields does not encode: " + err.Error())
	}
	return b
}

// ChangeMetadata changes the metadata of a stream and keeps what others set there. It
// writes nothing when change returns false.
func ChangeMetadata(ctx context.Context, store Store, stream string, change func(*StreamMetadata) bool) error {
	of := MetadataStream(stream)
	var meta StreamMetadata
	count := uint64(0)
	r, found, err := Last(ctx, store, of)
	if found {
		count = r.Revision + 1
		meta, err = ParseStreamMetadata(r.Data)
	}
	if err != nil {
		return fmt.Errorf("read the metadata of %s: %w", stream, err)
	}
	if !change(&meta) {
		return nil
	}
	data := meta.Marshal()
	_, err = store.Append(ctx, of, ExpectNext(count), []NewEvent{{
		// The id contains the contents, because other contents must not pass for a repeat.
		ID:   NewEventID(of, fmt.Sprintf("metadata@%d/%s", count, data), 0),
		Type: TypeMetadata, Data: data,
	}})
	if err != nil {
		return fmt.Errorf("set the metadata of %s: %w", stream, err)
	}
	return nil
}

// First is the first readable revision of a stream of count events, apart from
// what MaxAge hides.
func (m StreamMetadata) First(count uint64) uint64 {
	first := m.TruncateBefore
	if m.MaxCount > 0 && count > m.MaxCount {
		first = max(first, count-m.MaxCount)
	}
	return min(first, count)
}
