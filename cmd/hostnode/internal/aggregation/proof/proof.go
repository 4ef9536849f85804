// Package proof is the file with which a client shows that his piece is in an aggregate. Anyone can verify it, without
// a host and without a connection:
//
//	{
//	  "format": "hostnode/inclusion/1",
//	  "piece": {"cid": "baga6ea4seaq…", "size": 1024, "payload": 1016},
//	  "aggregate": {"cid": "baga6ea4seaq…", "size": 34359738368},
//	  "content": "bagbaiera…",
//	  "deal": "d-17",
//	  "madeBy": "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
//	  "proof": "goKCAY…"
//	}
//
// The CIDs of piece and aggregate are piece CIDs of version 1, with the padded size beside them; content is the CID of
// the CAR from which the piece was derived. The proof is that of package segment in CBOR, as go-data-segment has it, in
// base64. The deal may be left out.
//
// What is proven is that the piece is in the aggregate, and nothing else. The client derives the piece from his CAR to
// see that it is his, and compares the aggregate with the deal on chain. Content, payload, deal and maker only say what
// to compare.
package proof

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// Format is the first field of each file.
const Format = "hostnode/inclusion/1"

const (
	// maxFile limits a file, in bytes. The longest proof and texts take less than half of it.
	maxFile = 16 << 10
	// maxText limits a text, in bytes.
	maxText = 1 << 10
)

// File is what is in a file. In JSON it can be read and written; Read is for a file from outside.
type File struct {
	Format    string    `json:"format"`
	Piece     Piece     `json:"piece"`
	Aggregate Aggregate `json:"aggregate"`
	About
	Proof Inclusion `json:"proof"`
}

// Piece is the piece, with the length of its payload.
type Piece struct {
	CID     CID    `json:"cid"`
	Size    uint64 `json:"size"`
	Payload uint64 `json:"payload"`
}

// Aggregate is the aggregate.
type Aggregate struct {
	CID  CID    `json:"cid"`
	Size uint64 `json:"size"`
}

// About is what is said about a piece, and not proven.
type About struct {
	Content events.ContentLink `json:"content"`
	// Deal is how the broker calls the deal; empty: there was none yet.
	Deal string `json:"deal,omitempty"`
	// MadeBy is the account of the host that made the file.
	MadeBy string `json:"madeBy"`
}

// CID is a commitment whose text is its piece CID.
type CID commd.Node

func (c CID) String() string { return commd.CID(commd.Node(c)) }

// MarshalText implements encoding.TextMarshaler.
func (c CID) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *CID) UnmarshalText(text []byte) error {
	root, err := commd.ParseCID(string(text))
	*c = CID(root)
	return err
}

// Inclusion is a proof whose text is its CBOR in base64.
type Inclusion segment.Proof

// MarshalText implements encoding.TextMarshaler.
func (p Inclusion) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, segment.Proof(p).Encode()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Inclusion) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("the proof is no base64: %w", err)
	}
	decoded, err := segment.DecodeProof(b)
	*p = Inclusion(decoded)
	return err
}

// Of is the file of a piece in the aggregate of that root and size. Its errors are those of Verify.
func Of(proof segment.Proof, piece segment.Piece, root commd.Node, size uint64, about About) (File, error) {
	f := File{
		Format: Format, Piece: Piece{CID(piece.Root), piece.Size, piece.Payload}, Aggregate: Aggregate{CID(root), size},
		About: about, Proof: Inclusion(proof),
	}
	return f, f.Verify()
}

// Read reads a file in which nothing is missing and nothing unknown. It returns events.ErrMalformed, or the reader's
// error. What it returns is not verified.
func Read(from io.Reader) (File, error) {
	b, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("read a proof of inclusion: %w", err)
	}
	var f File
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(&f)
	if _, end := d.Token(); err == nil && !errors.Is(end, io.EOF) {
		err = errors.New("something follows the JSON object")
	}
	if len(b) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	if err = cmp.Or(err, f.check()); err != nil {
		return File{}, fmt.Errorf("this is no proof of inclusion: %w: %w", events.ErrMalformed, err)
	}
	return f, nil
}

// Verify checks that the piece is in the aggregate. It returns segment.ErrProof if it is not, and events.ErrMalformed
// when something is missing or impossible.
func (f File) Verify() error {
	if err := f.check(); err != nil {
		return fmt.Errorf("%w: %w", events.ErrMalformed, err)
	}
	piece := segment.Piece{Root: commd.Node(f.Piece.CID), Size: f.Piece.Size, Payload: f.Piece.Payload}
	return segment.Proof(f.Proof).Verify(piece, commd.Node(f.Aggregate.CID), f.Aggregate.Size)
}

// check refuses what is missing, which is zero then, and what cannot be.
func (f File) check() error {
	_, err := events.ParseAddress(f.MadeBy)
	err = cmp.Or(err, commd.CheckPieceSize(f.Piece.Size), segment.CheckSize(f.Aggregate.Size))
	switch n := f.Piece.Payload; {
	case f.Format != Format:
		return fmt.Errorf("format %.50q, want %q: made by a newer version?", f.Format, Format)
	case f.Piece.CID == CID{} || f.Aggregate.CID == CID{} || f.Content == events.ContentLink{}:
		return errors.New("it does not name piece, aggregate and content")
	case err != nil:
		return err
	case n < commd.MinPayload || n > commd.PayloadRoom(f.Piece.Size):
		return fmt.Errorf("a payload of %d bytes in a piece of %d", n, f.Piece.Size)
	case len(f.Deal) > maxText || strings.ContainsFunc(f.Deal, unicode.IsControl):
		return fmt.Errorf("the name of the deal %.100q is not one line of at most %d bytes", f.Deal, maxText)
	}
	return nil
}
