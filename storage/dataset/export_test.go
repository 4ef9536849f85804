package dataset

import "io"

// Slot reads the real blocks of a slot, one after the other.
func (d *Dataset) Slot(slot int) io.ReaderAt {
	offset := d.layout.Block(slot, 0) * BlockSize
	return io.NewSectionReader(d.blocks, int64(offset), int64(d.layout.Steps*BlockSize))
}
