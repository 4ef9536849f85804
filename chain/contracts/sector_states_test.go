package contracts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
)

// stagesOf brings sector 1 of alice into each situation that calls distinguish.
func stagesOf() map[string]func(y *yard) *testSector {
	precommitted := func(blocks uint64) func(y *yard) *testSector {
		return func(y *yard) *testSector {
			s := y.preCommitted(alice, 1)
			y.block += blocks
			return s
		}
	}
	active := func(then func(y *yard, s *testSector)) func(y *yard) *testSector {
		return func(y *yard) *testSector {
			s := y.active(alice, 1)
			then(y, s)
			return s
		}
	}
	ended := func(y *yard, s *testSector) { // All windows proven.
		for s.opens(y.block/periodBlocks+1) < s.said.Expiration {
			y.toWindow(s)
			y.proves(s)
		}
		y.block = s.said.Expiration
	}
	return map[string]func(y *yard) *testSector{
		"unknown":       func(y *yard) *testSector { return y.announces(alice, 1) },
		"precommitted":  precommitted(seedDelay),
		"seed known":    precommitted(seedDelay + 1),
		"void":          precommitted(seedDelay + contracts.BlockHashReach + 1),
		"active":        active(func(*yard, *testSector) {}),
		"in window":     active(func(y *yard, s *testSector) { y.toWindow(s) }),
		"proven":        active(func(y *yard, s *testSector) { y.toWindow(s); y.proves(s) }),
		"missed":        active(func(y *yard, s *testSector) { y.missWindow(s) }),
		"missed, again": active(func(y *yard, s *testSector) { y.missWindow(s); y.toWindow(s) }),
		"recovering": active(func(y *yard, s *testSector) {
			y.declareFault(s)
			y.declareRecovery(s)
			y.toWindow(s)
		}),
		"faulty":       active(func(y *yard, s *testSector) { y.declareFault(s) }),
		"given up":     active(func(y *yard, _ *testSector) { y.does(alice, sectorABI.PackTerminate(1)) }),
		"faulty, over": active(func(y *yard, _ *testSector) { y.block += 20 * periodBlocks }),
		"ended":        active(ended),
		"expired": active(func(y *yard, s *testSector) {
			ended(y, s)
			y.does(alice, sectorABI.PackExpire(1))
		}),
	}
}

// Every call in every situation. A line has the status, and then which calls are accepted and with
// what error the others are refused.
func TestEveryCallInEverySituation(t *testing.T) {
	want := map[string]string{
		"unknown": "none: preCommit; NotLive: declareFaults declareRecoveries expire terminate; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; WindowNotOpen: provePossession",
		"precommitted": "precommitted: ; NotLive: declareFaults declareRecoveries expire terminate; NotMissed: markMissed; " +
			"NotVoid: expirePreCommit; NumberUsed: preCommit; SeedTooEarly: commit pinSeed; WindowNotOpen: provePossession",
		"seed known": "precommitted: commit pinSeed; NotLive: declareFaults declareRecoveries expire terminate; NotMissed: markMissed; " +
			"NotVoid: expirePreCommit; NumberUsed: preCommit; WindowNotOpen: provePossession",
		"void": "void: expirePreCommit; NotLive: declareFaults declareRecoveries expire terminate; NotMissed: markMissed; " +
			"NumberUsed: preCommit; Void: commit pinSeed; WindowNotOpen: provePossession",
		"active": "active: declareFaults terminate; NotEnded: expire; NotFaulty: declareRecoveries; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit; WindowNotOpen: provePossession",
		"in window": "active: declareFaults provePossession terminate; NotEnded: expire; NotFaulty: declareRecoveries; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit",
		"proven": "active: declareFaults terminate; AlreadyProven: provePossession; NotEnded: expire; NotFaulty: declareRecoveries; " +
			"NotMissed: markMissed; NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit",
		"missed": "faulty: declareFaults declareRecoveries markMissed terminate; NotEnded: expire; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit; WindowNotOpen: provePossession",
		"missed, again": "faulty: declareFaults declareRecoveries terminate; NotDue: provePossession; NotEnded: expire; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit",
		"recovering": "faulty: declareFaults declareRecoveries provePossession terminate; NotEnded: expire; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit",
		"faulty": "faulty: declareFaults declareRecoveries terminate; NotEnded: expire; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit; WindowNotOpen: provePossession",
		"given up": "terminated: ; NotLive: declareFaults declareRecoveries expire terminate; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit; WindowNotOpen: provePossession",
		"faulty, over": "terminated: expire terminate; NotLive: declareFaults declareRecoveries; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit; WindowNotOpen: provePossession",
		"ended": "ended: expire; NotLive: declareFaults declareRecoveries terminate; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit; WindowNotOpen: provePossession",
		"expired": "expired: ; NotLive: declareFaults declareRecoveries expire terminate; NotMissed: markMissed; " +
			"NotPreCommitted: commit expirePreCommit pinSeed; NumberUsed: preCommit; WindowNotOpen: provePossession",
	}
	got := map[string]string{}
	for stage, reach := range stagesOf() {
		y := newYard(t)
		s := reach(y)
		calls := y.eachCall(s)
		answers := map[string][]byte{}
		byError := map[string][]string{}
		for _, kind := range kinds(calls) {
			// In a trial the deposit is there, but not the changes of earlier calls.
			name := strings.TrimPrefix(y.trial(alice, calls[kind]), "Sectors_")
			byError[name] = append(byError[name], kind)
			answers[name] = nil
		}
		line := []string{y.status(s).String() + ": " + strings.Join(byError[""], " ")}
		delete(answers, "")
		for _, name := range kinds(answers) {
			line = append(line, name+": "+strings.Join(byError[name], " "))
		}
		got[stage] = strings.Join(line, "; ")
		y.checkBooks(s)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("answers differ (-want +got):\n%s", diff)
	}
}

// No call of another account changes a provider's sectors, except pinning, marking, and removing what
// is void.
func TestStrangersCanDoNothingToASector(t *testing.T) {
	for stage, reach := range stagesOf() {
		y := newYard(t)
		s := reach(y)
		for kind, data := range y.eachCall(s) {
			if kind == "preCommit" { // One of the stranger's own, with another's CommR.
				if got := y.trial(bob, data); got != "Sectors_WrongCommR" {
					t.Fatalf("%s: a stranger's precommit: %q", stage, got)
				}
				continue
			}
			open := kind == "pinSeed" || kind == "markMissed" || kind == "expirePreCommit"
			if got, own := y.trial(bob, data), y.trial(alice, data); open && got != own || !open && got == "" {
				t.Fatalf("%s: %s by a stranger: %q, by the provider %q", stage, kind, got, own)
			}
		}
	}
}
