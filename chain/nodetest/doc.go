// Package nodetest is a test double of an Ethereum node's endpoint: it stands between a host
// and a real node, passes on what it is asked, and can be made to answer otherwise. Lies are
// the answers of a hostile node, by name.
//
// It is for tests; nothing that is shipped imports it.
package nodetest
