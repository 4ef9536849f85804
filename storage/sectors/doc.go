// Package sectors stores the files of sectors that sealers write, read and remove.
//
//	store, err := sectors.Open(dir, nil)
//	file, err := store.Edit(sector, events.SectorUnsealed, sector.Size) // in place, piece by piece
//	err = store.Replace(sector, events.SectorTree, length, write)       // all of it, or nothing
//	file, err := store.Open(sector, events.SectorTree, length)
//	usage, err := store.Usage(sector)                                   // measured, part by part
//	err = store.Remove(sector, events.SectorScratch)
//
// # On disk
//
//	FORMAT                       the version of this layout; a newer one is refused
//	IDENTITY                     by which the directory is recognised (storage.Place)
//	PROBE                        written now and then, to see whether the disk takes anything
//	SCRUB                        how far the check of all sectors at rest has come
//	<provider>-<number>/         one directory per sector
//	    sector.json              provider, number, size
//	    unsealed sealed tree scratch    its parts, each one file; what is zero may be a hole
//	    <name>.note              a sealer's note: the SHA-256 of the rest, and the rest
//	trash/                       sectors being removed; emptied at the next start
//
// A file with one of these names and a suffix, such as tree.new, was being written when the
// host stopped, and is removed at the next start. Notes are replaced by renaming. Parts are
// either replaced, too, or written in place; then a note says what is complete.
//
// # Damage
//
// A part of an unexpected length, a note that does not have its checksum and a sector.json of
// another sector are events.ErrSectorDamaged when they are read. Only the sealer can say which
// bytes of a part are damaged, because it knows what they should be. What cannot be read at a
// start is left alone and named by Findings.
//
// The store keeps no ledger: others decide who may write how much.
package sectors
