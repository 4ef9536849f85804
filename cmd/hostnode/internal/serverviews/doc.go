// Package serverviews installs the projections of projections/js in an
// EventStoreDB, shows their state, and removes them. Start with Server.Install;
// it uses the official client.
//
// The server has no call that returns the source of a projection, but it keeps
// each definition in a stream, $projections-<name>, which an administrator may
// read. From there this package learns which version is installed.
//
// It does not read the views: those on the server are for the server's tools,
// and hostnode has its own (package projections).
package serverviews
