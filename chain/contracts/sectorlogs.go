package contracts

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// maxSectorLogBytes is the longest data of a log that is decoded. The longest is that of a proof,
// with a word for each sector of a partition; this is enough for 8,000.
const maxSectorLogBytes = 1 << 18

// ErrNotSectorLog says that a log is not exactly an event of the sector provider.
var ErrNotSectorLog = errors.New("not an event of the sector provider")

// SectorEvent is an event of the sector provider: a pointer to one of the structs
// bindings.SectorProvider… that are named after the events, PreCommitted to Burnt.
type SectorEvent interface {
	// ContractEventName is the event's name in Solidity.
	ContractEventName() string
}

// UnpackSectorEvent decodes a log of the sector provider, or returns ErrNotSectorLog with the
// reason. It accepts only what the contract can have written: the data is complete, nothing follows
// it, and no number is too large for its type. It never panics, whatever the log, and is safe for
// concurrent use. The caller checks which contract's log it is.
func UnpackSectorEvent(log *types.Log) (SectorEvent, error) {
	if len(log.Topics) == 0 {
		return nil, fmt.Errorf("%w: no topics", ErrNotSectorLog)
	}
	read, found := sectorReaders()[log.Topics[0]]
	if !found {
		return nil, fmt.Errorf("%w: unknown topic %s", ErrNotSectorLog, log.Topics[0])
	}
	if reason := sectorLogProblem(read.event, log); reason != "" {
		return nil, fmt.Errorf("%w: %s: %s", ErrNotSectorLog, read.event.Name, reason)
	}
	event, err := read.unpack(log)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotSectorLog, read.event.Name, err)
	}
	return event, nil
}

// sectorLogProblem finds what the bindings overlook: they read missing data as zeroes and truncate
// numbers in topics.
func sectorLogProblem(event abi.Event, log *types.Log) string {
	if len(log.Data) > maxSectorLogBytes {
		return fmt.Sprintf("%d bytes of data", len(log.Data))
	}
	if _, ok := unpack(event.Inputs.NonIndexed(), log.Data); !ok {
		return "data that no compiler makes"
	}
	next := 1
	for _, input := range event.Inputs {
		if !input.Indexed {
			continue
		}
		if next == len(log.Topics) {
			return "too few topics"
		}
		if _, ok := unpack(abi.Arguments{{Type: input.Type}}, log.Topics[next][:]); !ok {
			return fmt.Sprintf("%s is %s", input.Name, log.Topics[next])
		}
		next++
	}
	if next != len(log.Topics) {
		return "too many topics"
	}
	return ""
}

// sectorReader decodes the logs of one event.
type sectorReader struct {
	event  abi.Event
	unpack func(*types.Log) (SectorEvent, error)
}

// sectorReaders are the readers of all events, by topic; a test compares them with the ABI.
var sectorReaders = sync.OnceValue(func() map[common.Hash]sectorReader {
	a := bindings.NewSectorProvider()
	readers := map[common.Hash]sectorReader{}
	for name, unpack := range map[string]func(*types.Log) (SectorEvent, error){
		"PreCommitted":     reads(a.UnpackPreCommittedEvent),
		"SeedPinned":       reads(a.UnpackSeedPinnedEvent),
		"Committed":        reads(a.UnpackCommittedEvent),
		"PreCommitExpired": reads(a.UnpackPreCommitExpiredEvent),
		"Proven":           reads(a.UnpackProvenEvent),
		"Missed":           reads(a.UnpackMissedEvent),
		"FaultDeclared":    reads(a.UnpackFaultDeclaredEvent),
		"RecoveryDeclared": reads(a.UnpackRecoveryDeclaredEvent),
		"Recovered":        reads(a.UnpackRecoveredEvent),
		"Terminated":       reads(a.UnpackTerminatedEvent),
		"Expired":          reads(a.UnpackExpiredEvent),
		"Funded":           reads(a.UnpackFundedEvent),
		"Withdrawn":        reads(a.UnpackWithdrawnEvent),
		"Burnt":            reads(a.UnpackBurntEvent),
	} {
		event := a.GetABI().Events[name]
		readers[event.ID] = sectorReader{event, unpack}
	}
	return readers
})

func reads[E SectorEvent](unpack func(*types.Log) (E, error)) func(*types.Log) (SectorEvent, error) {
	return func(log *types.Log) (SectorEvent, error) { return unpack(log) }
}
