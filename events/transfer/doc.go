// Package transfer moves streams between stores, writes them to files and reads
// them back, and says by a digest whether two stores hold the same. Start
// reading at transfer.go.
//
// What is moved: the events of all streams that are not the system's own, with
// their revisions, ids, types, data and metadata byte for byte; what the
// metadata of a stream says at the end; and the end itself, when a stream is
// deleted for good. What is not: positions and recording times, which the target
// gives anew, snapshots, which are valid only in the store that they were made
// in, the history of a stream's metadata, and all else of the system's.
//
// The source is read from its log, because a stream does not show what its
// metadata hides. Appends carry the original ids and expect exact revisions, so
// a run that was interrupted is simply started again: what is there already is
// compared, not written twice. When the target has other events in one of the
// streams, nothing is written.
//
// The order is kept, between streams too: an auditor wants causes before what
// follows from them. So an append ends where the log goes on with another stream.
//
// Everything passes by in one direction. What is kept in memory is one entry
// per stream and one append.
package transfer
