package duty_test

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

func TestTheShortestTimeBetweenBlocks(t *testing.T) {
	const usual = 12 * time.Second
	tests := []struct {
		name  string
		times []uint64 // of blocks without a gap; unix seconds
		usual time.Duration
		want  time.Duration
	}{
		{"nothing was seen", nil, usual, time.Second},
		{"nothing was seen of a fast chain", nil, 200 * time.Millisecond, 200 * time.Millisecond},
		{"nothing is known of the chain", nil, 0, time.Millisecond},
		{"one block", []uint64{100}, usual, time.Second},
		{"as usual", []uint64{100, 112, 124}, usual, usual},
		{"slower than usual", []uint64{100, 130, 160}, usual, usual},
		{"one came soon", []uint64{100, 112, 115, 127}, usual, 3 * time.Second},
		{"two in a second: half of what they take on average", []uint64{100, 101, 101, 102, 102}, usual, 250 * time.Millisecond},
		{"all in a second", []uint64{100, 100, 100}, usual, time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var lately []events.Head
			for i, at := range test.times {
				lately = append(lately, events.Head{Number: uint64(i) + 7, Time: events.Unix(at)})
			}
			if got := duty.Shortest(lately, test.usual); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
