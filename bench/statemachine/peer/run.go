// Package peer runs sectors on go-statemachine, the library under the machine that events/sector is modelled on,
// the way storage providers run it: one record for each sector in a leveldb that syncs, and the log inside the
// record. What a sector is and does is as little as possible, so that the library is what is measured.
package peer

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	statemachine "github.com/filecoin-project/go-statemachine"
	"github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/namespace"
	levelds "github.com/ipfs/go-ds-leveldb"
	ldbopts "github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/hostnode/hostnode/bench/statemachine/record"
)

// machine plans and performs for all sectors.
type machine struct {
	keepsLog bool
	done     []chan struct{} // by sector, from 1: its record is stored, and its step runs
}

// Plan implements statemachine.StateHandler.
func (m *machine) Plan(events []statemachine.Event, user any) (any, uint64, error) {
	s := user.(*record.SectorInfo)
	for _, one := range events {
		e := one.User.(Event)
		if m.keepsLog {
			text, err := json.Marshal(e)
			if err != nil {
				return nil, 0, err
			}
			s.Log = append(s.Log, record.Log{
				Timestamp: uint64(time.Now().Unix()), Kind: fmt.Sprintf("event;%T", e), Message: string(text),
			})
		}
		s.State = e.apply(s)
	}
	return m.step, uint64(len(events)), nil
}

func (m *machine) step(_ statemachine.Context, s record.SectorInfo) error {
	m.done[s.SectorNumber] <- struct{}{}
	return nil
}

// Run brings sectors through their lives, all at once, within a call of timed. The next event of a sector is sent
// when the one before is stored. life makes the n-th event of a sector; each sector has so many.
func Run(
	dir string, sectors, events int, keepsLog bool, life func(sector uint64, n int) Event, timed func(func()),
) error {
	// These are the options of the datastore that Lotus has for its records.
	level, err := levelds.NewDatastore(dir, &levelds.Options{
		Compression: ldbopts.NoCompression, NoSync: false, Strict: ldbopts.StrictAll,
	})
	if err != nil {
		return err
	}
	defer func() { _ = level.Close() }()
	m := &machine{keepsLog: keepsLog, done: make([]chan struct{}, sectors+1)}
	group := statemachine.New(namespace.Wrap(level, datastore.NewKey("/sectors")), m, record.SectorInfo{})
	for n := 1; n <= sectors; n++ {
		m.done[n] = make(chan struct{}, 1)
		if err := group.Begin(uint64(n), &record.SectorInfo{}); err != nil {
			return err
		}
	}
	failed := make(chan error, sectors)
	var all sync.WaitGroup
	timed(func() {
		for n := uint64(1); n <= uint64(sectors); n++ {
			all.Go(func() {
				for i := range events {
					if err := group.Send(n, life(n, i)); err != nil {
						failed <- err
						return
					}
					<-m.done[n]
				}
			})
		}
		all.Wait()
	})
	close(failed)
	if err := <-failed; err != nil {
		return err
	}
	for n := uint64(1); n <= uint64(sectors); n++ {
		var s record.SectorInfo
		if err := group.Get(n).Get(&s); err != nil {
			return err
		}
		if keepsLog && len(s.Log) != events || s.SectorNumber != n {
			return fmt.Errorf("sector %d has %d entries in its log, not %d", n, len(s.Log), events)
		}
	}
	return nil
}
