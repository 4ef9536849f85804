// Package api is the interface to a host for people and programs: what can be asked and ordered (calls.go, the whole
// of it), and HTTP (server.go, client.go).
//
// Each question and each order is one Call: its place in the API, its types, and who answers. The server and the client
// are made from the calls, so that a new one, also that of a further machine (Machine), is declared once.
//
// There are four backends with the same answers. Live answers for a running host, Standby for one that is starting or
// stopping. Client asks that of another process over its socket. Offline opens the data
// directory itself, when nobody has its lock: it reads the same views, and writes
// availabilities and the operator's pause through the same journals as a host's actors
// (actors.Record). So a command works alike whether the host runs or not.
//
// Errors are problem+json with a stable code, a sentence and a hint. The table of all of them is in
// package rows.
//
// The document of the API is docs/openapi.json, which is made from the calls (document.go). All is below /api/v1.
package api
