package devchain

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/log"
)

func TestWhatEndsTheProcessIsSaidAndNothingElse(t *testing.T) {
	var said bytes.Buffer
	l := log.NewLogger(fatalLog{&said})
	l.Error("Something that passes")
	if said.Len() > 0 {
		t.Fatalf("it said %q", said.String())
	}
	l.Write(log.LevelCrit, "Failed to write block into disk", "err", errors.New("no space left on device"))
	for _, want := range []string{"Failed to write block into disk err=no space left on device", "start again"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it said %q, and not %q", said.String(), want)
		}
	}
}
