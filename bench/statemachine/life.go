package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/bench/statemachine/peer"
	"github.com/hostnode/hostnode/bench/statemachine/record"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// A sector is sealed and proven; from then on it becomes faulty and recovers, again and again. Both sides get the
// same events with the same content: a proof has the length of one of a sector of 2 KiB.
const (
	size       = 2048
	sealing    = 12 // events until it is hosted
	proofBytes = 192
	outBytes   = 64
)

// content is bytes of a sector, the same for both sides, and made fast: it is not what is measured.
func content(kind byte, n uint64, length int) []byte {
	out := make([]byte, length)
	for i := range out {
		out[i] = kind + byte(i)*7
	}
	binary.BigEndian.PutUint64(out, n<<8|uint64(kind))
	return out
}

func hash(kind byte, n uint64) []byte { return content(kind, n, sha256.Size) }

func hexed(b []byte) string { return "0x" + hex.EncodeToString(b) }

// Kinds of content.
const (
	ticket byte = iota + 1
	out1
	commD
	commR
	precommit
	seed
	proof
	commit
	fault
	recovery
)

const (
	firstPiece  = "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"
	secondPiece = "baga6ea4seaqpy7usqklokfx2vxuynmupslkeutzexe2uqurdg5vhtebhxqmpqmy"
	broken      = "leaf 7 is damaged"
)

// place is where in its life the i-th event of a sector is.
func place(i int) int {
	if i < sealing {
		return i
	}
	return sealing + (i-sealing)%6
}

func lifeOfPeer(n uint64, i int) peer.Event {
	switch place(i) {
	case 0:
		return peer.SectorStart{Number: n, Size: size, Pieces: []record.Piece{{
			PieceCID: firstPiece, Size: size / 2, Payload: 1000,
		}}}
	case 1:
		return peer.SectorOpened{Unsealed: size, Sealed: size, Tree: 2 * size, Deposit: "5000"}
	case 2:
		return peer.SectorPacked{FillerPieces: []record.Piece{{PieceCID: secondPiece, Size: size / 2}}}
	case 3:
		return peer.SectorTicket{TicketValue: hash(ticket, n), TicketEpoch: 300}
	case 4:
		return peer.SectorPreCommit1{PreCommit1Out: content(out1, n, outBytes)}
	case 5:
		return peer.SectorPreCommit2{Unsealed: hash(commD, n), Sealed: hash(commR, n)}
	case 6:
		return peer.SectorPreCommitted{Message: hash(precommit, n)}
	case 7:
		return peer.SectorSeedReady{SeedValue: hash(seed, n), SeedEpoch: 320}
	case 8:
		return peer.SectorProofReady{Proof: content(proof, n, proofBytes)}
	case 9:
		return peer.SectorCommitted{Message: hash(commit, n)}
	case 10:
		return peer.SectorProving{}
	case 11:
		return peer.SectorFinalized{}
	case 12:
		return peer.SectorFaulty{Reason: broken}
	case 13:
		return peer.SectorFaultReported{Message: hash(fault, n)}
	case 14:
		return peer.SectorFaultedFinal{}
	case 15:
		return peer.SectorRestored{}
	case 16:
		return peer.SectorRecoveryDeclared{Message: hash(recovery, n)}
	}
	return peer.SectorRecovered{}
}

func ourLife(n uint64, i int, provider string, at *timestamppb.Timestamp) sector.Event {
	switch place(i) {
	case 0:
		return &messages.SectorStart{At: at, Sector: n, Provider: provider, Size: size, By: "operator", Pieces: []*messages.SectorPiece{{
			Cid: firstPiece, Size: size / 2, Payload: 1000,
		}}}
	case 1:
		return &messages.SectorOpened{At: at, Unsealed: size, Sealed: size, Tree: 2 * size, Deposit: "5000"}
	case 2:
		return &messages.SectorPacked{At: at, Fillers: []*messages.SectorPiece{{Cid: secondPiece, Size: size / 2}}}
	case 3:
		return &messages.SectorTicket{At: at, Value: hexed(hash(ticket, n)), Epoch: 300}
	case 4:
		return &messages.SectorPreCommit1{At: at, Out: hexed(content(out1, n, outBytes))}
	case 5:
		return &messages.SectorPreCommit2{At: at, CommD: hexed(hash(commD, n)), CommR: hexed(hash(commR, n))}
	case 6:
		return &messages.SectorPreCommitted{At: at, Message: hexed(hash(precommit, n))}
	case 7:
		return &messages.SectorSeedReady{At: at, Value: hexed(hash(seed, n)), Epoch: 320}
	case 8:
		return &messages.SectorProofReady{At: at, Proof: hexed(content(proof, n, proofBytes))}
	case 9:
		return &messages.SectorCommitted{At: at, Message: hexed(hash(commit, n))}
	case 10:
		return &messages.SectorProving{At: at}
	case 11:
		return &messages.SectorFinalized{At: at}
	case 12:
		return &messages.SectorFaulty{At: at, Reason: broken}
	case 13:
		return &messages.SectorFaultReported{At: at, Message: hexed(hash(fault, n))}
	case 14:
		return &messages.SectorFaultedFinal{At: at}
	case 15:
		return &messages.SectorRestored{At: at}
	case 16:
		return &messages.SectorRecoveryDeclared{At: at, Message: hexed(hash(recovery, n))}
	}
	return &messages.SectorRecovered{At: at}
}
