package dataset

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hostnode/hostnode/prover/merkle"
)

// This file is the wire format of a manifest. It is written by hand, because the name of a manifest
// is the hash of these bytes: fields are in ascending order and numbers are written even if they
// are zero, as the network's other nodes do.

// Encode returns the manifest block. It returns ErrManifest when Check does.
func (m Manifest) Encode() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	var b []byte
	b = appendBytes(b, 1, m.Tree.Bytes())
	b = appendNumber(b, 2, BlockSize)
	b = appendNumber(b, 3, m.Size)
	b = appendNumber(b, 4, uint64(CodecBlock))
	b = appendNumber(b, 5, hashSHA256)
	b = appendNumber(b, 6, manifestVersion)
	if m.Erasure != nil {
		b = appendBytes(b, 7, m.Erasure.encode())
	}
	if m.Filename != "" {
		b = appendBytes(b, 8, []byte(m.Filename))
	}
	if m.MimeType != "" {
		b = appendBytes(b, 9, []byte(m.MimeType))
	}
	return appendBytes(nil, 1, b), nil
}

func (e *Erasure) encode() []byte {
	var b []byte
	b = appendNumber(b, 1, uint64(e.K))
	b = appendNumber(b, 2, uint64(e.M))
	b = appendBytes(b, 3, e.OriginalTree.Bytes())
	b = appendNumber(b, 4, e.OriginalSize)
	b = appendNumber(b, 5, uint64(e.Strategy))
	if e.Verification != nil {
		b = appendBytes(b, 6, e.Verification.encode())
	}
	return b
}

func (v *Verification) encode() []byte {
	b := appendBytes(nil, 1, v.VerifyRoot.Bytes())
	for _, root := range v.SlotRoots {
		b = appendBytes(b, 2, root.Bytes())
	}
	b = appendNumber(b, 3, merkle.CellSize)
	return appendNumber(b, 4, uint64(v.Strategy))
}

func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func appendBytes(b []byte, field protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), data)
}

// DecodeManifest reads a manifest block and checks it. Fields of a later version are skipped. It
// returns ErrManifest.
func DecodeManifest(block []byte) (Manifest, error) {
	if len(block) > MaxManifestSize {
		return Manifest{}, fmt.Errorf("%d bytes, at most %d: %w",
			len(block), MaxManifestSize, ErrManifest)
	}
	outer, err := readFields(block, map[protowire.Number]protowire.Type{1: protowire.BytesType}, 0)
	if err != nil {
		return Manifest{}, fmt.Errorf("manifest: %w", err)
	}
	m, err := decodeHeader(outer.data[1])
	if err != nil {
		return Manifest{}, err
	}
	return m, m.Check()
}

func decodeHeader(b []byte) (Manifest, error) {
	const number, data = protowire.VarintType, protowire.BytesType
	f, err := readFields(b, map[protowire.Number]protowire.Type{
		1: data, 2: number, 3: number, 4: number, 5: number, 6: number, 7: data, 8: data, 9: data,
	}, 0)
	if err != nil {
		return Manifest{}, fmt.Errorf("header: %w", err)
	}
	for field, want := range map[protowire.Number]uint64{
		2: BlockSize, 4: uint64(CodecBlock), 5: hashSHA256, 6: manifestVersion,
	} {
		if f.numbers[field] != want {
			return Manifest{}, fmt.Errorf("header field %d is %d, want %d: %w",
				field, f.numbers[field], want, ErrManifest)
		}
	}
	m := Manifest{Size: f.numbers[3], Filename: string(f.data[8]), MimeType: string(f.data[9])}
	if m.Tree, err = f.cid(1); err != nil {
		return Manifest{}, fmt.Errorf("header: %w", err)
	}
	if erasure, ok := f.data[7]; ok {
		m.Erasure, err = decodeErasure(erasure)
	}
	return m, err
}

func decodeErasure(b []byte) (*Erasure, error) {
	const number, data = protowire.VarintType, protowire.BytesType
	f, err := readFields(b, map[protowire.Number]protowire.Type{
		1: number, 2: number, 3: data, 4: number, 5: number, 6: data,
	}, 0)
	if err != nil {
		return nil, fmt.Errorf("erasure information: %w", err)
	}
	if f.numbers[1] > MaxSlots || f.numbers[2] > MaxSlots || f.numbers[5] > uint64(Stepped) {
		return nil, fmt.Errorf("erasure code %d+%d, strategy %d: %w",
			f.numbers[1], f.numbers[2], f.numbers[5], ErrManifest)
	}
	e := &Erasure{
		Params:       Params{K: int(f.numbers[1]), M: int(f.numbers[2])},
		OriginalSize: f.numbers[4],
		Strategy:     Strategy(f.numbers[5]),
	}
	if e.OriginalTree, err = f.cid(3); err != nil {
		return nil, fmt.Errorf("erasure information: %w", err)
	}
	if verification, ok := f.data[6]; ok {
		e.Verification, err = decodeVerification(verification)
	}
	return e, err
}

func decodeVerification(b []byte) (*Verification, error) {
	const number, data = protowire.VarintType, protowire.BytesType
	f, err := readFields(b, map[protowire.Number]protowire.Type{
		1: data, 2: data, 3: number, 4: number,
	}, 2)
	if err != nil {
		return nil, fmt.Errorf("verification information: %w", err)
	}
	if f.numbers[3] != merkle.CellSize || f.numbers[4] > uint64(Stepped) {
		return nil, fmt.Errorf("cells of %d bytes, strategy %d: %w",
			f.numbers[3], f.numbers[4], ErrManifest)
	}
	v := &Verification{Strategy: Strategy(f.numbers[4])}
	if v.VerifyRoot, err = f.cid(1); err != nil {
		return nil, fmt.Errorf("verification information: %w", err)
	}
	for i, root := range f.list {
		c, err := CIDFromBytes(root)
		if err != nil {
			return nil, fmt.Errorf("slot root %d: %w: %w", i, err, ErrManifest)
		}
		v.SlotRoots = append(v.SlotRoots, c)
	}
	return v, nil
}

// fields are the fields of one message, aliasing its bytes.
type fields struct {
	numbers map[protowire.Number]uint64
	data    map[protowire.Number][]byte
	list    [][]byte
}

// cid reads a field that must be there.
func (f fields) cid(field protowire.Number) (CID, error) {
	c, err := CIDFromBytes(f.data[field])
	if err != nil {
		return CID{}, fmt.Errorf("field %d: %w: %w", field, err, ErrManifest)
	}
	return c, nil
}

// readFields splits a message. A known field must have its type and, except for the repeated one,
// occur at most once, so that no two readers can see different manifests in the same bytes.
func readFields(
	b []byte, known map[protowire.Number]protowire.Type, repeated protowire.Number,
) (fields, error) {
	f := fields{numbers: map[protowire.Number]uint64{}, data: map[protowire.Number][]byte{}}
	seen := map[protowire.Number]bool{}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return f, fmt.Errorf("malformed field: %w", ErrManifest)
		}
		b = b[n:]
		want, ok := known[field]
		if ok && (kind != want || (seen[field] && field != repeated)) {
			return f, fmt.Errorf("field %d twice or of wire type %d: %w", field, kind, ErrManifest)
		}
		seen[field] = true
		n = protowire.ConsumeFieldValue(field, kind, b)
		if n < 0 {
			return f, fmt.Errorf("field %d is cut off: %w", field, ErrManifest)
		}
		switch value := b[:n]; {
		case !ok: // A later version's.
		case kind == protowire.VarintType:
			f.numbers[field], _ = protowire.ConsumeVarint(value)
		case field == repeated:
			item, _ := protowire.ConsumeBytes(value)
			f.list = append(f.list, item)
			if len(f.list) > MaxSlots {
				return f, fmt.Errorf("more than %d items in field %d: %w", MaxSlots, field, ErrManifest)
			}
		default:
			f.data[field], _ = protowire.ConsumeBytes(value)
		}
		b = b[n:]
	}
	return f, nil
}
