// Package events says what an event of the host is, how it is encoded, how
// streams are named, and what an event store must do (Store). It also holds the
// types and errors that the ports of the host share (ids, amounts, requests,
// proofs), so that an adapter never has to import its consumer.
//
// Start with store.go (the port), envelope.go (what is stored) and codec.go
// (how it is encoded). The pure cores, which decide which events follow from
// which commands, are the packages below this one: sale, capacity, slotqueue,
// duty, sector and validation. The stores are embedded (the default), esdb (an
// EventStoreDB) and, for tests, storetest.Memory; all pass the suite in storetest.
//
// This package decides nothing: it holds no rule of the market.
package events
