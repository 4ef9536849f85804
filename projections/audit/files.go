package audit

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// Files are what lies in the directories of a host's sectors and pieces.
type Files struct {
	Host events.Address
	// Member is whose directories they are; empty: the host is one process.
	Member events.Member
	// Local says that the sealer keeps sectors in these directories, so that none may be missing.
	Local bool
	// Sectors are the lengths of each sector's files, by its number and the file's part.
	Sectors map[uint64]map[capacity.Part]events.Bytes
	// Pieces are the lengths of the files of pieces, by CID.
	Pieces map[string]events.Bytes
}

// FilesCompared counts the sectors and the pieces whose files were compared with the ledger.
type FilesCompared struct {
	Sectors uint64 `json:"sectors"`
	Pieces  uint64 `json:"pieces"`
}

// atRest is the state of a sector whose data is complete and taken to be undamaged.
const atRest sectorState = "Proving"

// lookAtFiles lists the files before the record is read.
func (a *auditor) lookAtFiles() (err error) {
	if a.options.Files != nil {
		if a.files, err = a.options.Files(); err != nil {
			return fmt.Errorf("list the files: %w", err)
		}
	}
	return nil
}

// endOfFiles compares the files with the ledger. A running host may change both meanwhile. The ledger
// holds bytes before a file is written and until it is gone, so that a file that was there before the record
// was read, and is there afterwards, is held; and what was in neither list is missing.
func (a *auditor) endOfFiles() error {
	if a.options.Files == nil {
		return nil
	}
	before := a.files
	after, err := a.options.Files()
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	h := a.host(after.Host.String())
	in := h.ledgerOf(after.Member)
	if in.Broken {
		return nil
	}
	a.report.Files = &FilesCompared{uint64(len(after.Sectors)), uint64(len(after.Pieces))}
	a.endOfSectorFiles(h, in, before, after)
	for _, cid := range sortedKeys(after.Pieces) {
		if held := in.State.PieceBytes(cid); after.Pieces[cid] > held && before.Pieces[cid] > held {
			a.find(FileUnheld, h.placeOf(in), "the file of piece %s has %d bytes, the ledger holds %d for it",
				cid, after.Pieces[cid], held)
		}
	}
	for _, one := range in.State.PieceFiles() {
		if longest := max(before.Pieces[one.CID], after.Pieces[one.CID]); longest < one.Bytes {
			a.find(PieceFileMissing, h.placeOf(in), "the ledger holds %d bytes for piece %s, its file has %d",
				one.Bytes, one.CID, longest)
		}
	}
	return nil
}

func (a *auditor) endOfSectorFiles(h *host, in *ledger, before, after Files) {
	for _, n := range sortedKeys(after.Sectors) {
		held, _ := in.State.Sector(n)
		for _, part := range capacity.Parts() {
			if has := min(before.Sectors[n][part], after.Sectors[n][part]); has > held.Of(part) {
				a.find(FileUnheld, h.placeOf(in), "the %s file of sector %d has %d bytes, the ledger holds %d for it",
					part, n, has, held.Of(part))
			}
		}
	}
	for held := range in.State.Sectors() {
		l := h.sectors[held.Number]
		if l == nil || l.Broken || l.State != atRest || !after.Local {
			continue
		}
		for _, part := range []capacity.Part{capacity.PartUnsealed, capacity.PartSealed, capacity.PartTree} {
			longest := max(before.Sectors[held.Number][part], after.Sectors[held.Number][part])
			if longest < held.Of(part) {
				a.find(SectorFileMissing, h.placeOf(in),
					"the %s file of sector %d, which is proven, has %d of %d bytes",
					part, held.Number, longest, held.Of(part))
			}
		}
	}
}

// placeOf is where findings stand that no event shows: they are never left out.
func (h *host) placeOf(in *ledger) place {
	return place{Stream: events.LedgerStream(events.Must(events.ParseAddress(h.Address)), in.Member)}
}
