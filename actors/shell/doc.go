// Package shell runs pure cores as actors. Every machine of a host uses it, and it knows none
// of them.
//
// A Runtime is one actor system in one process. An actor is a Behavior, spawned by its parent,
// which is told when it fails (ChildFailed). A Ref addresses one life of an actor, a Part all
// of its lives. A Journal is the loop of every machine: load the stream and fold it; decide on
// each command; append the resulting events at the expected revision; once they are durable,
// answer, and let the actor act. A StoreWatch knows whether the event store answers, and a Pool
// bounds how many calls of one kind run at once.
//
// Not for: the rules of a machine, or what the chain says (package chainview).
package shell
