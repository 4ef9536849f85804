// Package events is the record of the host: what an event is, how it is
// encoded, how streams are named, and the Store port behind which every event
// store stands. It also holds the types and typed errors that the ports of the
// host share (ids, amounts, requests, proofs), so that an adapter never has to
// import its consumer.
//
// Start with store.go (the port), envelope.go (what is stored) and codec.go
// (how it is encoded). The pure cores that decide which events follow from
// which commands are the packages below this one: sale, capacity, slotqueue
// and duty. The stores are embedded (the default), the in-memory store of this
// package, and whatever else passes the suite in storetest.
//
// Not for: deciding anything. This package holds no rule of the market.
package events
