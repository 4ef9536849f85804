// Package wire serves any events.Store by EventStoreDB's gRPC protocol, so that
// its official clients and the tools built on them can look into hostnode's
// record, and other programs can keep events beside it.
//
// A Server answers the services Streams, ServerFeatures and Gossip. Persistent
// subscriptions and projections are refused as unimplemented. The rules of
// revisions, deletion and metadata are the Store's own (events.Store); this
// package translates, decides who may do what, and bounds what a client can
// cost:
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
// Every call runs on the goroutine that grpc gives it. One further goroutine
// per server follows the end of the store's log and wakes the subscribers whose
// stream got something; a subscriber then reads the store from where it stands.
// So a client that does not read holds up nobody but itself.
package wire
