package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Names, event types and metadata keys that begin with "$" belong to the system,
// as in EventStoreDB (spec/eventstore.md §4, §11). In addition to the metadata
// of streams these are the virtual streams: indexes over all streams that are not the
// system's own, and over the metadata of these, made by the store as it writes.
// They hold links, with revisions of their own from 0.
//
//	$ce-<category>     the events of all streams that have a dash, but not as their
//	                   first character; what deleted one of them; of a link that
//	                   a client wrote, a link to what that one names
//	$et-<type>         the events of a type, metadata too, but no links; what
//	                   deletes a stream is in $et-$deleted
//	$bc-<correlation>  the events of a conversation, but no links
//	$streams           the first event of each stream
//
// A real EventStoreDB has them while its system projections run.
const (
	systemPrefix      = "$"
	metadataPrefix    = "$$"
	logName           = "$all"
	VirtualCategory   = "$ce-"
	VirtualType       = "$et-"
	VirtualCorrelated = "$bc-"
	VirtualStreams    = "$streams"

	// TypeMetadata is the type of the events of a metadata stream.
	TypeMetadata = "$metadata"
	// TypeTombstone is the type of the event that deletes a stream for good.
	TypeTombstone = "$streamDeleted"
	// TypeLink is the type of the entries of a virtual stream: their data names
	// the event, "revision@stream".
	TypeLink = "$>"
	// typeDeleted stands in indexes for the type of an event that deletes a stream.
	typeDeleted = "$deleted"
)

// tombstoneRevision is the revision that a tombstone is shown with: higher than
// that of any other event.
const tombstoneRevision = math.MaxInt64

// Link says where in a virtual stream an event was read.
type Link struct {
	Stream   string
	Revision uint64
	// Target is the event that the link names, "revision@stream".
	Target string
	// Origin is the stream of the event that the link was made for: the target's
	// own, or one in which a client linked to the target. Empty: not known, as
	// with a store that is reached over a network.
	Origin string
	Meta   LinkMeta
}

// LinkMeta is what the metadata of a link are made of: of one that a server stores, Stored, its JSON; of a
// virtual stream's, what it says of the event that it lists. Most readers want the event only, so
// Link.Metadata puts it into JSON for those who ask.
type LinkMeta struct {
	Stored      string
	Event       EventID
	Position    Position // 0: stored by a server
	Recorded    time.Time
	Correlation string
	Deletes     bool
}

// IsSystem reports whether a stream belongs to the system: no fold of hostnode
// looks at it.
func IsSystem(stream string) bool { return strings.HasPrefix(stream, systemPrefix) }

// IsVirtual reports whether a stream is an index that the store makes.
func IsVirtual(stream string) bool {
	return stream == VirtualStreams || strings.HasPrefix(stream, VirtualCategory) ||
		strings.HasPrefix(stream, VirtualType) || strings.HasPrefix(stream, VirtualCorrelated)
}

// MetadataStream is the stream that holds the metadata of a stream. Only its
// last event is in force, and only that one can be read.
func MetadataStream(stream string) string { return metadataPrefix + stream }

// MetadataOf is the stream whose metadata a stream holds; false when it holds
// none.
func MetadataOf(stream string) (string, bool) {
	if !isMetadataStream(stream) {
		return "", false
	}
	return stream[len(metadataPrefix):], true
}

func isMetadataStream(stream string) bool { return strings.HasPrefix(stream, metadataPrefix) }

// VirtualOf returns the virtual streams that an event belongs to, in a fixed
// order. An event that is not written yet counts as the first of its stream if
// its revision is 0.
func VirtualOf(r *Recorded) []string {
	if !isIndexed(r) {
		return nil
	}
	all := make([]string, 0, 4)
	if category := indexedCategory(r); category != "" {
		all = append(all, VirtualCategory+category)
	}
	if eventType := indexedType(r); eventType != "" {
		all = append(all, VirtualType+eventType)
	}
	if correlation := indexedCorrelation(r); correlation != "" {
		all = append(all, VirtualCorrelated+correlation)
	}
	if isFirst(r) {
		all = append(all, VirtualStreams)
	}
	return all
}

// Belongs reports whether VirtualOf contains a virtual stream, without making the names.
func Belongs(virtual string, r *Recorded) bool {
	if !isIndexed(r) {
		return false
	}
	if virtual == VirtualStreams {
		return isFirst(r)
	}
	if of, ok := strings.CutPrefix(virtual, VirtualCategory); ok {
		return of != "" && indexedCategory(r) == of
	}
	if of, ok := strings.CutPrefix(virtual, VirtualType); ok {
		return of != "" && indexedType(r) == of
	}
	of, ok := strings.CutPrefix(virtual, VirtualCorrelated)
	return ok && of != "" && indexedCorrelation(r) == of
}

// isIndexed reports whether the virtual streams may list an event: they list the
// streams of users and the metadata of these, and not those of the system.
func isIndexed(r *Recorded) bool {
	of, ok := MetadataOf(r.Stream)
	if !ok {
		of = r.Stream
	}
	return !IsSystem(of)
}

func indexedCategory(r *Recorded) string {
	stream := r.Stream
	if of, ok := MetadataOf(stream); ok {
		if !deletes(r) {
			return ""
		}
		stream = of
	}
	category, _, ok := strings.Cut(stream, "-")
	if !ok {
		return ""
	}
	return category
}

func indexedType(r *Recorded) string {
	switch {
	case r.Type == TypeLink:
		return ""
	case deletes(r):
		return typeDeleted
	}
	return r.Type
}

// indexedCorrelation is the correlation id of an event. Metadata of other
// programs may give it as a number, or as true or false, whose .NET spelling is
// then used.
func indexedCorrelation(r *Recorded) string {
	if r.Type == TypeLink {
		return ""
	}
	if r.Meta.Correlation != "" || r.Foreign == nil {
		return r.Meta.Correlation
	}
	var said struct {
		Correlation json.RawMessage `json:"$correlationId"`
	}
	if json.Unmarshal(r.Foreign, &said) != nil {
		return ""
	}
	text := string(said.Correlation)
	switch {
	case text == "", text == "null", text[0] == '{', text[0] == '[':
		return ""
	case text[0] == '"': // A value of a type that Metadata cannot hold.
		if json.Unmarshal(said.Correlation, &text) != nil {
			return ""
		}
		return text
	case text == "true":
		return "True"
	case text == "false":
		return "False"
	}
	return text
}

func isFirst(r *Recorded) bool { return r.Revision == 0 && r.Type != TypeTombstone }

// deletes reports whether an event deletes a stream, softly or for good.
func deletes(r *Recorded) bool {
	if !isMetadataStream(r.Stream) {
		return r.Type == TypeTombstone
	}
	if r.Type != TypeMetadata {
		return false
	}
	meta, err := ParseStreamMetadata(r.Data)
	return err == nil && meta.Deleted()
}

// LinkTo returns the link of a virtual stream to an event that belongs to it.
func LinkTo(r *Recorded, virtual string, revision uint64) *Link {
	l := &Link{Stream: virtual, Revision: revision, Origin: r.Stream}
	follows := r.Type == TypeLink && strings.HasPrefix(virtual, VirtualCategory)
	switch {
	case !follows && r.Type == TypeTombstone:
		l.Target = target(r.Stream, tombstoneRevision)
	case !follows:
		l.Target = target(r.Stream, r.Revision)
	case len(r.Data) <= mostTargetBytes:
		l.Target = string(r.Data)
	}
	l.Meta = LinkMeta{
		Event: r.ID, Position: r.Position, Recorded: r.Recorded,
		Correlation: indexedCorrelation(r), Deletes: deletes(r),
	}
	return l
}

// Follows reports whether the link was made for one that a client wrote in
// Origin, and names the same event as that.
func (l *Link) Follows(r *Recorded) bool {
	return r.Type == TypeLink && strings.HasPrefix(l.Stream, VirtualCategory)
}

// mostTargetBytes is the longest text that can name an event.
const mostTargetBytes = MaxStreamNameBytes + len("18446744073709551615@")

func target(stream string, revision uint64) string {
	return strconv.FormatUint(revision, 10) + "@" + stream
}

// ParseTarget parses the target of a link; false when it cannot name an event.
func ParseTarget(text string) (stream string, revision uint64, ok bool) {
	if len(text) > mostTargetBytes {
		return "", 0, false
	}
	number, stream, ok := strings.Cut(text, "@")
	revision, err := strconv.ParseUint(number, 10, 63)
	return stream, revision, ok && err == nil && stream != ""
}

// linkVersion stands for the version of the projection that would have made the link.
const linkVersion = "1:-1:1:4"

// Metadata is the link's own metadata, in JSON. The position of a virtual stream's event in the log is
// our addition; the rest is what EventStoreDB's projections write.
func (l *Link) Metadata() string {
	if l.Meta.Position == 0 {
		return l.Meta.Stored
	}
	said := struct {
		Version     string   `json:"$v"`
		Commit      Position `json:"$c"`
		Prepare     Position `json:"$p"`
		Origin      string   `json:"$o,omitempty"`
		Deleted     int      `json:"$deleted,omitempty"`
		Timestamp   string   `json:"$eventTimestamp,omitempty"`
		CausedBy    string   `json:"$causedBy"`
		Correlation string   `json:"$correlationId,omitempty"`
	}{
		Version: linkVersion, Commit: l.Meta.Position, Prepare: l.Meta.Position, CausedBy: l.Meta.Event.String(),
		Correlation: l.Meta.Correlation,
	}
	inCategory := strings.HasPrefix(l.Stream, VirtualCategory)
	if inCategory {
		said.Origin = l.Origin
		if of, ok := MetadataOf(l.Origin); ok {
			said.Origin = of
		}
	}
	if (inCategory || strings.HasPrefix(l.Stream, VirtualType)) && l.Meta.Deletes {
		said.Deleted = -1
	}
	if strings.HasPrefix(l.Stream, VirtualCorrelated) {
		said.Timestamp = l.Meta.Recorded.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	b, err := json.Marshal(said)
	if err != nil {
		panic("events: metadata of a link does not encode: " + err.Error())
	}
	return string(b)
}

// Unresolved is what a virtual stream yields in place of an event that cannot be
// read: the link, with its position and time, and the stream and revision that it
// names.
func Unresolved(l *Link, position Position, at time.Time) Recorded {
	r := Recorded{Link: l, Position: position, Recorded: at}
	r.Stream, r.Revision, _ = ParseTarget(l.Target)
	return r
}

// Gone reports whether only a link was read: its event is deleted, truncated or
// expired, or never existed.
func (r *Recorded) Gone() bool { return r.Link != nil && r.Type == "" }

// Resolve reads the event that a link names; false when it cannot be read.
func Resolve(ctx context.Context, s Store, target string) (r Recorded, found bool, err error) {
	stream, revision, ok := ParseTarget(target)
	if !ok || IsVirtual(stream) {
		return Recorded{}, false, nil
	}
	for r, err := range s.ReadStream(ctx, stream, ReadStream{From: revision, Limit: 1}) {
		if errors.Is(err, ErrStreamNotFound) || errors.Is(err, ErrStreamDeleted) {
			break
		}
		if err != nil {
			return Recorded{}, false, fmt.Errorf("follow a link: %w", err)
		}
		return r, r.Revision == revision, nil // Otherwise it is hidden, and this is a later one.
	}
	return Recorded{}, false, nil
}

// ResolveLink replaces a link that was read as an event of a virtual stream by the event that it
// names.
func ResolveLink(ctx context.Context, s Store, r Recorded) (Recorded, error) {
	found, ok, err := Resolve(ctx, s, r.Link.Target)
	if err != nil {
		return Recorded{}, err
	}
	if !ok {
		return Unresolved(r.Link, r.Position, r.Recorded), nil
	}
	found.Link = r.Link
	return found, nil
}
