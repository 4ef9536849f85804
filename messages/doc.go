// Package messages holds the events of hostnode as generated from
// messages.proto; the unions that say which events belong to which machine; and
// the states that snapshots hold, which belong to no union, because nobody
// decides or folds them. It has no logic. Run `make generate` after a change of
// messages.proto.
package messages
