package car

import (
	"encoding/binary"
	"errors"
)

// Major types of CBOR that a header has.
const (
	cborNumber = 0
	cborBytes  = 2
	cborText   = 3
	cborList   = 4
	cborMap    = 5
	cborTag    = 6
)

// tagCID marks bytes as a CID, with a zero in front.
const tagCID = 42

// cursor reads DAG-CBOR, in which each value has one form. After an error it reads nothing more.
type cursor struct {
	b   []byte
	err error
}

var errHeader = errors.New("this is no header of a CAR")

// number reads the head of a value of a type: a number, a length, a count or a tag.
func (c *cursor) number(major byte) (value uint64) {
	if len(c.b) == 0 || c.b[0]>>5 != major {
		c.fail()
		return 0
	}
	info := c.b[0] & 31
	c.b = c.b[1:]
	if info < 24 {
		return uint64(info)
	}
	size := 1 << (info - 24)
	if info > 27 || len(c.b) < size {
		c.fail()
		return 0
	}
	var wide [8]byte
	copy(wide[8-size:], c.b)
	c.b = c.b[size:]
	value = binary.BigEndian.Uint64(wide[:])
	least := uint64(24)
	if size > 1 {
		least = 1 << (size * 4) // The next smaller form has half the bits.
	}
	if value < least {
		c.fail()
	}
	return value
}

// bytes reads bytes, or a text.
func (c *cursor) bytes(major byte) []byte {
	size := c.number(major)
	if size > uint64(len(c.b)) {
		c.fail()
		return nil
	}
	b := c.b[:size]
	c.b = c.b[size:]
	return b
}

func (c *cursor) fail() { c.b, c.err = nil, errHeader }

// parseHeader returns the roots that a header names, or a *Refusal.
func parseHeader(b []byte) (roots [][]byte, err error) {
	c := &cursor{b: b}
	keys := c.number(cborMap)
	key := string(c.bytes(cborText))
	if keys == 2 && key == "roots" {
		for range c.number(cborList) {
			tag, root := c.number(cborTag), c.bytes(cborBytes)
			if c.err != nil || tag != tagCID || len(root) == 0 || root[0] != 0 {
				return nil, refuse(BadHeader, "root %d is no CID", len(roots))
			}
			if parsed, err := parseCID(root[1:]); err != nil || parsed.size != len(root)-1 {
				return nil, refuse(BadHeader, "root %d is no CID", len(roots))
			}
			roots = append(roots, root[1:])
		}
		key = string(c.bytes(cborText))
	} else if keys != 1 {
		c.fail()
	}
	version := c.number(cborNumber)
	switch {
	case c.err != nil || key != "version":
		return nil, refuse(BadHeader, "%v", errHeader)
	case version != 1:
		return nil, refuse(BadVersion, "it is a CAR of version %d, want 1", version)
	case len(c.b) > 0:
		return nil, refuse(BadHeader, "%d bytes follow in the header", len(c.b))
	case len(roots) == 0:
		return nil, refuse(NoRoots, "its header names no root")
	}
	return roots, nil
}
