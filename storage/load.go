package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hostnode/hostnode/events"
)

// load reads the metadata of all slots.
func (r *Repo) load() error {
	slots := filepath.Join(r.dir, slotsDir)
	names, err := r.disk.List(slots)
	if err != nil {
		return err
	}
	for _, name := range names {
		id, err := events.ParseSlotID(name)
		if err != nil || slotName(id) != name {
			r.find(events.SlotID{}, "%s/%s is not a slot; left alone", slotsDir, name)
			continue
		}
		if err := r.loadSlot(id); err != nil {
			return fmt.Errorf("slot %s: %w", id, err)
		}
	}
	return nil
}

func (r *Repo) newEntry(id events.SlotID) *entry {
	return &entry{
		id: id, dir: filepath.Join(r.dir, slotsDir, slotName(id)), filler: make(chan struct{}, 1),
	}
}

func (r *Repo) loadSlot(id events.SlotID) error {
	e := r.newEntry(id)
	r.slots[id] = e
	fresh := filepath.Join(e.dir, slotMetaName+".new")
	if err := r.disk.RemoveAll(fresh); err != nil {
		return err
	}
	b, err := readWhole(r.disk, filepath.Join(e.dir, slotMetaName), maxSlotMetaSize)
	if err == nil {
		e.meta, err = decodeSlotMeta(b)
	}
	if err == nil && e.meta.Slot != id {
		err = fmt.Errorf("%s belongs to slot %s", slotMetaName, e.meta.Slot)
	}
	if err != nil {
		// The blocks may be fine; a download of the same slot takes them over.
		e.meta = slotMeta{}
		r.find(id, "%v; download the slot again to use its blocks, or delete it", err)
		return r.measure(e)
	}
	e.known = true
	if e.meta.Complete {
		err = r.checkComplete(e)
	} else {
		err = r.checkJournal(e)
	}
	return errors.Join(err, r.measure(e))
}

// checkJournal removes torn entries of an incomplete slot, so that their blocks are fetched again.
func (r *Repo) checkJournal(e *entry) error {
	torn, cut, err := r.findTorn(e)
	if err != nil || len(torn) == 0 {
		return err
	}
	f, err := r.disk.Edit(filepath.Join(e.dir, rootsFile))
	if err != nil {
		return err
	}
	for _, index := range torn {
		_, writeErr := f.WriteAt(make([]byte, rootEntrySize), int64(index*rootEntrySize))
		err = errors.Join(err, writeErr)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	r.find(e.id, "%d blocks were written only in part, %d are beyond the end of the file; "+
		"they are fetched again", len(torn)-cut, cut)
	return nil
}

// findTorn returns the entries whose checksum is wrong or whose block is beyond the end of the
// file; cut is the number of the latter.
func (r *Repo) findTorn(e *entry) (torn []uint64, cut int, err error) {
	length, _, err := r.disk.Sizes(filepath.Join(e.dir, blocksFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	f, err := r.disk.Edit(filepath.Join(e.dir, rootsFile))
	if err != nil {
		return nil, 0, err
	}
	err = readRootEntries(f, 0, e.meta.Blocks, func(index uint64, m rootEntry) {
		switch {
		case m.state == rootTorn:
			torn = append(torn, index)
		case m.state == rootStored && !m.zeros() && int64(blockOffset(index+1)) > length:
			torn = append(torn, index)
			cut++
		}
	})
	return torn, cut, errors.Join(err, f.Close())
}

// checkComplete checks the sizes of a complete slot's files. Reading all bytes is left to Scrub.
func (r *Repo) checkComplete(e *entry) error {
	want := map[string]int64{
		rootsFile: int64(e.meta.Blocks * rootEntrySize),
		treeFile:  treeSize(paddedBlocks(e.meta.Blocks)),
	}
	if err := r.checkBlocks(e); err != nil {
		return err
	}
	damaged := false
	for name, size := range want {
		length, _, err := r.disk.Sizes(filepath.Join(e.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		damaged = damaged || length != size
	}
	if !damaged {
		return nil
	}
	_, err := r.rebuild(e)
	if errors.Is(err, events.ErrBitRot) {
		r.find(e.id, "trees are damaged and cannot be rebuilt: %v; "+
			"download the slot again", err)
		meta := e.meta
		meta.Complete = false
		if err := r.writeMeta(e, meta); err != nil {
			return err
		}
		return r.checkJournal(e)
	}
	if err != nil {
		return err
	}
	r.find(e.id, "trees were damaged and were rebuilt from the blocks")
	return nil
}

// checkBlocks checks that manifest and blocks of a complete slot exist. What is missing is fetched
// again; meanwhile proofs use what is there.
func (r *Repo) checkBlocks(e *entry) error {
	var gone string
	if length, _, err := r.disk.Sizes(filepath.Join(e.dir, manifestName)); err != nil || length == 0 {
		gone = "the manifest is missing"
	}
	length, _, err := r.disk.Sizes(filepath.Join(e.dir, blocksFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		gone = "the file " + blocksFile + " is missing"
	case err != nil:
		return err
	case length < int64(blockOffset(e.meta.Blocks)):
		_, cut, err := r.findTorn(e) // The last ones may be holes.
		if err != nil {
			return err
		}
		if cut > 0 {
			gone = fmt.Sprintf("%d blocks are beyond the end of the file %s", cut, blocksFile)
		}
	}
	if gone != "" {
		e.damage = gone
		r.find(e.id, "%s; it is fetched again", gone)
	}
	return nil
}

func blockOffset(index uint64) uint64 { return index * uint64(events.BlockSize) }
