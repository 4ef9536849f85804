package storage

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/storage/dataset"
)

// checkRequest answers a MismatchError for a request that no dataset can fulfil,
// before anything is fetched, and reads the name of its manifest.
func checkRequest(job events.DownloadJob) (dataset.CID, error) {
	ask := job.Request.Ask
	if ask.Slots == 0 || ask.Slots > dataset.MaxSlots {
		return dataset.CID{}, &MismatchError{
			What:     "number of slots of the request",
			Expected: fmt.Sprintf("1 to %d", dataset.MaxSlots), Got: fmt.Sprint(ask.Slots),
		}
	}
	if job.Index >= ask.Slots {
		return dataset.CID{}, &MismatchError{
			What:     "slot index",
			Expected: fmt.Sprintf("below %d", ask.Slots), Got: fmt.Sprint(job.Index),
		}
	}
	blocks := uint64(ask.SlotSize / events.BlockSize)
	if ask.SlotSize%events.BlockSize != 0 || blocks == 0 || blocks&(blocks-1) != 0 ||
		blocks > merkle.MaxSlotBlocks {
		return dataset.CID{}, &MismatchError{
			What:     "slot size of the request",
			Expected: "65536 times a power of two", Got: fmt.Sprint(ask.SlotSize),
		}
	}
	name, err := dataset.CIDFromBytes([]byte(job.Request.Content.CID))
	if err != nil || name.Codec() != dataset.CodecManifest {
		return dataset.CID{}, &MismatchError{
			What:     "content of the request",
			Expected: "the name of a manifest", Got: fmt.Sprintf("%x", clip(job.Request.Content.CID)),
		}
	}
	return name, nil
}

// checkManifest compares a valid manifest with the request, and says what the slot
// will be.
func checkManifest(
	job events.DownloadJob, name dataset.CID, m dataset.Manifest,
) (record, error) {
	if m.Erasure == nil || m.Erasure.Verification == nil {
		return record{}, &MismatchError{
			What:     "manifest",
			Expected: "one with slot roots", Got: "one without",
		}
	}
	layout, err := m.Layout()
	if err != nil {
		return record{}, err
	}
	v, ask := m.Erasure.Verification, job.Request.Ask
	if got, want := v.VerifyRoot.Root(), job.Request.Content.MerkleRoot; got != want {
		return record{}, &MismatchError{
			What:     "root of the manifest",
			Expected: want.String(), Got: got.String(),
		}
	}
	if uint64(layout.Slots()) != ask.Slots {
		return record{}, &MismatchError{
			What:     "number of slots of the manifest",
			Expected: fmt.Sprint(ask.Slots), Got: fmt.Sprint(layout.Slots()),
		}
	}
	if layout.SlotSize() != ask.SlotSize {
		return record{}, &MismatchError{
			What:     "slot size of the manifest",
			Expected: fmt.Sprint(ask.SlotSize), Got: fmt.Sprint(layout.SlotSize()),
		}
	}
	if uint64(layout.M) < ask.MaxSlotLoss { // The data would be gone before the request is.
		return record{}, &MismatchError{
			What:     "parity slots of the manifest",
			Expected: fmt.Sprintf("at least %d, the loss that the request allows", ask.MaxSlotLoss),
			Got:      fmt.Sprint(layout.M),
		}
	}
	return record{
		Slot: job.Slot, Request: job.Request.ID, Index: job.Index, Slots: ask.Slots,
		Blocks: layout.Steps, SlotSize: ask.SlotSize, Manifest: name,
		DataSetRoot: job.Request.Content.MerkleRoot,
		SlotRoot:    v.SlotRoots[job.Index].Root(), Until: job.Until,
	}, nil
}

// clip keeps hostile input out of error messages.
func clip(s string) string { return s[:min(len(s), 64)] }
