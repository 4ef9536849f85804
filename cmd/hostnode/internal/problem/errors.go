package problem

import (
	"errors"
	"fmt"
)

// Errors of questions and orders.
var (
	// ErrBadRequest: the question makes no sense.
	ErrBadRequest = errors.New("bad request")
	// ErrNoPoint: that is no point in the record.
	ErrNoPoint = fmt.Errorf("%w", ErrBadRequest)
	// ErrAmbiguous: several ids begin like that.
	ErrAmbiguous = errors.New("ambiguous id")
	// ErrOver: an offer would end before anything could be sold of it.
	ErrOver = errors.New("the end of the availability is not in the future")
	// ErrDiskSmall: the file system has no room for what would be on offer.
	ErrDiskSmall = errors.New("the disk has no room for it")
	// ErrUnknownSale: this host has never had a sale of the slot.
	ErrUnknownSale = errors.New("no sale of this slot")
	// ErrNotAgreed: the operator did not agree.
	ErrNotAgreed = errors.New("nothing was changed")
	// ErrUnclean: the audit has findings.
	ErrUnclean = errors.New("the audit is not clean")
)

// Errors of the way to a host.
var (
	// ErrNotRunning: nobody answers on the socket.
	ErrNotRunning = errors.New("no host answers")
	// ErrSilent: somebody listens on the socket and does not answer.
	ErrSilent = errors.New("the host does not answer")
	// ErrStandby: the host is starting or stopping.
	ErrStandby = errors.New("the host is starting or stopping")
	// ErrNoRoute, ErrMethod and ErrTooLarge are about the HTTP request.
	ErrNoRoute  = errors.New("no such resource")
	ErrMethod   = errors.New("method not allowed")
	ErrTooLarge = errors.New("request is too large")
	// ErrTooMany: as many do the same as may.
	ErrTooMany = errors.New("too many at once")
	// ErrMediaType: a body is not JSON.
	ErrMediaType = errors.New("the body has another media type")
)

// Errors of who may use the API over TCP.
var (
	// ErrUnauthorized: a request needs a token, and brings none of this host.
	ErrUnauthorized = errors.New("no valid token")
	// ErrForbidden: the token's scope does not allow it.
	ErrForbidden = errors.New("the token does not allow this")
	// ErrHost: the request names another host.
	ErrHost = errors.New("this host does not answer under that name")
	// ErrCrossOrigin: a page of another site makes the request.
	ErrCrossOrigin = errors.New("the request comes from a page of another site")
	// ErrTooOften: an address asks more often than it may.
	ErrTooOften = errors.New("too many requests")
	// ErrTokenExists: a token has the name already. ErrNoToken: none has it.
	ErrTokenExists = errors.New("a token has this name already")
	ErrNoToken     = errors.New("no such token")
	// ErrTokensDamaged: the file of the tokens cannot be understood.
	ErrTokensDamaged = errors.New("the file of the tokens is damaged")
	// ErrAPIAddress: the address of the API cannot be listened on, mostly because it is in use.
	ErrAPIAddress = errors.New("cannot listen there for the API")
)

// Errors of sectors and pieces.
var (
	// ErrUnknownSector: this host has never had a sector of the number.
	ErrUnknownSector = errors.New("no such sector")
	// ErrPieceFile: a file cannot be imported as a piece.
	ErrPieceFile = errors.New("the file cannot be imported")
	// ErrPieceRoom: the file system has no room for a piece.
	ErrPieceRoom = errors.New("the disk has no room for the piece")
	// ErrPieceNeeded: sectors have the piece.
	ErrPieceNeeded = errors.New("sectors need the piece")
	// ErrPieceBusy: another order about the piece is carried out.
	ErrPieceBusy = errors.New("the piece is being imported")
)

// Errors of files, and of taking the record along.
var (
	// ErrFile: a file that was named, to be stored or imported, cannot be read.
	ErrFile = errors.New("the file cannot be read")
	// ErrFileExists: an export would replace a file.
	ErrFileExists = errors.New("the file exists")
	// ErrConfigured: a file of settings would be replaced.
	ErrConfigured = errors.New("there are settings already")
	// ErrNotEmbedded: the events are in an EventStoreDB.
	ErrNotEmbedded = errors.New("the events are not in the embedded store")
	// ErrNoBackupDir: the directory for a backup cannot be used.
	ErrNoBackupDir = errors.New("no directory for a backup")
)

// Errors of the demonstration.
var (
	// ErrDemoOptions: the demonstration cannot be run with these options.
	ErrDemoOptions = errors.New("the demonstration cannot be run like this")
	// ErrDemoRefused: the host does not take an offer or an order.
	ErrDemoRefused = errors.New("the host refuses what the demonstration wants")
	// ErrDemoNotPaid: not all slots were sold and paid.
	ErrDemoNotPaid = errors.New("the payout did not arrive for every slot")
	// ErrDemoIncomplete: not all that is shown of sectors or members happened.
	ErrDemoIncomplete = errors.New("not everything happened that should")
	// ErrDemoStopped: a signal ended it before the end.
	ErrDemoStopped = errors.New("stopped before its end")
	// ErrDemoHostEnded: the host ended by itself.
	ErrDemoHostEnded = errors.New("the host of the demonstration ended")
	// ErrDemoStuck: the host of the demonstration works, or does not answer, and nothing changes.
	ErrDemoStuck = errors.New("the host of the demonstration does not get on")
)
