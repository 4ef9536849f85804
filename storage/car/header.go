package car

import (
	"bytes"
	"encoding/binary"
)

// cursor reads DAG-CBOR, in which each value has one form. After an error it reads nothing more.
type cursor struct {
	b      []byte
	failed bool
}

func (c *cursor) fail() { c.b, c.failed = nil, true }

// skip reads a text, if it comes next.
func (c *cursor) skip(text string) (found bool) {
	c.b, found = bytes.CutPrefix(c.b, []byte(text))
	return found
}

// number reads the head of a value of a type: a number, a length or a count.
func (c *cursor) number(major byte) (value uint64) {
	if len(c.b) == 0 || c.b[0]>>5 != major {
		c.fail()
		return 0
	}
	value, c.b = uint64(c.b[0]&31), c.b[1:]
	if value < 24 {
		return value
	}
	size := 1 << (value - 24) // bytes that follow
	if size > 8 || size > len(c.b) {
		c.fail()
		return 0
	}
	least := uint64(1) << (size * 4) // It has no form of half the size.
	if size == 1 {
		least = 24
	}
	var wide [8]byte
	copy(wide[8-size:], c.b)
	c.b = c.b[size:]
	if value = binary.BigEndian.Uint64(wide[:]); value < least {
		c.fail()
	}
	return value
}

// bytes reads bytes.
func (c *cursor) bytes() (b []byte) {
	size := c.number(2)
	if size > uint64(len(c.b)) {
		c.fail()
		return nil
	}
	b, c.b = c.b[:size], c.b[size:]
	return b
}

// parseHeader returns the roots that a header names, or a *Refusal. The header is a map of "roots", a list of CIDs, and
// "version"; in other versions, of "version" only. A CID is bytes with the tag 42, and a zero in front.
func parseHeader(b []byte) (roots [][]byte, err error) {
	c := &cursor{b: b}
	if c.skip("\xa2\x65roots") {
		for range c.number(4) {
			tagged := c.skip("\xd8\x2a")
			root, marked := bytes.CutPrefix(c.bytes(), []byte{0})
			if parsed, err := parseCID(root); !tagged || !marked || err != nil || parsed.size != len(root) {
				return nil, refuse(BadHeader, "root %d is no CID", len(roots))
			}
			roots = append(roots, root)
		}
	} else if !c.skip("\xa1") {
		c.fail()
	}
	known := c.skip("\x67version")
	version := c.number(0)
	switch {
	case c.failed || !known:
		return nil, refuse(BadHeader, "this is no header of a CAR")
	case version != 1:
		return nil, refuse(BadVersion, "it is a CAR of version %d, want 1", version)
	case len(c.b) > 0:
		return nil, refuse(BadHeader, "%d bytes follow in the header", len(c.b))
	case len(roots) == 0:
		return nil, refuse(NoRoots, "its header names no root")
	}
	return roots, nil
}
