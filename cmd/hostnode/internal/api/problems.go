package api

import (
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
)

// Problem is an error as the API returns it.
type Problem = problem.Problem

// Explain is that of the table of all errors.
func Explain(err error) *Problem { return rows.All().Explain(err) }

// Errors that package problem has, by the names that they have had here.
var (
	ErrBadRequest    = problem.ErrBadRequest
	errNoPoint       = problem.ErrNoPoint
	ErrAmbiguous     = problem.ErrAmbiguous
	ErrOver          = problem.ErrOver
	errDiskSmall     = problem.ErrDiskSmall
	ErrUnknownSale   = problem.ErrUnknownSale
	ErrNotRunning    = problem.ErrNotRunning
	ErrSilent        = problem.ErrSilent
	ErrStandby       = problem.ErrStandby
	ErrNoRoute       = problem.ErrNoRoute
	ErrMethod        = problem.ErrMethod
	ErrTooLarge      = problem.ErrTooLarge
	ErrUnknownSector = problem.ErrUnknownSector
	ErrPieceFile     = problem.ErrPieceFile
	errPieceRoom     = problem.ErrPieceRoom
	errPieceNeeded   = problem.ErrPieceNeeded
	errPieceBusy     = problem.ErrPieceBusy
	ErrNotEmbedded   = problem.ErrNotEmbedded
	ErrNoBackupDir   = problem.ErrNoBackupDir
	ErrFileExists    = problem.ErrFileExists
)
