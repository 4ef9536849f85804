// Package remoteapi is the protocol between a host and an outside prover: HTTP with JSON bodies.
// The host sends requests, with "Authorization: Bearer <token>":
//
//	GET    /v1/prover                                        → Prover
//	PUT    /v1/sectors/<provider>/<number>/pieces/<offset>?… the payload as the body → Answer
//	POST   /v1/sectors/<provider>/<number>/pack              Pack        → Answer
//	POST   /v1/sectors/<provider>/<number>/precommit1        PreCommit1  → Answer with PreCommit1Result
//	POST   /v1/sectors/<provider>/<number>/precommit2        PreCommit2  → Answer with PreCommit2Result
//	POST   /v1/sectors/<provider>/<number>/commit1           Commit1     → Answer with Commit1Result
//	POST   /v1/sectors/<provider>/<number>/commit2           Commit2     → Answer with ProofResult
//	POST   /v1/sectors/<provider>/<number>/done              Done        → Answer
//	POST   /v1/sectors/<provider>/<number>/restore           Restore     → Answer
//	POST   /v1/sectors/<provider>/<number>/challenge         Challenge   → Answer with ProofResult
//	DELETE /v1/sectors/<provider>/<number>?size=<size>       → Answer
//
// Provider is 0x-hex, number and offset are decimal. The query of a piece has size (of the sector),
// pieceCid, pieceSize and payload; zeros=1 says that it consists of zeros and has no body. The host
// sends "Expect: 100-continue", so that the bytes of a piece which the prover already has are not
// sent.
//
// The fields of the commits are named as in the hooks of Lotus for outside provers
// (RemoteCommit1Params, RemoteCommit2Params, RemoteSealingDoneParams). There are three differences:
// a sector is named by address, number and size instead of a miner's id and a type of proof, and
// Unsealed and Sealed are roots as 0x-hex, because what stands in for CommR need not be a CID.
//
// # Long steps
//
// A step may last hours. The prover answers 202 with State Running and goes on with the work; to
// ask whether it is done, the host sends the same request again. The same body for the same sector
// means the same work, even after either side has restarted, and gives the same result. In the
// header CallbackHeader the host names a URL for news; the prover sends a Callback there, with the
// token in CallbackTokenHeader as its bearer token. A call-back decides nothing: the host then asks
// again.
//
// # Errors
//
// 422 with State Failed: Code names the error, Error is a sentence. It is final for this request.
// 408, 429 and 5xx are temporary, and the host asks again later. 401 and 403: the token is wrong.
package remoteapi

import (
	"encoding/json"

	"github.com/hostnode/hostnode/events"
)

// Version is the version of this protocol.
const Version = 1

// Headers.
const (
	// CallbackHeader is the URL for call-backs.
	CallbackHeader = "Hostnode-Callback"
	// CallbackTokenHeader is the bearer token that they must have.
	CallbackTokenHeader = "Hostnode-Callback-Token"
)

// The states of an Answer.
const (
	Running = "running"
	Done    = "done"
	Failed  = "failed"
)

// Prover describes the prover.
type Prover struct {
	Version int
	// Proves is what its proofs show: "possession", "simulated" or "replication".
	Proves string
}

// Sector names a sector; size is in bytes, padded.
type Sector struct {
	Provider string
	Number   uint64
	Size     uint64
}

// Piece is a piece of a sector; sizes in bytes.
type Piece struct {
	PieceCID string
	Size     uint64
	Payload  uint64
}

// Pack says which pieces a sector has, in order; what is not theirs is zeros.
type Pack struct {
	Sector Sector
	Pieces []Piece
}

// PreCommit1 asks for the first step. Bytes are base64, as in all of these.
type PreCommit1 struct {
	Sector Sector
	Ticket []byte
	Pieces []Piece
}

// PreCommit1Result is the input of the second step.
type PreCommit1Result struct{ PreCommit1Out []byte }

// PreCommit2 asks for the second step.
type PreCommit2 struct {
	Sector        Sector
	PreCommit1Out []byte
}

// PreCommit2Result has the roots, CommD and CommR, as 0x-hex.
type PreCommit2Result struct{ Unsealed, Sealed string }

// Commit1 asks for the first part of the seal's proof.
type Commit1 struct {
	Sector           Sector
	Ticket, Seed     []byte
	Unsealed, Sealed string
	Pieces           []Piece
	// Leaves is how many leaves the contract asks for, if the proof shows some.
	Leaves int
}

// Commit1Result is the input of the second part.
type Commit1Result struct{ Commit1Out []byte }

// Commit2 asks for the second part.
type Commit2 struct {
	Sector     Sector
	Commit1Out []byte
}

// Challenge asks for a proof of possession.
type Challenge struct {
	Sector     Sector
	Randomness []byte
	Leaves     int
}

// ProofResult is a proof.
type ProofResult struct{ Proof []byte }

// Restore asks to make a damaged sector sound again, with the commitments that it has. When pieces
// are damaged the code is "damaged", and they are added again before it is asked for again.
type Restore struct {
	Sector           Sector
	Ticket           []byte
	Unsealed, Sealed string
	Pieces           []Piece
}

// DoneParams says that sealing ended, and in which state the sector is now.
type DoneParams struct {
	Sector     Sector
	Successful bool
	State      string
}

// Answer is the answer to every request.
type Answer struct {
	State string
	// Progress is the part that is done, from 0 to 1.
	Progress float64         `json:",omitempty"`
	Result   json.RawMessage `json:",omitempty"`
	Code     string          `json:",omitempty"`
	Error    string          `json:",omitempty"`
}

// Callback says that there is news about a sector.
type Callback struct {
	Provider string
	Number   uint64
}

// Errors are those of sealers that have a code, by that; a prover that has another one says "other".
var Errors = map[string]error{
	"disk-full":      events.ErrDiskFull,
	"piece-mismatch": events.ErrPieceMismatch,
	"piece-refused":  events.ErrPieceRefused,
	"step":           events.ErrSectorStep,
	"damaged":        events.ErrSectorDamaged,
	"not-there":      events.ErrNoSectorPart,
	"malformed":      events.ErrMalformed,
}
