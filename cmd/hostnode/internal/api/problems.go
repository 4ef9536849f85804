package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/sector"
)

// Errors of the API itself.
var (
	// ErrBadRequest: the question makes no sense.
	ErrBadRequest = errors.New("bad request")
	// errNoPoint: that is no point in the record.
	errNoPoint = fmt.Errorf("%w", ErrBadRequest)
	// errNotHere: the question is about a machine that this host does not run.
	errNotHere = fmt.Errorf("%w: this host does not run that machine", ErrBadRequest)
	// ErrAmbiguous: several ids begin like that.
	ErrAmbiguous = errors.New("ambiguous id")
	// ErrOver: an offer would end before anything could be sold of it.
	ErrOver = errors.New("the end of the availability is not in the future")
	// ErrUnknownSale: this host has never had a sale of the slot.
	ErrUnknownSale = errors.New("no sale of this slot")
	// ErrNotRunning: nobody answers on the socket.
	ErrNotRunning = errors.New("no host answers")
	// ErrSilent: somebody listens on the socket and does not answer.
	ErrSilent = errors.New("the host does not answer")
	// ErrStandby: the host is starting or stopping.
	ErrStandby = errors.New("the host is starting or stopping")
	// ErrNoRoute, ErrMethod, ErrTooLarge and ErrTimeout are about the HTTP request.
	ErrNoRoute  = errors.New("no such resource")
	ErrMethod   = errors.New("method not allowed")
	ErrTooLarge = errors.New("request is too large")
	ErrTimeout  = errors.New("the answer took too long")
	// errNoSpace stands for *capacity.SpaceError in the table.
	errNoSpace = errors.New("not enough unallocated quota")
	// errTakenOver stands for actors.ErrTakenOver and tx.ErrTakenOver.
	errTakenOver = errors.New("another process has this account")
	// errPath stands for pathErrors.
	errPath  = errors.New("the path cannot be used")
	errOther = errors.New("something went wrong")
)

// Errors of the demonstration; they are here because their hints are.
var (
	// ErrFile: a file that was named, to be stored or imported, cannot be read.
	ErrFile = errors.New("the file cannot be read")
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
	// ErrNotAgreed: the operator did not agree.
	ErrNotAgreed = errors.New("nothing was changed")
	// ErrDemoHostEnded: the host ended by itself.
	ErrDemoHostEnded = errors.New("the host of the demonstration ended")
	// ErrDemoStuck: the host of the demonstration works, or does not answer, and nothing changes.
	ErrDemoStuck = errors.New("the host of the demonstration does not get on")
	// ErrUnclean: the audit has findings.
	ErrUnclean = errors.New("the audit is not clean")
)

// Problem is an error as the API returns it (RFC 9457) and as commands print it.
type Problem struct {
	// Type is the page that explains the code.
	Type string `json:"type"`
	// Code never changes; programs may compare it.
	Code string `json:"code"`
	// Title is a sentence for the code, Detail for this occurrence.
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Hint is what to type or check next.
	Hint string `json:"hint"`
}

// Error is what happened.
func (p *Problem) Error() string { return p.Detail }

// Is makes errors.Is find the sentinel of the code, as if the error had not
// crossed a process.
func (p *Problem) Is(target error) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.code == p.Code && k.is == target })
}

// kind is a row of the table of errors.
type kind struct {
	code   string
	status int
	is     error
	title  string
	hint   string
}

// Explain finds the row of the table for an error; it never returns nil.
func Explain(err error) *Problem {
	if p, known := errors.AsType[*Problem](err); known {
		explained := *p
		explained.Detail = err.Error()
		return &explained
	}
	found := kinds[slices.IndexFunc(kinds, func(k kind) bool {
		return errors.Is(k.is, errOther) || matches(err, k.is)
	})]
	return &Problem{
		Type: "docs/errors.md#" + found.code, Code: found.code, Title: found.title,
		Status: found.status, Detail: err.Error(), Hint: found.hint,
	}
}

// pathErrors are the reasons for which the system refuses a path that somebody named.
var pathErrors = []error{
	fs.ErrNotExist, syscall.EISDIR, syscall.EROFS, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EXDEV,
	syscall.ENOTEMPTY,
}

func matches(err, is error) bool {
	_, space := errors.AsType[*capacity.SpaceError](err)
	_, refused := errors.AsType[*sector.Refused](err)
	switch {
	case errors.Is(is, errNoSpace):
		return space
	case errors.Is(is, errRefused):
		return errors.Is(err, is) || refused
	case errors.Is(is, errTakenOver):
		return errors.Is(err, is) || errors.Is(err, shell.ErrTakenOver) || errors.Is(err, tx.ErrTakenOver)
	case errors.Is(is, node.ErrElsewhere):
		return errors.Is(err, is) || errors.Is(err, tx.ErrUsedElsewhere) || errors.Is(err, membership.ErrElsewhere)
	case errors.Is(is, errPath):
		return errors.Is(err, is) ||
			slices.ContainsFunc(pathErrors, func(why error) bool { return errors.Is(err, why) })
	case errors.Is(is, ErrTimeout) && errors.Is(err, context.DeadlineExceeded):
		return true
	}
	return errors.Is(err, is)
}
