// Package wire serves any events.Store over EventStoreDB's gRPC protocol, so
// that the official clients and the tools built on them can read hostnode's
// events, and other programs can store theirs beside them.
//
// A Server answers the services Streams, ServerFeatures and Gossip. Persistent
// subscriptions and projections are refused as unimplemented. The rules of
// revisions, deletion and metadata are the Store's own (events.Store); this
// package translates, checks rights, and bounds what a client can cost:
//
//	server.go     listeners, connections, the end
//	guard.go      what stands before every call: who calls, and how it failed
//	auth.go       users and passwords          acl.go      rights on streams
//	append.go     Append                       batch.go    BatchAppend
//	read.go       Read of what is there        all.go      the same for $all
//	subscribe.go  Read that goes on            tail.go     who wakes subscribers
//	delete.go     Delete, Tombstone            filter.go   filters on $all
//	convert.go    messages of the protocol     errors.go   its errors
//
// Every call runs on the goroutine that grpc gives it. One more goroutine per
// server follows the end of the store's log and wakes the subscribers whose
// stream has new events; a subscriber then reads on from its own position. So a
// client that does not read delays nobody but itself.
package wire
