// Package projections folds the events of a host into what people look at: the
// ledger, the reservations, the sales, the proofs, the queue, the transactions,
// the earnings and the starts of the host. Start with views.go, which says which
// streams become which view, then projector.go, which keeps them up to date.
//
// The main loop is short: read the next event of all streams, hand it to the
// views, remember its position. Everything here follows from the streams and
// nothing else, so a view may be thrown away at any time and built again; a
// checkpoint is a way to start faster, never a second record (checkpoint.go).
// Every view says as of which position it is.
//
// Views print as JSON in one stable form: lowerCamelCase names, ids as 0x-hex,
// amounts as decimal strings (token base units, wei where the name says so),
// points in time as RFC 3339, sizes in bytes.
//
// Not for: deciding anything. Whoever decides asks a core, whose state is
// behind its own stream and never behind a position of this package. Whether
// the record is in order is for the package audit below this one to say.
package projections
