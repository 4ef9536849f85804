// Package nodetest is a test double for a node's endpoint: it stands between a host and a real
// node, passes on requests, and can be made to answer otherwise. Lies are the answers of a hostile
// node, by name.
//
// It is for tests; nothing that is shipped imports it.
package nodetest
