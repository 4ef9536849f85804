// Package messages holds the events of hostnode as generated from
// messages.proto, and the unions that say which events belong to which
// machine. It has no logic. Run `make generate` after a change of
// messages.proto.
package messages
