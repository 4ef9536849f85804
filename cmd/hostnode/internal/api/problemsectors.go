package api

import (
	"net/http"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
)

// sectorKinds are about sectors and their pieces.
var sectorKinds = []kind{
	{
		"no-sectors", http.StatusConflict, actors.ErrNoSectors, "This host seals no sectors.",
		"Choose a sealer with `sectors.sealer` in the configuration, and start the host again; " +
			"`hostnode config example` explains it.",
	},
	{
		"sector-unknown", http.StatusNotFound, ErrUnknownSector, "This host has never had a sector of that number.",
		"`hostnode sectors list` shows all with their numbers.",
	},
	{
		"sector-over", http.StatusConflict, sectors.ErrNoSector, "The sector is over.",
		"Nothing is left to do about it; `hostnode sectors timeline N` tells what happened to it.",
	},
	{
		"sector-request-used", http.StatusConflict, sectors.ErrOtherRequest,
		"Another sector began with that request.",
		"Send another `request` for another sector; with the same one send the same size and pieces.",
	},
	{
		"sector-refused", http.StatusConflict, errRefused, "The state of the sector does not allow that.",
		"The message names what the state allows; `hostnode sectors status N` says what the sector waits for.",
	},
	{
		"sector-state-unknown", http.StatusBadRequest, sector.ErrUnknownState, "Sectors have no such state.",
		"Choose one that the message lists, in the same spelling.",
	},
	{
		"sector-files-first", http.StatusConflict, sector.ErrFilesFirst,
		"In that state a sector has no files, and nobody would remove them.",
		"Remove the sector: `hostnode sectors remove N --reason WHY`.",
	},
	{
		"sector-size", http.StatusBadRequest, sector.ErrSize, "A sector or a piece of this size cannot be.",
		"Sectors have a power of two from 2 KiB to 64 GiB; the message says which number is wrong.",
	},
	{
		"piece-no-fit", http.StatusConflict, sector.ErrNoRoom, "The piece does not fit into the sector.",
		"Choose another sector, or larger ones: `hostnode sectors add-piece FILE --size SIZE`.",
	},
	{
		"piece-twice", http.StatusConflict, sector.ErrSamePiece, "The piece is in the sector already.",
		"Nothing has to be done. A second copy belongs into another sector: " +
			"`hostnode sectors add-piece FILE --sector N`.",
	},
	{
		"piece-unknown", http.StatusNotFound, events.ErrNoSuchPiece, "The host does not have the data of this piece.",
		"`hostnode sectors pieces` lists the pieces that it has; `hostnode sectors add-piece FILE` imports one.",
	},
	{
		"piece-needed", http.StatusConflict, errPieceNeeded,
		"Sectors that are not over have the piece, and are repaired from it.",
		"Wait until they are over, or end them: `hostnode sectors terminate N --reason WHY`.",
	},
	{
		"piece-busy", http.StatusConflict, errPieceBusy, "The same piece is being imported by another command.",
		"Wait until that has ended.",
	},
	{
		"piece-held", http.StatusConflict, capacity.ErrPieceHeld,
		"The host has the same piece of a file of another length; only zeros at their ends differ.",
		"Use the file that was imported, or remove the piece first: `hostnode sectors remove-piece CID`.",
	},
	{
		"piece-mismatch", http.StatusConflict, events.ErrPieceMismatch,
		"The data of the piece is not what was said of it.",
		"Import the file again and use what the answer says; if the stored data was damaged, that replaces it.",
	},
	{
		"piece-file", http.StatusBadRequest, ErrPieceFile, "The file cannot be imported as a piece.",
		"Name a regular file of 65 bytes to 63.5 GiB that the host's user may read.",
	},
	{
		"piece-no-room", http.StatusInsufficientStorage, errPieceRoom,
		"The file system has no room for the data of the piece.",
		"Make room on the file system of the data directory, where `storage.keepFree` must stay free.",
	},
}
