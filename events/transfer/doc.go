// Package transfer copies streams between stores, writes them to files and reads them back, and
// compares stores by a digest. Start reading at transfer.go.
//
// It copies the events of all streams that are not the system's own, with their revisions, ids,
// types, data and metadata byte for byte; the last metadata of each stream; and the tombstone
// of a stream that is deleted for good. It does not copy positions and recording times, which
// the target assigns anew; snapshots, which are valid only in the store that they were made in;
// the history of a stream's metadata; or any other stream of the system's.
//
// The source is read from its log, because a stream does not show what its metadata hides.
// Appends keep the original ids and expect exact revisions, so an interrupted run is simply
// started again: what is there already is compared, not written twice. When the target has
// other events in one of the streams, nothing is written.
//
// The order is kept, between streams too, because an auditor needs causes before their
// consequences. So an append ends where the log goes on with another stream.
//
// Everything is read once, in one direction. Memory holds one entry per stream, and one append.
package transfer
