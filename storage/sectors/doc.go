// Package sectors keeps the files of sectors: what sealers write, read and let go.
//
//	store, err := sectors.Open(dir)
//	file, err := store.Edit(sector, events.SectorUnsealed, sector.Size) // in place, piece by piece
//	err = store.Replace(sector, events.SectorTree, length, write)       // as a whole, or not at all
//	file, err := store.Open(sector, events.SectorTree, length)
//	usage, err := store.Usage(sector)                                   // measured, part by part
//	err = store.Remove(sector, events.SectorScratch)
//
// # On disk
//
//	FORMAT                       the version of this layout; a newer one is refused
//	PROBE                        written now and then, to see whether the disk takes anything
//	<provider>-<number>/         one directory per sector
//	    sector.json              provider, number, size
//	    unsealed sealed tree scratch    its parts, each one file; what is zero may be a hole
//	    <name>.note              what a sealer writes down: the SHA-256 of the rest, and the rest
//	trash/                       sectors being removed; emptied at the next start
//
// A file whose name goes on behind one of these, as in tree.new, was being written when the host
// stopped, and goes at the next start. Notes are replaced by renaming, parts either so or in place;
// who writes in place writes down in a note what is complete.
//
// # Damage
//
// A part whose length is not what the caller expects, a note that is not what its checksum says, a
// sector.json that says something else: events.ErrSectorDamaged, when it is read. Which bytes of a
// part are damaged is for the sealer to say, which knows what they should be. What cannot be read
// at a start is left alone and named by Findings.
//
// The store keeps no ledger: who may write how much is not its business.
package sectors
