package slotqueue

import (
	"fmt"
	"strings"
	"testing"
)

// refusedFor offers a slot of a request that fails a criterion.
func refusedFor(id byte, criterion string) Queue {
	c := queue(id, 5, 0)
	c.Refusal = &Refusal{criterion, "numbers"}
	return c
}

// mayReturn lists the slots that may come back, the oldest refusal first.
func mayReturn(s State, most int) string {
	var out []string
	for _, r := range s.MayReturn(most) {
		out = append(out, fmt.Sprintf("%02x/%v", r.RequestID[0], r.SlotIndices))
	}
	return strings.Join(out, " ")
}

func TestWhatAFullQueueLetGoMayReturnWhenAQuarterIsFree(t *testing.T) {
	// There is room for eight: request 1 makes way for 2, nothing of 3 enters, and 4 fails the
	// price.
	full := []Command{
		queue(1, 5, 0, 1), queue(9, 20, 0, 1, 2, 3, 4, 5), queue(2, 6, 0, 1), queue(3, 1, 7), refusedFor(4, "price"),
	}
	tests := []struct {
		name string
		then []Command
		most int
		want string
	}{
		{"a full queue", nil, 10, ""},
		{"too little room", []Command{remove(9, 0)}, 10, ""},
		{"room for two", []Command{remove(9, 0, 1)}, 10, "01/[0 1] 03/[7]"},
		{"no more requests than are asked for: the newest", []Command{remove(9)}, 1, "03/[7]"},
		{"room is made by taking", []Command{Take{start, 2}, Take{start, 2}}, 10, "01/[0 1] 03/[7]"},
		{"one that came back", []Command{remove(9), queue(1, 5, 0, 1)}, 10, "03/[7]"},
		{"one that fails something else now", []Command{remove(9), refusedFor(3, "price")}, 10, "01/[0 1]"},
		{"one that left the market", []Command{remove(9), remove(1)}, 10, "03/[7]"},
		{
			"others that are refused push nothing out",
			[]Command{remove(9), refusedFor(5, "size"), refusedFor(6, "size"), refusedFor(7, "size")},
			10, "01/[0 1] 03/[7]",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := Limits{MaxItems: 8, MaxRefused: 3}
			s := given(t, l, append(full[:len(full):len(full)], test.then...)...)
			if got := mayReturn(s, test.most); got != test.want {
				t.Fatalf("%s may return, want %s", got, test.want)
			}
			if got := mayReturn(restored(t, s, l), test.most); got != test.want {
				t.Fatalf("after a restart %s may return, want %s", got, test.want)
			}
		})
	}
}

func TestNoMoreMayReturnThanThereIsRoomFor(t *testing.T) {
	s := given(t, Limits{MaxItems: 4},
		queue(9, 20, 0, 1, 2, 3), queue(1, 1, 0, 1), queue(2, 1, 0, 1), queue(3, 1, 0, 1), remove(9, 0, 1, 2))
	if got, want := mayReturn(s, 10), "02/[0 1] 03/[0 1]"; got != want {
		t.Fatalf("%s may return, want %s", got, want)
	}
}

func TestOfTooManyThatWereLetGoTheOldestAreForgotten(t *testing.T) {
	s := given(t, Limits{MaxItems: 1, MaxRefused: 2}, queue(9, 20, 0), queue(1, 1, 0), queue(2, 1, 0), queue(3, 1, 0))
	if got := s.Waiting()[QueueFull]; got != 2 {
		t.Fatalf("%d are remembered", got)
	}
}
