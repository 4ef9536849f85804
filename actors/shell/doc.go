// Package shell runs pure cores as actors. It is what every machine of a host uses, and it
// knows none of them.
//
// A Runtime is one actor system in one process. An actor is a Behavior, spawned by its
// parent, which is told when it fails (ChildFailed); a Ref addresses it as long as it
// lives, and a Part over all its lives. A Journal is the loop of every machine: load the
// stream and fold it; for a command, decide; append what follows with the expected
// revision; when that is durable, answer, and let the actor act. A Record knows whether
// the event store answers, and a Pool bounds how many calls of a kind run at once.
//
// Not for: rules of any machine, and what the chain says (package chainview).
package shell
