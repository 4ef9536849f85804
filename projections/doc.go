// Package projections folds the events of a host into views for people: the
// ledger, the reservations, the sales, the proofs, the queue, the transactions,
// the earnings and the starts of the host. Start with views.go, which says which
// streams become which view, then projector.go, which keeps them up to date.
//
// The main loop is short: read the next event of all streams, fold it into the
// views, remember its position. Views follow from the streams alone, so they may
// be deleted at any time and built again; a checkpoint (checkpoint.go) only
// makes a start faster. Every view has the position that it is as of.
//
// Views print as JSON in one stable form: lowerCamelCase names, ids as 0x-hex,
// amounts as decimal strings (token base units, wei where the name says so),
// points in time as RFC 3339, sizes in bytes.
//
// Nothing is decided by a view, because it may lag. Decisions are made by the
// cores, each from its own stream. The package audit, below this one, checks
// whether the events are in order.
package projections
