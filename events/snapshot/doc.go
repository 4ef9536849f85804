// Package snapshot keeps states beside the record that they were folded from,
// so that a start reads the newest state and the tail behind it instead of
// everything. Start reading here.
//
// The rules:
//
//  1. A snapshot is a cache. It decides nothing, is written after everything it
//     says was acknowledged, never stands in the stream that it was folded
//     from, and may be deleted at any time.
//  2. It is a run of events (messages.SnapshotPart) in a stream of its own
//     (events.SnapshotStream). Each says the schema of the state, the last event
//     that is in it, its number among the parts, and the checksum of the whole.
//  3. A reader takes the newest one that is whole, has its checksum and a schema
//     that he knows, and whose last event is in the record under the same id (and,
//     for a state of the whole log, at the same position). Everything else is
//     passed over with a reason; without any he reads from the beginning.
//  4. The two newest whole snapshots stay readable ($maxCount), also while
//     another is being written.
//  5. Only a stream that no audit rests on is truncated, and only behind the
//     older of the two, so that one bad snapshot loses nothing. What a
//     truncation hides is read from the log while the store still has it (Tail).
//
// Not for: what a state looks like. The cores encode theirs as pieces of bytes
// and say under which schema name.
package snapshot
