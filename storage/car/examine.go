package car

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// Limits that hold unless Options say otherwise, in bytes.
const (
	// DefaultMaxSection is what go-car allows, and four times the largest block that most implementations exchange.
	DefaultMaxSection = 8 << 20
	// DefaultMaxHeader is enough for 24,000 roots. The header is kept in memory, and its roots once more; the 32 MiB
	// that go-car allows would take some 150.
	DefaultMaxHeader = 1 << 20
	// bufferSize is how much is read at once.
	bufferSize = 64 << 10
)

// Options say what else is allowed, and what is not.
type Options struct {
	// ZeroPadded allows zeros behind the last section. They belong to the CAR, its size and its piece.
	ZeroPadded bool
	// RootRequired refuses a CAR without a block for each root.
	RootRequired bool
	// MaxSection and MaxHeader limit what a length may announce, and MaxPiece the padded piece.
	// Zero: DefaultMaxSection, DefaultMaxHeader, commd.MaxSectorSize.
	MaxSection, MaxHeader, MaxPiece uint64
}

// Examine reads a CAR to its end, validates it and derives the smallest piece which holds it. A root whose CID is its
// data needs no block. An *events.ContentRefusal says what is wrong with a CAR. Every other error is that of r or ctx,
// unchanged, and says nothing about the CAR.
func Examine(ctx context.Context, r io.Reader, want events.ContentClaim, o Options) (events.ContentFound, error) {
	o.MaxSection = cmp.Or(o.MaxSection, DefaultMaxSection)
	o.MaxHeader = cmp.Or(o.MaxHeader, DefaultMaxHeader)
	o.MaxPiece = cmp.Or(o.MaxPiece, commd.MaxSectorSize)
	in := &input{ctx: ctx, r: r, declared: want.Size, sum: sha256.New(), piece: commd.NewCalc()}
	x := &examiner{in: in, r: bufio.NewReaderSize(in, bufferSize), want: want, o: o, hashes: map[uint64]hash.Hash{}}
	err := checkSize(want.Size, o.MaxPiece)
	if err == nil {
		err = x.header()
	}
	for more := err == nil; more; {
		more, err = x.section()
	}
	if err == nil {
		err = x.finish()
	}
	if err != nil {
		return events.ContentFound{}, err
	}
	return x.found, nil
}

// checkSize refuses a declared size that no piece can have.
func checkSize(size, maxPiece uint64) error {
	piece, err := commd.PieceSize(size)
	switch {
	case size == 0:
		return refuse(Empty, "it is declared to have no bytes")
	case size < commd.MinPayload:
		return refuse(TooSmall, "%d bytes are declared, and a piece has at least %d", size, commd.MinPayload)
	case err != nil || piece > maxPiece:
		return refuse(TooLarge, "%d bytes are declared, and the largest piece, of %d, has room for %d",
			size, maxPiece, commd.PayloadRoom(maxPiece))
	}
	return nil
}

// input hands on the declared bytes and hashes them. It asks for one more to see whether there are more.
type input struct {
	ctx      context.Context
	r        io.Reader
	declared uint64
	read     uint64
	ended    bool // r has no more bytes
	err      error
	sum      hash.Hash
	piece    *commd.Calc
}

func (in *input) Read(p []byte) (int, error) {
	if in.err = cmp.Or(in.err, in.ctx.Err()); in.err != nil {
		return 0, in.err
	}
	left := in.declared - in.read
	p = p[:min(uint64(len(p)), max(left, 1))]
	n, err := in.r.Read(p)
	if left == 0 && n > 0 {
		in.err = refuse(SizeDiffers, "%d bytes are declared, and there are more", in.declared)
		return 0, in.err
	}
	in.ended, in.err = err == io.EOF, err
	in.read += uint64(n)
	_, _ = in.sum.Write(p[:n])   // A hash never fails.
	_, _ = in.piece.Write(p[:n]) // A piece has room for what is declared.
	return n, in.err
}

// examiner reads through a CAR. Of bytes behind r's position it knows only what hashes keep.
type examiner struct {
	in    *input
	r     *bufio.Reader
	want  events.ContentClaim
	o     Options
	named int                 // roots that the header names
	roots map[string]struct{} // those without a block so far
	found events.ContentFound
	// What blocks need one after the other: hashes, by code, a CID's digest and what was found instead.
	hashes      map[uint64]hash.Hash
	digest, sum [maxDigest]byte
}

// position is the number of bytes that were read through.
func (x *examiner) position() uint64 { return x.in.read - uint64(x.r.Buffered()) }

// out is called when there are no more bytes. It returns the refusal that this means, unless the source failed, or has
// more than is declared.
func (x *examiner) out(err error, code Code, where string) error {
	if !x.in.ended {
		return cmp.Or(x.in.err, err)
	}
	return refuse(code,
		"after %d of %d bytes and %d blocks it ends, %s", x.in.read, x.want.Size, x.found.Blocks, where)
}

// errEnd says that there are no more bytes.
var errEnd = errors.New("no more bytes")

// faults are what may be wrong with a length.
type faults struct{ cut, malformed, tooLarge Code }

// length reads a length, of limit at most. The error is errEnd where there are no more bytes.
func (x *examiner) length(limit uint64, f faults) (uint64, error) {
	head, err := x.r.Peek(binary.MaxVarintLen64)
	if len(head) == 0 && x.in.ended {
		return 0, errEnd
	}
	length, n := uvarint(head)
	switch {
	case n == 0 && err != nil:
		return 0, x.out(err, f.cut, "in a length")
	case n <= 0:
		return 0, refuse(f.malformed, "at byte %d there is no length in its shortest form", x.position())
	case length > limit:
		return 0, refuse(f.tooLarge, "at byte %d a length of %d bytes is announced, at most %d are allowed",
			x.position(), length, limit)
	}
	_, err = x.r.Discard(n)
	return length, err
}

func (x *examiner) header() error {
	length, err := x.length(min(x.o.MaxHeader, x.want.Size), faults{BadHeader, BadHeader, BadHeader})
	if errors.Is(err, errEnd) {
		return refuse(Empty, "%d bytes are declared, and there are none", x.want.Size)
	} else if err != nil {
		return err
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(x.r, b); err != nil {
		return x.out(err, BadHeader, "in its header")
	}
	roots, err := parseHeader(b)
	if err != nil {
		return err
	}
	x.named = len(roots)
	x.roots = make(map[string]struct{}, len(roots))
	for _, root := range roots {
		if c, _ := parseCID(root); c.hash != identity {
			x.roots[string(root)] = struct{}{}
		}
	}
	return nil
}

// section reads through a section, or finds the end; then there are no more.
func (x *examiner) section() (more bool, err error) {
	start := x.position()
	length, err := x.length(x.o.MaxSection, faults{CutInBlock, BadSection, SectionTooLarge})
	switch {
	case errors.Is(err, errEnd):
		return false, x.end(nil)
	case err != nil:
		return false, err
	case length == 0:
		return false, x.zeros()
	}
	head, err := x.r.Peek(int(min(length, maxCID)))
	if uint64(len(head)) < min(length, maxCID) {
		return false, x.out(err, CutInBlock, "in a block")
	}
	bad := func(code Code, why any) (bool, error) {
		return false, refuse(code, "block %d at byte %d: %v", x.found.Blocks, start, why)
	}
	c, err := parseCID(head)
	if err != nil {
		return bad(BadCID, err)
	}
	if err := allowed(c.hash, c.digestSize); err != nil {
		return bad(HashNotAllowed, err)
	}
	delete(x.roots, string(head[:c.size]))
	digest := x.digest[:copy(x.digest[:], c.digest)] // Reading on overwrites head.
	_, _ = x.r.Discard(c.size)                       // It was peeked at.
	same, err := x.matches(c.hash, digest, length-uint64(c.size))
	if err == nil && !same {
		return bad(BlockDigest, "it is not what its CID names")
	}
	x.found.Blocks++
	return err == nil, err
}

// matches reads through a block, and reports whether it has a digest, which may be shorter than the hash.
func (x *examiner) matches(code uint64, digest []byte, size uint64) (bool, error) {
	if code == identity && size != uint64(len(digest)) {
		return false, nil // It is not kept, either.
	}
	h := x.hashes[code]
	if h == nil {
		h = newHash(code)
		x.hashes[code] = h
	}
	h.Reset()
	for size > 0 {
		if _, err := x.r.Peek(1); err != nil {
			return false, x.out(err, CutInBlock, "in a block")
		}
		part, _ := x.r.Peek(int(min(size, uint64(x.r.Buffered()))))
		_, _ = h.Write(part)
		size -= uint64(len(part))
		_, _ = x.r.Discard(len(part))
	}
	got := h.Sum(x.sum[:0])
	return len(digest) <= len(got) && bytes.Equal(got[:len(digest)], digest), nil
}

// zeros reads what follows a section of no bytes.
func (x *examiner) zeros() error {
	at := x.position() - 1
	for b, err := byte(0), error(nil); x.o.ZeroPadded && b == 0; b, err = x.r.ReadByte() {
		if err != nil {
			return x.end(err)
		}
	}
	return refuse(TrailingBytes, "zeros begin at byte %d, after %d blocks", at, x.found.Blocks)
}

// end is called when there are no more bytes, where a CAR may end.
func (x *examiner) end(err error) error {
	if x.in.ended && x.in.read == x.want.Size {
		return nil
	}
	return x.out(err, CutBetweenBlocks, "which are complete")
}

func (x *examiner) finish() error {
	if link := events.ContentLink(x.in.sum.Sum(nil)); link != x.want.Link {
		return refuse(DigestDiffers, "its blocks are good, but it is %s and not %s", link, x.want.Link)
	}
	if x.found.RootAbsent = len(x.roots) > 0; x.found.RootAbsent && x.o.RootRequired {
		return refuse(RootAbsent, "%d of %d roots have no block", len(x.roots), x.named)
	}
	got, err := x.in.piece.Commitment()
	if err != nil {
		return err // The size was checked.
	}
	cid := commd.CID(got.Root)
	x.found.Piece = events.SectorPiece{CID: cid, Size: events.Bytes(got.Size), Payload: events.Bytes(got.Payload)}
	piece, size := cmp.Or(x.want.Piece, cid), cmp.Or(x.want.PieceSize, got.Size)
	if piece != cid || size != got.Size {
		return refuse(PieceDiffers, "it is %s of %d bytes (payload %d), claimed is %s of %d (payload %d)",
			cid, got.Size, got.Payload, piece, size, got.Payload)
	}
	return nil
}
