// Package embedded is the event store that needs no server: an events.Store for
// one process, built on pebble, in a directory of its own.
//
// # How an append becomes durable
//
// Append encodes its events and hands them to one goroutine, the committer. The
// committer takes everything that waits, checks each request against the heads
// of the streams (requests of one batch see each other), numbers the events,
// writes one pebble batch and syncs it once. Only then does it answer the
// callers, move the readers' limit forward and wake the subscribers. So 64
// writers share one sync. For those who were answered together it waits a little,
// a quarter of a sync at most, because they are likely to write together again.
// Nobody ever reads an event that a power cut could take back: pebble shows a batch
// before it is synced, but our readers stop at the last position that is known to
// be synced, and see the heads of streams as
// they were before the batch (durable.go).
//
// # What is stored
//
// An event is stored once, under its global position, with a CRC-32C over all
// of it. The index of a stream maps a revision to position and event id, so
// that an append whose answer was lost is recognised for ever. The head of a
// stream has the number of its events, whether it is tombstoned, and what its
// metadata hides. A virtual stream is an index and a head, too. Index and head
// are written in the same batch as the events. The layouts are in keys.go,
// head.go and record.go; the file FORMAT in the directory has their version,
// and upgrade.go upgrades a directory of an older version.
//
// Deletion and truncation hide events; nothing is removed from the log.
//
// # When something is wrong
//
// When the disk fails or is full, no append is accepted any more
// (events.ErrStoreFailed) until the store is opened again; a failed sync is
// never retried, because the kernel may have dropped the pages. Reading goes
// on. Bytes that do not match their checksum are a *DamagedError. Open reports
// how the last shutdown went and how the write-ahead log ended, and fails when
// acknowledged events are gone (the file MARK in the directory remembers the
// last one). Verify checks everything that is stored. Backup copies the store
// while it is in use.
//
// Only one process can open a directory; a second one gets ErrInUse.
package embedded
