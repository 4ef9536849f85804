// Package snapshot stores folded states, so that a start reads the newest state and
// the events after it instead of all events. Start reading here.
//
// The rules:
//
//  1. A snapshot is a cache. It decides nothing, is written only after all its
//     events were acknowledged, is never in the stream that it was folded from,
//     and may be deleted at any time.
//  2. It is a sequence of events (messages.SnapshotPart) in a stream of its own
//     (events.SnapshotStream), or a file with one part (File). Each part names the
//     schema of the state, the last event in it, its number among the parts, and the
//     checksum of the whole.
//  3. A reader takes the newest one that is complete, matches its checksum, has a
//     known schema, and whose last event is in the store under the same id (and,
//     for a state of the whole log, at the same position). All others are skipped
//     with a reason; if none is left, the reader starts from the beginning.
//  4. The two newest whole snapshots stay readable ($maxCount), also while
//     another is being written.
//  5. Only streams that no audit needs are truncated, and only up to the older of
//     the two, so that one bad snapshot loses nothing. What a truncation hides can
//     be read from the log while the store still has it (Tail).
//
// The package does not know what a state looks like: the cores encode theirs as
// pieces of bytes, under the name of a schema; folds with a file walk through their
// parts (Coder).
package snapshot
