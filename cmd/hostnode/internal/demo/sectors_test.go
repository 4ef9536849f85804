package demo

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

func TestAFileMustFitIntoSectors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sparse")
	must(t, os.WriteFile(file, nil, 0o600))
	for bytes, want := range map[int64]struct {
		size events.Bytes
		err  error
	}{
		leastFile - 1: {0, problem.ErrDemoOptions},
		leastFile:     {2 << 10, nil}, // The smallest sector.
		8 * 508:       {2 << 10, nil}, // As much as goes in: 508 bytes are 512 with padding.
		8*508 + 1:     {2 << 10, nil},
		8*1016 + 1:    {4 << 10, nil},
		1 << 40:       {0, problem.ErrDemoOptions}, // The quota cannot hold it.
		1 << 60:       {0, problem.ErrDemoOptions}, // No piece can.
	} {
		if err := os.Truncate(file, bytes); err != nil {
			t.Logf("this file system has no file of %d bytes: %v", bytes, err)
			continue
		}
		c := config.Config{DataDir: filepath.Join(dir, "data"), Quota: 20 << 30}
		size, err := SectorOptions{Options: Options{Config: c, File: file}}.begin()
		if size != want.size || !errors.Is(err, want.err) {
			t.Errorf("%d bytes: sectors of %d, %v; want %d, %v", bytes, size, err, want.size, want.err)
		}
	}
}

func TestPiecesMakeUpTheFile(t *testing.T) {
	for _, length := range []int{leastFile, 5001, 8 * 1000} {
		dir := t.TempDir()
		file := filepath.Join(dir, "data")
		want := bytes.Repeat([]byte("all of it "), length)[:length]
		must(t, os.WriteFile(file, want, 0o600))
		o := Options{Config: config.Config{DataDir: dir}, Out: &strings.Builder{}}
		s := &sectorDemo{sealing: sealing{engine: newEngine(o)}}
		_, err := s.cut(t.Context(), file)
		must(t, err)
		var got []byte
		for _, path := range s.files {
			piece, err := os.ReadFile(path)
			must(t, err)
			if len(piece) > int(eachOf(uint64(length))) {
				t.Errorf("of %d bytes a piece has %d", length, len(piece))
			}
			got = append(got, piece...)
		}
		if len(s.files) != manySectors*piecesOfEach || !bytes.Equal(got, want) {
			t.Errorf("%d pieces have %d of %d bytes", len(s.files), len(got), length)
		}
	}
}

func TestDamageIsATenth(t *testing.T) {
	o := Options{Config: config.Config{DataDir: t.TempDir()}, Out: &strings.Builder{}}
	s := &sectorDemo{
		sealing: sealing{newEngine(o), &contractLog{}}, size: 2048, sectors: []uint64{7, 8, 9, 10},
	}
	s.contract.rules.Proving.PeriodBlocks = 40
	sound := bytes.Repeat([]byte{0xff}, 2048)
	must(t, os.MkdirAll(filepath.Dir(s.unsealed(7)), 0o700))
	must(t, os.WriteFile(s.unsealed(7), sound, 0o600))
	must(t, s.damageFile(7))
	now, err := os.ReadFile(s.unsealed(7))
	must(t, err)
	damaged := 0
	for i := range now {
		if now[i] != sound[i] {
			damaged++
		}
	}
	if len(now) != len(sound) || damaged != 205 || s.damage.Bytes != 205 {
		t.Errorf("%d of %d bytes are damaged, and %d are said to be", damaged, len(now), s.damage.Bytes)
	}
	if err := s.damageFile(8); err == nil {
		t.Error("a file that is not there was damaged")
	}
}

func TestWhatTheContractSaysIsCounted(t *testing.T) {
	sentence := ""
	c := &contractLog{
		firstDay: 6, reward: new(big.Int), paid: new(big.Int), sectors: map[uint64]*onContract{},
		say: func(format string, args ...any) { sentence = fmt.Sprintf(format, args...) },
	}
	fee := big.NewInt(2e17)
	for _, e := range []contracts.SectorEvent{
		&bindings.SectorProviderPreCommitted{Number: 1}, &bindings.SectorProviderSeedPinned{Number: 1},
		&bindings.SectorProviderCommitted{Number: 1, FirstPeriod: 7},
		&bindings.SectorProviderProven{Period: 7, Numbers: []uint64{1, 2, 3}, Reward: big.NewInt(5)},
		&bindings.SectorProviderProven{Period: 9, Numbers: []uint64{1}, Reward: big.NewInt(6)},
		&bindings.SectorProviderMissed{Number: 1, Period: 10, Periods: 2, Fee: fee},
		&bindings.SectorProviderFaultDeclared{Number: 1, FromPeriod: 12},
		&bindings.SectorProviderRecoveryDeclared{Number: 1, Period: 12},
		&bindings.SectorProviderRecovered{Number: 1, Period: 12},
		&bindings.SectorProviderTerminated{Number: 1, Fee: fee, Returned: fee},
		&bindings.SectorProviderWithdrawn{Amount: fee},
	} {
		sentence = ""
		c.count(e)
		if sentence != "" && !strings.Contains(sentence, "sector") && !strings.Contains(sentence, "withdrawn 200000000000000000 base units") {
			t.Errorf("%T is told so: %s", e, sentence)
		}
	}
	want := onContract{
		messages: map[string]int{"precommit": 1, "commit": 1, "fault": 1, "recovery": 1, "termination": 1},
		proven:   []uint64{2, 4}, missed: []uint64{5, 6},
		declared: []uint64{7}, recovered: []uint64{7}, fees: big.NewInt(4e17),
	}
	opts := cmp.Options{
		cmp.AllowUnexported(onContract{}), cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
	}
	if diff := cmp.Diff(&want, c.sectors[1], opts); diff != "" {
		t.Errorf("sector 1 (-want +got):\n%s", diff)
	}
	if c.messages != 2 || c.reward.Int64() != 11 || c.paid.Cmp(fee) != 0 {
		t.Errorf("%d messages, reward %s, %s paid", c.messages, c.reward, c.paid)
	}
	if got := numbered("day", c.of(1).proven); got != "days 2 and 4" {
		t.Errorf("proven on %s", got)
	}
	for want, of := range map[string][]uint64{"none": nil, "day 3": {3}, "days 1, 2 and 9": {1, 2, 9}} {
		if got := numbered("day", of); got != want {
			t.Errorf("%d are %q, want %q", of, got, want)
		}
	}
}

// complete is a summary in which nothing is missing.
func complete() SectorSummary {
	sum := SectorSummary{Damage: Damage{Sector: 1, FoundOn: 4}, Kills: []Kill{{}, {In: []string{"Commit of sector 2"}}}}
	for role := range manySectors {
		r := SectorResult{
			Sector: uint64(role + 1), Role: roles[role], State: "Proving", DaysProven: []uint64{2, 3, 4},
			Messages: map[string]int{"precommit": 1, "commit": 1},
		}
		switch role {
		case damaged, faulty:
			r.DeclaredFrom, r.RecoveredOn, r.DaysMissed = []uint64{3}, []uint64{4}, 1
		case terminated:
			r.State, r.Over, r.DaysProven, r.Messages["termination"] = "Removed", true, nil, 1
		}
		sum.Sectors = append(sum.Sectors, r)
	}
	return sum
}

func TestWhateverDoesNotHappenIsNamed(t *testing.T) {
	s := &sectorDemo{options: SectorOptions{Days: 3}, sealing: sealing{engine: &engine{Options: Options{Crash: true}}}}
	s.damage = complete().Damage
	if got := s.missing(complete()); got != "" {
		t.Fatalf("nothing is missing, and it says: %s", got)
	}
	for want, spoil := range map[string]func(*SectorSummary){
		"one precommit":   func(sum *SectorSummary) { sum.Sectors[faulty].Messages["precommit"] = 2 },
		"proof of its":    func(sum *SectorSummary) { sum.Sectors[faulty].Messages["commit"] = 0 },
		"not proving":     func(sum *SectorSummary) { sum.Sectors[sound].State = "FaultedFinal" },
		"enough days":     func(sum *SectorSummary) { sum.Sectors[sound].DaysProven = []uint64{2, 3} },
		"missed a proof":  func(sum *SectorSummary) { sum.Sectors[sound].DaysMissed = 1 },
		"is not over":     func(sum *SectorSummary) { sum.Sectors[terminated].Over = false },
		"not terminated":  func(sum *SectorSummary) { sum.Sectors[terminated].Messages["termination"] = 0 },
		"not declared":    func(sum *SectorSummary) { sum.Sectors[faulty].DeclaredFrom = nil },
		"not recover":     func(sum *SectorSummary) { sum.Sectors[damaged].RecoveredOn = nil },
		"found its":       func(sum *SectorSummary) { sum.Damage.FoundOn = 0 },
		"not killed in a": func(sum *SectorSummary) { sum.Kills = sum.Kills[:1] },
	} {
		sum := complete()
		spoil(&sum)
		s.damage = sum.Damage
		if got := s.missing(sum); !strings.Contains(got, want) {
			t.Errorf("it says %q, want %q in it", got, want)
		}
	}
}

// What is said of sectors is said of events and states that there are.
func TestSectorsAreToldInTheirOwnTerms(t *testing.T) {
	for event := range sectorNews {
		name := protoreflect.FullName("hostnode.v1." + event)
		if _, err := protoregistry.GlobalTypes.FindMessageByName(name); err != nil {
			t.Errorf("%s: %v", event, err)
		}
	}
	known := map[string]bool{}
	for _, state := range sector.States() {
		known[string(state)] = true
	}
	for state := range sectorScale.states {
		if !known[state] {
			t.Errorf("there is no state %s", state)
		}
	}
	begun, done := sectorScale.reached(item{"Proving", 0}), sectorScale.reached(item{"Proving", 5})
	if begun != 0.5 || done != 1 {
		t.Errorf("a sector that proves is %g and %g far", begun, done)
	}
}

func TestTheHostIsKilledTwiceInSteps(t *testing.T) {
	s := &sectorDemo{sealing: sealing{engine: &engine{Options: Options{Crash: true}}}}
	at := SectorLine{Sector: 4, Event: scheduled, Step: "PreCommit1"}
	if s.killsAt(at) {
		t.Error("it is killed before all sectors have begun")
	}
	s.sectors = []uint64{1, 2, 3, 4}
	for _, no := range []SectorLine{
		{Sector: 4, Event: "SectorPreCommit1", State: "PreCommit2"},
		{Sector: 3, Event: scheduled, Step: "PreCommit1"},
		{Sector: 4, Event: scheduled, Step: "Pack"},
		{Sector: 4, Event: scheduled, Step: "SendCommit"},
	} {
		if s.killsAt(no) {
			t.Errorf("it is killed at %+v", no)
		}
	}
	if !s.killsAt(at) {
		t.Error("it is not killed in the step of sealing")
	}
	s.kills = make([]kill, 1)
	message := SectorLine{Sector: 2, Event: scheduled, Step: "SendCommit"}
	if s.killsAt(at) || !s.killsAt(message) {
		t.Error("it is not killed when a message goes out, and only then")
	}
	s.kills = make([]kill, 2)
	if s.killsAt(at) {
		t.Error("it is killed a third time")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
