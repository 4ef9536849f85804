package car

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// Code is the reason of a refusal, short and stable.
type Code string

// Codes of refusals. Those of blocks name the block, counted from 0, and where its section begins.
const (
	Empty            Code = "empty"              // no bytes
	TooSmall         Code = "too-small"          // too few bytes for a piece
	TooLarge         Code = "too-large"          // more than the largest piece that is allowed
	SizeDiffers      Code = "size-differs"       // more bytes than declared
	DigestDiffers    Code = "digest-differs"     // a good CAR, but not the one with this CID
	BadHeader        Code = "header"             // no header of a CAR, or one that is too large
	BadVersion       Code = "version"            // a CAR of another version
	NoRoots          Code = "no-roots"           // the header names no root
	BadSection       Code = "section"            // the length of a section is malformed
	SectionTooLarge  Code = "section-too-large"  // a section is larger than allowed
	BadCID           Code = "cid"                // the CID of a block is malformed
	HashNotAllowed   Code = "hash-not-allowed"   // the hash of a block's CID is insecure, or not known here
	BlockDigest      Code = "block-digest"       // a block is not what its CID names
	CutInBlock       Code = "cut-in-block"       // the bytes end inside a section
	CutBetweenBlocks Code = "cut-between-blocks" // fewer bytes than declared, and all sections are complete
	TrailingBytes    Code = "trailing-bytes"     // zeros behind the last section
	RootAbsent       Code = "root-absent"        // a root has no block
	PieceDiffers     Code = "piece-differs"      // the claimed piece is another one
)

// refuse says what is wrong with a CAR: an error that trying again does not mend.
func refuse(code Code, format string, values ...any) error {
	return &events.ContentRefusal{Code: string(code), Detail: fmt.Sprintf(format, values...)}
}
