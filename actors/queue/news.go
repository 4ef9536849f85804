package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// This file holds the market's events until the queue has judged them, in the order of the
// market's stream.
//
// Only a bounded number of events is in memory. Those that find no room are read from the
// market's stream later, when the ones in memory are judged; and so are, after a start, those
// that the last process did not get to. So nothing is lost.

const (
	// maxNews is how many events wait in memory: some 20 MB of requests.
	maxNews = 10_000
	// maxVerdicts is how many commands may wait to be recorded before judging pauses: far fewer
	// than the journal's own limit (maxWaiting).
	maxVerdicts = 1_000
)

// newsList holds the market's events that the queue has not judged.
type newsList struct {
	most    int
	waiting []MarketNews // in the order of the market's stream
	last    uint64       // revision of the newest event that is or was here
	// behind: the stream holds more events than are here, at least up to left.
	behind  bool
	left    uint64
	reading bool // the stream is being read on
	again   bool // what is being read is no longer wanted
}

// newNewsList returns a list that is behind: the stream is still to be read.
func newNewsList(most int) newsList { return newsList{most: most, behind: true} }

// add takes an event, or notes that it is left in the stream.
func (l *newsList) add(n MarketNews) {
	switch {
	case n.Revision <= l.last: // Known already.
	case l.behind || len(l.waiting) >= l.most:
		l.behind, l.left = true, max(l.left, n.Revision)
	default:
		l.last = n.Revision
		if concernsQueue(n.Event) {
			l.waiting = append(l.waiting, n)
		}
	}
}

// first is the oldest event that the queue has not consumed.
func (l *newsList) first(consumed uint64) (MarketNews, bool) {
	for len(l.waiting) > 0 && l.waiting[0].Revision <= consumed {
		l.drop()
	}
	if len(l.waiting) == 0 {
		return MarketNews{}, false
	}
	return l.waiting[0], true
}

func (l *newsList) drop() {
	l.waiting[0] = MarketNews{}
	if l.waiting = l.waiting[1:]; len(l.waiting) == 0 {
		l.waiting = nil // Frees the memory.
	}
}

// startOver forgets all events; the stream is read again.
func (l *newsList) startOver() {
	*l = newsList{most: l.most, behind: true, left: max(l.left, l.last), reading: l.reading, again: l.reading}
}

// errLagging: the answer does not show yet what is known to have happened.
var errLagging = errors.New("the answer lags behind")

// newsRead is a part of the market's stream.
type newsRead struct {
	news []MarketNews
	last uint64 // the newest revision that was read
	end  bool   // the stream ends there
	err  error
}

// take adds what was read.
func (l *newsList) take(m newsRead) {
	l.reading = false
	if l.again { // It was begun before startOver.
		l.again = false
		return
	}
	l.waiting = append(l.waiting, m.news...)
	l.last = max(l.last, m.last)
	l.behind = !m.end || l.left > l.last
}

// concernsQueue reports whether an event means anything to the queue.
func concernsQueue(e messages.MarketEvent) bool {
	switch e.(type) {
	case *messages.ChainProofSubmitted, *messages.BlocksScanned, *messages.ChainReorganized:
		return false
	}
	return true
}

// readOn reads the next part of the market's stream when nothing is left to judge.
func (q *Queue) readOn(a *shell.Turn) {
	if !q.news.behind || q.news.reading {
		return
	}
	q.news.reading = true
	q.news.last = max(q.news.last, q.journal.Durable.LastMarketRevision())
	after, left, most := q.news.last, q.news.left, q.news.most
	a.Do(func(ctx context.Context) {
		var m newsRead
		m.err = q.Retry(ctx, "news", func(err error) { q.Log.Warnf("read the market stream: %v", err) },
			func(err error) bool {
				return errors.Is(err, events.ErrUnknownEvent) || errors.Is(err, events.ErrMalformed)
			},
			func(ctx context.Context) (err error) {
				m, err = q.readNews(ctx, after, most)
				if err == nil && m.last == after && after < left {
					return fmt.Errorf("%w: it ends at %d, and %d was stored", errLagging, after, left)
				}
				return err
			})
		if ctx.Err() == nil {
			q.self.Tell(m)
		}
	})
}

// readNews reads up to most events after a revision that concern the queue.
func (q *Queue) readNews(ctx context.Context, after uint64, most int) (newsRead, error) {
	m := newsRead{last: after}
	stream := events.MarketStream(q.ChainID, q.Contract)
	for r, err := range q.Store.ReadStream(ctx, stream, events.ReadStream{From: after}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return m, err
		}
		if len(m.news) >= most {
			return m, nil
		}
		e, err := shell.DecodeAs[messages.MarketEvent](q.Codec, r)
		if err != nil {
			return m, err
		}
		m.last = r.Revision + 1
		if concernsQueue(e) {
			m.news = append(m.news, MarketNews{m.last, r.ID, e})
		}
	}
	m.end = true
	return m, nil
}

func (q *Queue) onNewsRead(a *shell.Turn, m newsRead) {
	if m.err != nil {
		q.Broken(fmt.Errorf("the market's record: %w", m.err))
		return
	}
	q.news.take(m)
	q.judgeNext(a)
}

// judgeNext judges the oldest event; one at a time, so that they reach the queue in the
// market's order.
func (q *Queue) judgeNext(a *shell.Turn) {
	if q.judging || !q.journal.Loaded || len(q.journal.Waiting) >= maxVerdicts {
		return
	}
	n, ok := q.news.first(q.journal.Durable.LastMarketRevision())
	if !ok {
		q.readOn(a)
		return
	}
	q.judging = true
	a.Do(func(ctx context.Context) {
		if q.StoreWatch.Wait(ctx, "judge") != nil { // Nothing is decided in an outage.
			return
		}
		commands, err := q.judgeUnlessQuarantined(ctx, n)
		if err == nil {
			q.self.Tell(judged{n.Revision, commands})
		}
	})
}

// judgeUnlessQuarantined skips an event that is quarantined, once the quarantine is recorded:
// nothing else says later that the event was not judged.
func (q *Queue) judgeUnlessQuarantined(
	ctx context.Context, n MarketNews,
) (commands []slotqueue.Command, err error) {
	about := aboutMarket(n.Revision)
	if skip, err := q.Quarantined.Recorded(ctx, about); skip || err != nil {
		return nil, err
	}
	shell.During(about, func() {
		commands, err = q.judge(ctx, n)
		if p, ok := errors.AsType[*shell.Panicked](err); ok {
			panic(p) // A call panicked, and would panic again.
		}
	})
	return commands, err
}

// aboutMarket is the subject under which an event of the market is quarantined.
func aboutMarket(revision uint64) shell.Subject {
	return shell.Subject{Kind: shell.SubjectMarket, Key: strconv.FormatUint(revision, 10)}
}

// marketCause is the cause of the queue's decisions about an event of the market; aboutCause is
// its inverse.
func marketCause(revision uint64) string { return fmt.Sprintf("market@%d", revision) }

func aboutCause(cause string) shell.Subject {
	if key, ok := strings.CutPrefix(strings.TrimPrefix(cause, lookedAgain), "market@"); ok {
		return shell.Subject{Kind: shell.SubjectMarket, Key: key}
	}
	return shell.Subject{}
}

// lookedAgain is the prefix of causes of what is decided long after the market's event.
const lookedAgain = "look back: "

// judgeQuarantined judges an event that an operator wants tried again. The queue has consumed
// later events already, so the commands do not name the event's revision.
func (q *Queue) judgeQuarantined(a *shell.Turn, revision uint64) {
	a.Do(func(ctx context.Context) {
		var news newsRead
		err := q.Retry(ctx, "quarantined", func(err error) { q.Log.Warnf("read the market stream: %v", err) },
			shell.NeverPasses,
			func(ctx context.Context) (err error) {
				news, err = q.readNews(ctx, revision-1, 1)
				return err
			})
		if err != nil || len(news.news) == 0 || news.news[0].Revision != revision {
			q.Log.WithField("market", revision).Warnf(
				"the event of the market was not found, so it was not judged (%v)", err)
			return
		}
		commands, err := q.judgeUnlessQuarantined(ctx, news.news[0])
		if err != nil {
			return
		}
		for _, cmd := range commands {
			q.self.Tell(judgedLater{
				unnumbered(cmd), lookedAgain + marketCause(revision), news.news[0].ID,
				func(shell.Result[slotqueue.State, slotqueue.Event]) {},
			})
		}
	})
}

func unnumbered(cmd slotqueue.Command) slotqueue.Command {
	switch cmd := cmd.(type) {
	case slotqueue.Queue:
		cmd.MarketRevision = 0
		return cmd
	case slotqueue.Remove:
		cmd.MarketRevision = 0
		return cmd
	case slotqueue.Take, slotqueue.HandOut, slotqueue.Release, slotqueue.Wake, slotqueue.Avoid, slotqueue.Pause,
		slotqueue.Resume:
		return cmd
	}
	panic(fmt.Sprintf("the queue's actor does not know %T", cmd))
}

func (q *Queue) onJudged(a *shell.Turn, m judged) {
	q.judging = false
	n, ok := q.news.first(0)
	if !ok || n.Revision != m.revision {
		q.judgeNext(a)
		return
	}
	q.news.drop()
	for _, cmd := range m.commands {
		q.journal.SubmitBy(a, cmd, marketCause(m.revision), n.ID,
			func(r shell.Result[slotqueue.State, slotqueue.Event]) { q.onVerdict(a, m.revision, r.Err) })
	}
	q.judgeNext(a)
}

// onVerdict: the verdict on an event of the market is recorded, or was refused.
func (q *Queue) onVerdict(a *shell.Turn, revision uint64, err error) {
	switch {
	case err == nil:
	case undecided(err):
		q.news.startOver() // Nothing was decided; what is recorded already will be skipped.
	default:
		q.Log.WithField("market", revision).Warnf("the queue did not take an event of the market: %v", err)
	}
	q.judgeNext(a)
}
