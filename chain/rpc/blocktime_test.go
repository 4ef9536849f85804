package rpc

import (
	"testing"
	"time"
)

func TestNewBlocksAreLookedForAsOftenAsBlocksCome(t *testing.T) {
	for name, tc := range map[string]struct {
		blocks, set, want time.Duration
	}{
		"not known yet":       {0, 0, time.Second},
		"on Ethereum":         {12 * time.Second, 0, 2 * time.Second},
		"every three seconds": {3 * time.Second, 0, 500 * time.Millisecond},
		"a block a second":    {time.Second, 0, 250 * time.Millisecond},
		"many a second":       {50 * time.Millisecond, 0, 250 * time.Millisecond},
		"one an hour":         {time.Hour, 0, 2 * time.Second},
		"as it is set":        {time.Hour, 9 * time.Second, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := BlockTime{set: tc.blocks, pollEvery: tc.set}
			if got := b.Poll(); got != tc.want {
				t.Fatalf("every %s, want every %s", got, tc.want)
			}
		})
	}
}
