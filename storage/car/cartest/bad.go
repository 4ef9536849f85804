package cartest

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/storage/car"
)

// Case is a CAR, what it is declared to be, and how it is examined.
type Case struct {
	Data []byte
	Want events.ContentClaim
	// Options are those with which it is refused; most kinds are with none.
	Options car.Options
	Code    car.Code
}

// Of declares bytes as what they are.
func Of(data []byte) events.ContentClaim {
	return events.ContentClaim{Link: sha256.Sum256(data), Size: uint64(len(data))}
}

// Kinds are the names of the kinds that Bad makes, sorted: each Code, and variants of them.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Bad is a CAR of a kind that is refused. No two kinds with any bytes have the same.
func Bad(kind string) Case {
	c := Case{Code: kinds[kind].code}
	good := Build(three(kind)...)
	c.Data = kinds[kind].data(kind, good)
	c.Want = Of(c.Data)
	if spoil := kinds[kind].spoil; spoil != nil {
		spoil(&c, good)
	}
	return c
}

// three are the blocks of bad CARs. The first differs from kind to kind.
func three(kind string) []Block {
	return []Block{Raw([]byte(kind)), Raw(bytes.Repeat([]byte("two"), 300)), Raw(bytes.Repeat([]byte("three"), 100))}
}

type badKind struct {
	code car.Code
	// data makes the bytes from those of a good CAR, which it may change.
	data func(kind string, good []byte) []byte
	// spoil changes what is declared, or how it is examined, if the bytes alone are not what is wrong.
	spoil func(c *Case, good []byte)
}

func asItIs(_ string, good []byte) []byte { return good }

// cut declares what there was before it was cut.
func cut(c *Case, good []byte) { c.Want = Of(good) }

func with(header []byte) func(string, []byte) []byte {
	return func(kind string, _ []byte) []byte { return slices.Concat(header, Sections(three(kind)...)) }
}

// further adds bytes behind the last section.
func further(b ...byte) func(string, []byte) []byte {
	return func(_ string, good []byte) []byte { return append(good, b...) }
}

// named gives the second block another CID.
func named(id func(data []byte) []byte) func(string, []byte) []byte {
	return func(kind string, _ []byte) []byte {
		blocks := three(kind)
		blocks[1].CID = id(blocks[1].Data)
		return Build(blocks...)
	}
}

var (
	sum   = func(data []byte) []byte { s := sha256.Sum256(data); return s[:] }
	root  = Raw([]byte("root")).CID
	kinds = map[string]badKind{
		"empty":             {car.Empty, func(string, []byte) []byte { return nil }, nil},
		"too-small":         {car.TooSmall, func(string, []byte) []byte { return Header(1, root) }, nil},
		"too-large":         {car.TooLarge, asItIs, func(c *Case, _ []byte) { c.Options.MaxPiece = 1 << 10 }},
		"too-large-for-all": {car.TooLarge, asItIs, func(c *Case, _ []byte) { c.Want.Size = commd.MaxPayload + 1 }},
		"size-differs":      {car.SizeDiffers, asItIs, func(c *Case, _ []byte) { c.Want.Size -= 100 }},
		"digest-differs":    {car.DigestDiffers, asItIs, func(c *Case, _ []byte) { c.Want.Link[31]++ }},
		"header": {car.BadHeader, func(_ string, good []byte) []byte {
			return append([]byte("<html>"), good...)
		}, nil},
		"version":           {car.BadVersion, with(Header(3, root)), nil},
		"version-2":         {car.BadVersion, with([]byte("\x0a\xa1gversion\x02")), nil},
		"no-roots":          {car.NoRoots, with(Header(1)), nil},
		"section":           {car.BadSection, further(0x80, 0), nil},
		"section-too-large": {car.SectionTooLarge, further(0x81, 0x80, 0x80, 4), nil},
		"cid": {car.BadCID, named(func(data []byte) []byte {
			return append([]byte{2}, sum(data)...)
		}), nil},
		"hash-not-allowed": {car.HashNotAllowed, named(func(data []byte) []byte {
			return CID(0x11, sum(data)[:20]) // As if it were SHA-1.
		}), nil},
		"hash-not-computed": {car.HashNotAllowed, named(func(data []byte) []byte { return CID(0x1e, sum(data)) }), nil},
		"hash-too-short": {car.HashNotAllowed, named(func(data []byte) []byte {
			return CID(0x12, sum(data)[:19])
		}), nil},
		"block-digest": {car.BlockDigest, func(_ string, good []byte) []byte {
			good[len(good)-1] ^= 1
			return good
		}, nil},
		"cut-in-block": {car.CutInBlock, func(_ string, good []byte) []byte { return good[:len(good)-1] }, cut},
		"cut-between-blocks": {car.CutBetweenBlocks, func(kind string, _ []byte) []byte {
			return Build(three(kind)[:2]...)
		}, cut},
		"trailing-bytes": {car.TrailingBytes, further(0, 0, 0), nil},
		"root-absent": {car.RootAbsent, with(Header(1, root)), func(c *Case, _ []byte) {
			c.Options.RootRequired = true
		}},
		"piece-differs": {car.PieceDiffers, asItIs, func(c *Case, _ []byte) { c.Want.Piece = commd.CID(commd.Node{}) }},
	}
)
