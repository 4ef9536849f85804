// Package record is what a storage provider keeps of a sector: one record, with its log inside.
package record

//go:generate go run ./gen

// SectorInfo is the record of a sector, with the fields that it has there.
type SectorInfo struct {
	State        string
	SectorNumber uint64
	Size         uint64
	Pieces       []Piece

	TicketValue   []byte
	TicketEpoch   uint64
	PreCommit1Out []byte
	CommD, CommR  []byte
	Proof         []byte

	PreCommitMessage []byte
	SeedValue        []byte
	SeedEpoch        uint64
	CommitMessage    []byte
	FaultReportMsg   []byte
	RecoveryMsg      []byte
	LastErr          string

	Log []Log
}

// Piece is a piece of a sector.
type Piece struct {
	PieceCID      string
	Size, Payload uint64
}

// Log is an event, as the record keeps it.
type Log struct {
	Timestamp            uint64
	Kind, Message, Trace string
}
