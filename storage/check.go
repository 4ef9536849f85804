package storage

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/storage/dataset"
)

// checkRequest returns a MismatchError for a request that no dataset can fulfil, before anything is
// fetched; otherwise the name of its manifest.
func checkRequest(job events.DownloadJob) (dataset.CID, error) {
	ask := job.Request.Ask
	if ask.Slots == 0 || ask.Slots > dataset.MaxSlots {
		return dataset.CID{}, mismatch("number of slots of the request",
			fmt.Sprintf("1 to %d", dataset.MaxSlots), ask.Slots)
	}
	if job.Index >= ask.Slots {
		return dataset.CID{}, mismatch("slot index", fmt.Sprintf("below %d", ask.Slots), job.Index)
	}
	blocks := uint64(ask.SlotSize / events.BlockSize)
	if ask.SlotSize%events.BlockSize != 0 || blocks == 0 || blocks&(blocks-1) != 0 ||
		blocks > merkle.MaxSlotBlocks {
		return dataset.CID{}, mismatch("slot size of the request", "65536 times a power of two", ask.SlotSize)
	}
	name, err := dataset.CIDFromBytes([]byte(job.Request.Content.CID))
	if err != nil || name.Codec() != dataset.CodecManifest {
		return dataset.CID{}, mismatch("content of the request", "the name of a manifest",
			fmt.Sprintf("%x", clip(job.Request.Content.CID)))
	}
	return name, nil
}

// checkManifest compares a valid manifest with the request, and returns what the slot will be.
func checkManifest(
	job events.DownloadJob, name dataset.CID, m dataset.Manifest,
) (slotMeta, error) {
	if m.Erasure == nil || m.Erasure.Verification == nil {
		return slotMeta{}, mismatch("manifest", "one with slot roots", "one without")
	}
	layout, err := m.Layout()
	if err != nil {
		return slotMeta{}, err
	}
	v, ask := m.Erasure.Verification, job.Request.Ask
	switch got, want := v.VerifyRoot.Root(), job.Request.Content.MerkleRoot; {
	case got != want:
		return slotMeta{}, mismatch("root of the manifest", want, got)
	case uint64(layout.Slots()) != ask.Slots:
		return slotMeta{}, mismatch("number of slots of the manifest", ask.Slots, layout.Slots())
	case layout.SlotSize() != ask.SlotSize:
		return slotMeta{}, mismatch("slot size of the manifest", ask.SlotSize, layout.SlotSize())
	case uint64(layout.M) < ask.MaxSlotLoss: // The data would be lost before the request fails.
		return slotMeta{}, mismatch("parity slots of the manifest",
			fmt.Sprintf("at least %d, the loss that the request allows", ask.MaxSlotLoss), layout.M)
	}
	return slotMeta{
		Slot: job.Slot, Request: job.Request.ID, Index: job.Index, Slots: ask.Slots,
		Blocks: layout.Steps, SlotSize: ask.SlotSize, Manifest: name,
		DataSetRoot: job.Request.Content.MerkleRoot,
		SlotRoot:    v.SlotRoots[job.Index].Root(), Until: job.Until,
	}, nil
}

// clip shortens hostile input for error messages.
func clip(s string) string { return s[:min(len(s), 64)] }
