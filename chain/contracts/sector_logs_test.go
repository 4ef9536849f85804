package contracts_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
)

// lifeOfLogs are the logs of some sectors' lives, with every kind of event.
func lifeOfLogs(t fataler) []*types.Log {
	y := newYard(t)
	var logs []*types.Log
	said := func(from common.Address, data []byte) {
		for _, log := range y.does(from, data) {
			if log.Address == y.address {
				logs = append(logs, log)
			}
		}
	}
	said(bob, sectorABI.PackFund(bigInt(reward)))
	void := y.announces(alice, 2)
	said(alice, sectorABI.PackPreCommit(void.said))
	s := y.announces(alice, 1)
	s.said.Expiration += 4 * periodBlocks
	said(alice, sectorABI.PackPreCommit(s.said))
	y.block += seedDelay + 1
	said(alice, s.packCommit())
	y.missWindow(s)
	said(alice, sectorABI.PackDeclareRecoveries([]uint64{1}))
	for s.opens(y.block/periodBlocks+1) < s.said.Expiration {
		y.toWindow(s)
		said(alice, y.packProof(s))
	}
	y.block = s.said.Expiration
	said(alice, sectorABI.PackExpire(1))
	said(alice, sectorABI.PackExpirePreCommit(alice, 2))
	said(alice, sectorABI.PackWithdraw())
	y.active(alice, 3)
	said(alice, sectorABI.PackDeclareFaults([]uint64{3}))
	said(alice, sectorABI.PackTerminate(3))
	said(alice, sectorABI.PackBurn())
	return logs
}

func TestEveryEventOfTheSectorProviderIsUnpacked(t *testing.T) {
	want := map[string]bool{}
	for name := range sectorABI.GetABI().Events {
		want[name] = true
	}
	got := map[string]bool{}
	for _, log := range lifeOfLogs(t) {
		event, err := contracts.UnpackSectorEvent(log)
		if err != nil {
			t.Fatalf("unpack: %v", err)
		}
		a := sectorABI.GetABI()
		known, err := a.EventByID(log.Topics[0])
		if err != nil || known.Name != event.ContractEventName() {
			t.Fatalf("%T is %s, %v", event, known.Name, err)
		}
		got[known.Name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
}

func TestLogsThatTheSectorProviderCannotHaveWrittenAreRefused(t *testing.T) {
	for _, log := range lifeOfLogs(t) {
		for name, spoil := range map[string]func(*types.Log){
			"no topics":           func(l *types.Log) { l.Topics = nil },
			"an unknown topic":    func(l *types.Log) { l.Topics[0][0] ^= 1 },
			"a topic too many":    func(l *types.Log) { l.Topics = append(l.Topics, common.Hash{}) },
			"no data":             func(l *types.Log) { l.Data = nil },
			"data cut short":      func(l *types.Log) { l.Data = l.Data[:len(l.Data)-1] },
			"a word too many":     func(l *types.Log) { l.Data = append(l.Data, make([]byte, 32)...) },
			"data without end":    func(l *types.Log) { l.Data = make([]byte, 1<<20) },
			"a topic too few":     func(l *types.Log) { l.Topics = l.Topics[:len(l.Topics)-1] },
			"an address too long": func(l *types.Log) { dirty(l, 1) },
			"a number too large":  func(l *types.Log) { dirty(l, 2) },
		} {
			spoilt := *log
			spoilt.Topics, spoilt.Data = slices.Clone(log.Topics), slices.Clone(log.Data)
			spoil(&spoilt)
			if slices.Equal(spoilt.Topics, log.Topics) && slices.Equal(spoilt.Data, log.Data) {
				continue // An event without such a part.
			}
			if event, err := contracts.UnpackSectorEvent(&spoilt); !errors.Is(err, contracts.ErrNotSectorLog) {
				t.Fatalf("%s: %+v, %v", name, event, err)
			}
		}
	}
}

// dirty sets a byte that is zero in every address and 64-bit number.
func dirty(l *types.Log, topic int) {
	if topic < len(l.Topics) {
		l.Topics[topic][0] = 1
	}
}

func TestErrorsOfTheSectorProviderAreDecoded(t *testing.T) {
	for _, known := range sectorABI.GetABI().Errors {
		data := slices.Clone(known.ID[:4])
		for i := range known.Inputs {
			data = append(data, common.FromHex(word(byte(7+i)))...)
		}
		if name, ok := contracts.DecodeRevert(data); !ok || name != known.Name {
			t.Fatalf("%s is %q, %t", known.Name, name, ok)
		}
	}
}

// FuzzUnpackSectorEvent looks for logs that cause a panic, or that are accepted although the
// contract cannot have written them.
func FuzzUnpackSectorEvent(f *testing.F) {
	for _, log := range lifeOfLogs(f) {
		f.Add(log.Topics[0][:], slices.Concat(bytesOf(log.Topics[1:])...), log.Data)
	}
	f.Fuzz(func(t *testing.T, id, topics, data []byte) {
		log := &types.Log{Topics: []common.Hash{common.BytesToHash(id)}, Data: data}
		for rest := range slices.Chunk(topics, 32) {
			log.Topics = append(log.Topics, common.BytesToHash(rest))
		}
		event, err := contracts.UnpackSectorEvent(log)
		if err != nil {
			return
		}
		known := sectorABI.GetABI().Events[event.ContractEventName()]
		if values, err := known.Inputs.NonIndexed().Unpack(data); err != nil {
			t.Fatalf("taken, but %v", err)
		} else if again, err := known.Inputs.NonIndexed().Pack(values...); err != nil || !cmp.Equal(again, data) {
			t.Fatalf("%x is not what the contract writes: %x, %v", data, again, err)
		}
	})
}

func bytesOf(hashes []common.Hash) (all [][]byte) {
	for _, hash := range hashes {
		all = append(all, hash[:])
	}
	return all
}

// sectorSignatures is the interface that callers rely on, written down independently of the source.
func sectorSignatures() []string {
	return []string{
		"burn()", "commit(uint64,bytes)", "configuration()", "declareFaults(uint64[])", "declareRecoveries(uint64[])",
		"depositFor(uint64)", "expire(uint64)", "expirePreCommit(address,uint64)", "fund(uint256)",
		"markMissed(address,uint64,uint64)", "openWindow()", "owed(address)", "pinSeed(address,uint64)", "placeOf(uint64)",
		"pool()", "preCommit((uint64,uint64,uint64,uint64,bytes32,bytes32,uint8))", "provePossession(uint64,uint64,uint64[],bytes[])",
		"sector(address,uint64)", "terminate(uint64)", "ticketFor(address,uint64,uint64)", "ticketReach()", "token()", "unburnt()", "withdraw()",

		"Burnt(uint256)", "Committed(address,uint64,uint64)", "Expired(address,uint64,uint256)",
		"FaultDeclared(address,uint64,uint64)", "Funded(address,uint256)", "Missed(address,uint64,uint64,uint64,uint256)",
		"PreCommitExpired(address,uint64,uint256,uint256)",
		"PreCommitted(address,uint64,(uint64,uint64,uint64,uint64,bytes32,bytes32,uint8),bytes32,uint64,uint256)",
		"Proven(address,uint64,uint64,uint64,bytes32,uint64[],uint256)", "Recovered(address,uint64,uint64)",
		"RecoveryDeclared(address,uint64,uint64)", "SeedPinned(address,uint64,bytes32)",
		"Terminated(address,uint64,uint8,uint256,uint256)", "Withdrawn(address,uint256)",
	}
}

func TestInterfaceOfTheSectorProviderIsTheOneWrittenDown(t *testing.T) {
	var got []string
	a := sectorABI.GetABI()
	for _, method := range a.Methods {
		got = append(got, method.Sig)
	}
	for _, event := range a.Events {
		got = append(got, event.Sig)
	}
	want := sectorSignatures()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("interface differs (-want +got):\n%s", diff)
	}
}
