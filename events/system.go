package events

import (
	"strconv"
	"strings"
)

// Names, event types and metadata keys that begin with "$" belong to the
// system, as in EventStoreDB (spec/eventstore.md §4). Besides the metadata of
// streams these are the virtual streams: indexes over all streams that are not
// the system's own, made by the store as it writes, with a numbering of their
// own that begins with 0.
//
//	$ce-<category>     the events of all streams of a category
//	$et-<type>         the events of a type
//	$bc-<correlation>  the events of a conversation (Metadata.Correlation)
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
	// TypeTombstone is the type of the event that ends a stream for good.
	TypeTombstone = "$streamDeleted"
	// TypeLink is the type of what a virtual stream holds: its data names the
	// event, "revision@stream".
	TypeLink = "$>"
)

// Link is the place of an event in a virtual stream.
type Link struct {
	Stream   string
	Revision uint64
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
// last event counts, and only that can be read.
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

// VirtualOf are the virtual streams that an event belongs to, in a fixed
// order; none for events of the system. first says that it is the first event
// of its stream.
func VirtualOf(stream, eventType, correlation string, first bool) []string {
	if IsSystem(stream) || strings.HasPrefix(eventType, systemPrefix) {
		return nil
	}
	all := make([]string, 0, 4)
	all = append(all, VirtualCategory+Category(stream), VirtualType+eventType)
	if correlation != "" {
		all = append(all, VirtualCorrelated+correlation)
	}
	if first {
		all = append(all, VirtualStreams)
	}
	return all
}

// LinkData is what the link to an event says.
func LinkData(stream string, revision uint64) []byte {
	return []byte(strconv.FormatUint(revision, 10) + "@" + stream)
}
