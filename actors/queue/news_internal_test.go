package queue

import (
	"testing"

	"github.com/hostnode/hostnode/messages"
)

func requested(revision uint64) MarketNews {
	return MarketNews{Revision: revision, Event: &messages.ChainStorageRequested{}}
}

// stream is what a market's stream of so many requests holds behind a revision.
func stream(after, until uint64, most int) newsRead {
	m := newsRead{last: after}
	for m.last < until && len(m.news) < most {
		m.last++
		m.news = append(m.news, requested(m.last))
	}
	m.end = m.last == until
	return m
}

func TestHoweverMuchIsAnnouncedAtOnceOnlyTheBoundIsHeld(t *testing.T) {
	const said = 100_000
	l := newNewsList(maxNews)
	l.take(newsRead{end: true})
	for n := uint64(1); n <= said; n++ {
		l.add(requested(n))
	}
	for n := uint64(1); n <= said; {
		if len(l.waiting) > maxNews || cap(l.waiting) > 2*maxNews {
			t.Fatalf("%d of %d are held", len(l.waiting), maxNews)
		}
		first, ok := l.first(0)
		if !ok {
			if !l.behind {
				t.Fatalf("%d are lost", said-n+1)
			}
			l.take(stream(l.last, said, l.most))
			continue
		}
		if first.Revision != n {
			t.Fatalf("event %d comes when it is the turn of %d", first.Revision, n)
		}
		l.drop()
		n++
	}
	if _, more := l.first(0); more || l.behind {
		t.Fatalf("more than was said: behind %t", l.behind)
	}
}

func TestNewsThatComeWhileTheStreamIsReadAreNotLost(t *testing.T) {
	tests := []struct {
		name string
		do   func(l *newsList)
		want []uint64
		more bool // is still in the stream
	}{
		{"known ones", func(l *newsList) { l.take(stream(0, 3, 10)); l.add(requested(2)) }, []uint64{1, 2, 3}, false},
		{"before the read has ended", func(l *newsList) { l.add(requested(4)); l.take(stream(0, 3, 10)) }, []uint64{1, 2, 3}, true},
		{"and it was read, too", func(l *newsList) { l.add(requested(3)); l.take(stream(0, 3, 10)) }, []uint64{1, 2, 3}, false},
		{"the read was not the whole", func(l *newsList) { l.take(stream(0, 3, 2)) }, []uint64{1, 2}, true},
		{
			"a read that began before it starts over", func(l *newsList) {
				l.reading = true
				l.startOver()
				l.take(stream(2, 3, 10))
			}, nil, true,
		},
		{
			"it starts over with news at hand", func(l *newsList) {
				l.take(stream(0, 3, 10))
				l.startOver()
				l.take(stream(1, 2, 10))
			}, []uint64{2}, true,
		},
		{
			"what means nothing to the queue", func(l *newsList) {
				l.take(newsRead{end: true})
				l.add(MarketNews{Revision: 1, Event: &messages.ChainProofSubmitted{}})
				l.add(requested(2))
			}, []uint64{2}, false,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newNewsList(10)
			test.do(&l)
			var got []uint64
			for _, n := range l.waiting {
				got = append(got, n.Revision)
			}
			if len(got) != len(test.want) || l.behind != test.more {
				t.Fatalf("waiting %v, behind %t", got, l.behind)
			}
			for i := range got {
				if got[i] != test.want[i] {
					t.Fatalf("waiting %v, want %v", got, test.want)
				}
			}
		})
	}
}
