package signer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/signer"
	"github.com/hostnode/hostnode/chain/signer/signertest"
)

// until waits for a trouble of the signer, or for its end, without that anything is to be signed.
func until(t *testing.T, s *signer.Signer, words string) {
	t.Helper()
	tick, end := time.NewTicker(time.Millisecond), time.After(patience)
	defer tick.Stop()
	for {
		if trouble, is := s.Trouble(); is && strings.Contains(trouble.Reason, words) {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never: %s", words)
		}
	}
}

func TestThatTheSignerIsAwayIsKnownBeforeAnythingIsToBeSigned(t *testing.T) {
	f := newFake(t)
	f.Away(true)
	until(t, open(t, f.URL, f.Address()), "does not answer")
}

func TestASignerThatDoesNotShowTheAccountIsTold(t *testing.T) {
	f := newFake(t)
	f.Set(signertest.Rules{List: []common.Address{{19: 7}}})
	until(t, open(t, f.URL, f.Address()), "does not show the account "+strings.ToLower(f.Address().Hex()))
}
