// Package api is how people and programs talk to a host: what can be asked
// (Backend, in backend.go), over HTTP on a unix socket (server.go, client.go).
//
// There are three backends with the same answers. Live asks a running host. Client asks
// the Live one of another process over its socket. Offline opens the data directory
// itself, when nobody has its lock: it reads the same views, and writes availabilities
// and the operator's pause through the same journals as a host's actors (actors.Record).
// So a command does not care whether the host runs.
//
// Errors are answered as problem+json with a stable code, a sentence and a hint; the one
// table of them is in problemtable.go, and docs/errors.md is generated from it.
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
//	POST   /v1/queue/pause               {"reason": "..."}
//	POST   /v1/queue/resume              {"reason": "..."}
//	GET    /v1/quarantine
//	POST   /v1/quarantine/retry          {"work": "market:17"}
//	GET    /v1/audit?from=POSITION&checkpoint=FILE&chain=ENDPOINT
//	GET    /v1/replay?stream=NAME&at=WHEN&events=true
//	GET    /v1/past/status?at=WHEN       and so ledger, queue, sales, sales/{slot}
//
// An id in a path may be cut short as long as it is the only one that begins so. Sizes
// are bytes, durations seconds, amounts decimal strings of token base units.
//
// Not for: deciding anything, and for other machines; the socket belongs to the user who
// runs the host.
package api
