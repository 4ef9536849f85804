// Package api is the interface to a host for people and programs: what can be asked and ordered (calls.go, the whole
// of it), and HTTP on a unix socket (server.go, client.go).
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
//	GET    /v1/status
//	GET    /v1/ledger
//	GET    /v1/availabilities
//	POST   /v1/availabilities            an Offer
//	PATCH  /v1/availabilities/{id}       Changes
//	DELETE /v1/availabilities/{id}
//	GET    /v1/sales?settled=N
//	GET    /v1/sales/{slot}
//	GET    /v1/queue
//	GET    /v1/members
//	POST   /v1/queue/pause               {"reason": "..."}
//	POST   /v1/queue/resume              {"reason": "..."}
//	POST   /v1/backup                    {"dir": "/a/directory"}
//	GET    /v1/quarantine
//	POST   /v1/quarantine/retry          {"work": "market:17"}
//	GET    /v1/sectors
//	GET    /v1/sectors/faults
//	GET    /v1/sectors/{number}
//	GET    /v1/sectors/{number}/timeline?from=REVISION&most=N
//	GET    /v1/pieces
//	POST   /v1/pieces                    {"path": "/a/file"}; the answer is a Piece
//	DELETE /v1/pieces/{cid}
//	POST   /v1/sectors                   a NewSector; the answer is its number
//	POST   /v1/sectors/pieces            a Placing; the answer, and those below, are a Sector
//	POST   /v1/sectors/{number}/pieces   a SectorOrder, as for all below
//	POST   /v1/sectors/{number}/drop
//	POST   /v1/sectors/{number}/pack
//	POST   /v1/sectors/{number}/retry
//	POST   /v1/sectors/{number}/force
//	POST   /v1/sectors/{number}/terminate
//	POST   /v1/sectors/{number}/remove
//	GET    /v1/export?host=ACCOUNT&acceptScavenged=true&cut=STREAM@REVISION
//	GET    /v1/audit?from=POSITION&checkpoint=FILE&chain=ENDPOINT
//	GET    /v1/replay?stream=NAME&at=WHEN&events=true
//	GET    /v1/past/status?at=WHEN       and so ledger, queue, members, sales, sales/{slot}...
//
// Of an id in a path, a beginning is enough if no other id has the same. Sizes are
// bytes, durations seconds, amounts decimal strings of token base units.
//
// The API decides nothing, and is not for other machines: the socket belongs to the user
// who runs the host.
package api
