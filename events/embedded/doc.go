// Package embedded is the event store that needs no server: the events.Store
// of a host that runs alone, on pebble, in a directory of its own.
//
// # How an append becomes durable
//
// Append encodes its events and hands them to one goroutine, the committer.
// The committer takes everything that waits, checks each request against the
// heads of the streams (requests of one batch see each other), numbers the
// events, writes one pebble batch and syncs it once. Only then are the callers
// answered, the readers' limit moved forward and the subscribers woken. So 64
// writers share one sync, and nobody ever reads an event that a power cut
// could take back: pebble shows a batch before its sync is done, our readers
// stop at the last position that is known to be synced, and see the heads of
// streams as they were before that batch (durable.go).
//
// # What is stored
//
// An event stands once, under its global position, with a CRC-32C over all of
// it. The index of a stream maps a revision to position and event id, so that
// an append whose answer was lost is recognised for ever. The head of a stream
// has the number of its events, whether a tombstone ended it, and what its
// metadata hides. A virtual stream is an index and a head too. All of this is
// written in the batch of the events from which it follows. keys.go, head.go
// and record.go have the layouts; FORMAT in the directory has the version of
// all this, and upgrade.go makes of an older one what this build reads.
//
// Deletion and truncation hide events; nothing is taken from the log.
//
// # When something is wrong
//
// A failed or full disk ends the acceptance of appends (events.ErrStoreFailed)
// until the store is opened again; a failed sync is never retried, because the
// kernel may have dropped the pages. Reading goes on. Bytes that do not have
// their checksum are a *DamagedError. Open reports how the last shutdown went
// and what the end of the write-ahead log looked like, and refuses to go on
// when acknowledged events are gone (MARK in the directory remembers the last
// one). Verify walks everything. Backup copies the store while it goes on.
//
// Not for: several processes on one directory. The second one gets ErrInUse.
package embedded
