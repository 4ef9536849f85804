package storage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/storage/dataset"
)

// maxSlotMetaSize limits slot.json, in bytes; it has about 700.
const maxSlotMetaSize = 16 << 10

// slotMeta is the content of slot.json: everything that is needed to prove the slot from its
// directory alone.
type slotMeta struct {
	Slot        events.SlotID
	Request     events.RequestID
	Index       uint64
	Slots       uint64 // of the dataset
	Blocks      uint64 // real blocks of the slot
	SlotSize    events.Bytes
	Manifest    dataset.CID
	DataSetRoot events.Root
	SlotRoot    events.Root // as named in the manifest
	Until       time.Time
	Complete    bool
}

// slotMetaFile is a slotMeta as it is stored.
type slotMetaFile struct {
	Slot        string    `json:"slot"`
	Request     string    `json:"request"`
	Index       uint64    `json:"index"`
	Slots       uint64    `json:"slots"`
	Blocks      uint64    `json:"blocks"`
	SlotSize    uint64    `json:"slotSize"`
	Manifest    string    `json:"manifest"`
	DataSetRoot string    `json:"dataSetRoot"`
	SlotRoot    string    `json:"slotRoot"`
	Until       time.Time `json:"until"`
	Complete    bool      `json:"complete"`
	// Sum is the SHA-256 of all this without it. Files of earlier versions have none.
	Sum string `json:"sum,omitempty"`
}

func (f slotMetaFile) sum() (string, error) {
	f.Sum = ""
	b, err := json.Marshal(f)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

func (r slotMeta) encode() ([]byte, error) {
	f := slotMetaFile{
		Slot: r.Slot.String(), Request: r.Request.String(), Index: r.Index, Slots: r.Slots,
		Blocks: r.Blocks, SlotSize: uint64(r.SlotSize), Manifest: r.Manifest.String(),
		DataSetRoot: r.DataSetRoot.String(), SlotRoot: r.SlotRoot.String(),
		Until: r.Until.UTC(), Complete: r.Complete,
	}
	var err error
	if f.Sum, err = f.sum(); err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(f, "", "  ")
	return append(b, '\n'), err
}

func decodeSlotMeta(b []byte) (slotMeta, error) {
	var f slotMetaFile
	strict := json.NewDecoder(bytes.NewReader(b))
	strict.DisallowUnknownFields() // A damaged name would leave its value out.
	err := strict.Decode(&f)
	if _, more := strict.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("there is something behind it")
	}
	if sum, failed := f.sum(); err == nil && f.Sum != "" && (failed != nil || f.Sum != sum) {
		err = errors.New("its content does not have its checksum")
	}
	if err != nil {
		return slotMeta{}, fmt.Errorf("%s: %w: %w", slotMetaName, err, events.ErrMalformed)
	}
	r := slotMeta{
		Index: f.Index, Slots: f.Slots, Blocks: f.Blocks, SlotSize: events.Bytes(f.SlotSize),
		Until: f.Until, Complete: f.Complete,
	}
	var errs [5]error
	r.Slot, errs[0] = events.ParseSlotID(f.Slot)
	r.Request, errs[1] = events.ParseRequestID(f.Request)
	r.Manifest, errs[2] = dataset.ParseCID(f.Manifest)
	r.DataSetRoot, errs[3] = events.ParseRoot(f.DataSetRoot)
	r.SlotRoot, errs[4] = events.ParseRoot(f.SlotRoot)
	if err := errors.Join(errs[:]...); err != nil {
		return slotMeta{}, fmt.Errorf("%s: %w: %w", slotMetaName, err, events.ErrMalformed)
	}
	padded, err := merkle.PaddedBlocks(r.Blocks)
	if err != nil || r.SlotSize != events.Bytes(padded)*events.BlockSize ||
		r.Slots == 0 || r.Slots > dataset.MaxSlots || r.Index >= r.Slots {
		return slotMeta{}, fmt.Errorf("%s: %d blocks in %d bytes, slot %d of %d: %w",
			slotMetaName, r.Blocks, r.SlotSize, r.Index, r.Slots, events.ErrMalformed)
	}
	return r, nil
}

// sameSlot reports whether two slots have the same content.
func (r slotMeta) sameSlot(o slotMeta) bool {
	r.Until, r.Complete, o.Until, o.Complete = time.Time{}, false, time.Time{}, false
	return r == o
}

// Overhead is an upper bound of what a slot takes in addition to its blocks, in bytes: at most 64 bytes
// per block for roots, tree and names, and 128 KiB for manifest, bookkeeping and directory. The
// ledger reserves it with the slot.
func Overhead(slotSize events.Bytes) events.Bytes { return slotSize/1024 + 128<<10 }
