// Package serverviews installs the projections of projections/js in an
// EventStoreDB, says how they are doing, and removes them. Start with
// Server.Install; everything is done with the official client's calls.
//
// The server has no call that tells the source of a projection, but it keeps
// each definition in a stream, $projections-<name>, which an administrator may
// read. From there this package learns which version is installed.
//
// Not for: reading the views. hostnode's own are in package projections; those
// on the server are for the server's tools.
package serverviews
