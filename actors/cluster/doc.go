// Package cluster joins the members of one host (port.Cluster): etcd says who seems to be alive, and
// the actor library carries questions and answers. Who may do what is in the record; a mistake here
// costs time, never money.
//
// # What is in etcd
//
// All keys begin with /hostnode/<cluster>/<address of the host>/.
//
//	members/<member>   who runs under this name, where it listens, its version, and the facts that
//	                   must be equal; under a lease that ends soon after the member does
//	term/<lease>       one candidate; the oldest one holds the lease of port.Cluster.Campaign
//
// Each campaign has a lease of its own: giving up and resigning need no answer from etcd, because
// a lease that is not kept alive expires. A lost lease is replaced without a restart, for as long
// as it takes. While etcd is away, the others are taken to be where they were last seen.
//
// Two members whose facts differ, or that believe no common authority, refuse each other: the later one ends
// (Open fails, or Cluster.Failed tells), the earlier one logs why. That they reach each other is not asked for: the
// last survivor must be able to own. Questions carry a digest of the facts, too.
//
// # What is used of the actor library, and what is not
//
// We use an actor system, its remote part, and one actor named "member" in each process. The
// address of a process is the name of its member, <member>.<cluster>.hostnode; where that is, is
// looked up among the members seen when a connection is made. So a join moves nothing, a member that
// returns elsewhere has the same address, and TLS compares the address with the certificate.
//
// The library's package cluster is not used. With an identity lookup of our own, what is left of it
// only harms:
//
//   - A request is repeated after a timeout, three times, after nanoseconds; its deadline is not the
//     caller's context, and the cause of a failure is lost.
//   - A name is resolved to a process that is started where a hash says. Ours are always there, one
//     per member.
//   - Gossip and its list of blocked members: a member that was once dropped stays blocked under its id.
//     Its provider for etcd does not bring back a member that lost its lease.
//   - Starting sleeps a second, stopping two to ten.
//
// Of the remote part, these are kept away from:
//
//   - Of what comes in, a message of an unknown type, an index out of range, or one of two calls that
//     it does not implement ends the process. The guard in front of it takes only questions to
//     "member" from the peer itself, and answers to what that peer was asked.
//   - Any process may connect, in plain text. We use mutual TLS, or loopback only.
//   - Actors can be spawned from outside, watched and stopped; the guard refuses that.
//   - Futures: see actors/shell/runtime.go. A question is a process of ours that ends with a context.
//   - Its start replaces grpc's logger for the whole process, which is a data race beside others who
//     use grpc: call Open before anything else that does, and once in a process.
//
// # In which order to read
//
// cluster.go, with the life of a member; etcd.go, which keeps it registered and campaigns; wire.go, which asks and
// answers, and guard.go in front of it; then config.go, with tls.go for the certificates, and connerrors.go.
package cluster
