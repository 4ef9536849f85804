// Package storage stores slots for others: it fetches them, keeps them on disk so that a proof
// reads only the blocks that it samples, and serves blocks by name.
//
//	repo, err := storage.Open(dir, storage.Config{Quota: 1 << 40})
//	fetcher, err := storage.NewFetcher(repo, storage.FetcherConfig{Sources: urls})
//	content, err := fetcher.Download(ctx, job)   // resumable, verified, granted
//	slot, err := repo.Reader(id)                 // what a proof is made from
//	http.Handle("/ipfs/", storage.NewHandler(repo))
//
// # On disk
//
//	FORMAT            the version of this layout; a newer one is refused
//	IDENTITY          by which the directory is recognised (Place)
//	SCRUB             progress of the scrub, which checks all blocks
//	PROBE             written now and then, to see whether the disk takes anything
//	LOCK              held by the one process that has the repo open
//	slots/<id>/       one directory per slot:
//	    slot.json     request, index, roots, lifetime, whether it is complete
//	    manifest      the manifest block
//	    blocks        block i at offset i × 65,536; blocks of zeros are holes
//	    roots         36 bytes per block: its root and a checksum
//	    tree          the slot tree from its fifth layer up, 32 bytes per node
//	    names         16 bytes per block: start of its SHA-256 and its index, sorted
//	new/              slots being created; emptied at the next start
//	trash/            slots being deleted; emptied at the next start
//
// The file roots is also the journal: an entry is written only after the bytes of its block are
// synced, so a block counts as stored when its entry is there and its checksum is right. Everything
// else is written once, or replaced by renaming. So a crash loses at most the batch that was being
// written.
//
// # A disk that is away
//
// The directory may be on a disk of its own. When it is not the one that it was (Place), every call
// returns events.ErrDiskAway and writes nothing: what is missing then is not lost. That goes for a
// start, too; the repo reads what there is as soon as the disk is back.
//
// # Bytes
//
// The repo keeps no ledger. Before each batch it asks DownloadJob.Grant whether it may write;
// Config.Quota is a second, hard limit measured on disk, and Usage measures again. Trees and
// bookkeeping never exceed Overhead.
//
// # Getting the data
//
// Sources answer GET /ipfs/<cid>?format=raw. The manifest is checked against the request before
// anything else is fetched; the list of block digests verifies itself (package dataset says how it
// is served); each block is checked against its digest; and the complete slot must have the root
// that the manifest names. A block that no source has is computed from K blocks of other slots.
//
// Not for: deciding what to store or for how long, and making proofs.
package storage
