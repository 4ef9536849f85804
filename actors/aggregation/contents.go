package aggregation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/prover/commd"
)

// Errors of requests.
var (
	// ErrBusy: too many CARs are under way.
	ErrBusy = errors.New("too many CARs are under way")
	// ErrQuota: the group has too much under way and in the queue.
	ErrQuota = errors.New("the group has too much under way")
)

// car is a CAR that is under way: until its piece is in the ledger, or it is refused.
type car struct {
	*shell.Journal[content.State, content.Command, content.Event]
	tries  int
	since  time.Time // since when its sources are away; zero: they are not
	queued bool      // it is to be read, or is
	asking int       // commands that are not answered
	group  string    // counts bytes of which are under way
	counts uint64
}

type examined struct {
	link  events.ContentLink
	found events.ContentFound
	kept  bool
}

func compareLinks(a, b events.ContentLink) int { return slices.Compare(a[:], b[:]) }

// over reports whether nothing is to be done about a CAR.
func (r *Room) over(s content.State) bool {
	switch s.Status {
	case content.Accepted:
		_, _, known := r.piece(s.Piece.CID)
		replaced, _, waits := r.piece(s.Replaced)
		return known && (!waits || replaced.Status != cargo.Queued)
	case content.Refused: // If it is in an aggregate, that may be rejected.
		p, _, known := r.piece(s.Piece.CID)
		return !known || p.Status >= cargo.Approved
	case content.None, content.Requested:
	}
	return false
}

// piece is a piece with its priority.
func (r *Room) piece(cid string) (p cargo.Piece, priority uint64, known bool) {
	if root, err := commd.ParseCID(cid); err == nil {
		priority, known = r.cargo.Ahead.Find(root)
	}
	p, _ = r.cargo.Ahead.Piece(priority)
	return p, priority, known
}

// car is the CAR with that link. If it is not under way its journal begins, with what was read of its stream.
func (r *Room) car(a *shell.Turn, link events.ContentLink, has shell.Fold[content.State]) *car {
	if c := r.contents[link]; c != nil {
		return c
	}
	core := coreOf(content.Decide, content.Evolve, has)
	c := &car{Journal: journalOf(r, events.ContentStream(r.Me, link), core)}
	c.OnDurable = func(a *shell.Turn, fresh []content.Event) {
		r.logContent(link, fresh)
		r.onContent(a, link, c)
	}
	r.contents[link] = c
	c.Load(a)
	return c
}

// onContent does what follows from what became of a CAR.
func (r *Room) onContent(a *shell.Turn, link events.ContentLink, c *car) {
	s := c.Durable
	switch s.Status {
	case content.Requested:
		r.count(c, s.Group, s.Size)
		if !c.queued {
			c.queued = true
			r.pending = append(r.pending, link)
		}
	case content.Accepted:
		r.rest(c) // Its piece counts, once it is queued.
		r.queue(a, link, c)
	case content.Refused:
		r.rest(c)
		r.leave(a, s.Piece.CID, "its content was refused when it was read again: "+s.Code)
	case content.None:
	}
	r.forget(link, c)
}

// rest notes that a CAR is not to be read.
func (r *Room) rest(c *car) {
	r.count(c, "", 0)
	c.queued, c.tries, c.since = false, 0, time.Time{}
}

// queue has the piece of a CAR wait for an aggregate, in the place of another one that it was taken for.
func (r *Room) queue(a *shell.Turn, link events.ContentLink, c *car) {
	s := c.Durable
	r.leave(a, s.Replaced, "its content makes the piece "+s.Piece.CID)
	root, err := commd.ParseCID(s.Piece.CID)
	if _, _, known := r.piece(s.Piece.CID); known || err != nil {
		return
	}
	c.asking++
	r.decide(a, cargo.Queue{
		At: r.Clock.Now(), Root: root, Size: s.Piece.Size, Payload: s.Size, Content: link, Group: s.Group, Kept: s.Kept,
	}, causeExamined, func(err error) {
		c.asking--
		if err != nil {
			r.again(a, link, c, err)
		}
		r.forget(link, c)
	})
}

// leave takes a piece out of the queue.
func (r *Room) leave(a *shell.Turn, cid, why string) {
	if p, priority, known := r.piece(cid); known && p.Status == cargo.Queued {
		r.decide(a, cargo.Refuse{At: r.Clock.Now(), Priority: priority, Reason: why}, causeExamined, nil)
	}
}

// forget drops a CAR of which nothing is to be done.
func (r *Room) forget(link events.ContentLink, c *car) {
	if !c.Loaded || c.asking > 0 || c.Durable.Status != content.None && !r.over(c.Durable) {
		return
	}
	r.count(c, "", 0)
	delete(r.contents, link)
}

// count has the bytes of a CAR count for a group, and no other.
func (r *Room) count(c *car, group string, bytes uint64) {
	if r.groups[c.group] -= c.counts; r.groups[c.group] == 0 {
		delete(r.groups, c.group)
	}
	if c.group, c.counts = group, bytes; bytes > 0 {
		r.groups[group] += bytes
	}
}

// submit has a command about a CAR decided.
func (r *Room) submit(
	a *shell.Turn, link events.ContentLink, cmd content.Command, cause string, then func(content.State, error),
) {
	c := r.car(a, link, shell.Fold[content.State]{})
	c.asking++
	c.Submit(a, cmd, cause, func(res shell.Result[content.State, content.Event]) {
		c.asking--
		then(res.State, res.Err)
		r.forget(link, c)
	})
}

// maxGroups is how many groups there may be. The ledger of pieces has room for several times as many.
const maxGroups = 10_000

// request takes a request. What is under way already is answered whatever else is.
func (r *Room) request(a *shell.Turn, m Request, answer shell.Answer) {
	m.Content.At = r.Clock.Now()
	if r.contents[m.Link] == nil {
		if len(r.contents) >= r.MaxOpen {
			answer(nil, fmt.Errorf("%w: %d; ask again later", ErrBusy, len(r.contents)))
			return
		}
		under, here := r.groups[m.Content.Group]
		in, packed := r.cargo.Ahead.Groups[m.Content.Group]
		if groups := len(r.groups) + len(r.cargo.Ahead.Groups); !here && !packed && groups >= maxGroups {
			answer(nil, fmt.Errorf("%w: %q would be one more of %d groups", ErrQuota, m.Content.Group, groups))
			return
		}
		has := under + in.Queued
		if r.Quota > 0 && has+m.Content.Size > r.Quota {
			answer(nil, fmt.Errorf("%w: %q has %d bytes there, of %d; ask again when some are approved", ErrQuota,
				m.Content.Group, has, r.Quota))
			return
		}
	}
	if c := r.car(a, m.Link, shell.Fold[content.State]{}); c.counts == 0 { // Also before it is recorded.
		r.count(c, m.Content.Group, m.Content.Size)
	}
	r.submit(a, m.Link, m.Content, causeRequest, func(s content.State, err error) { answer(Answer{Content: &s}, err) })
}

func (r *Room) retry(a *shell.Turn, m Retry, answer shell.Answer) {
	cmd := content.Retry{At: r.Clock.Now(), By: m.By, Reason: m.Reason}
	r.submit(a, m.Link, cmd, causeOperator, func(s content.State, err error) { answer(Answer{Content: &s}, err) })
}

// readNext has CARs read, as many at once as the settings say.
func (r *Room) readNext(a *shell.Turn) {
	for r.reading < r.Parallel && len(r.pending) > 0 {
		link := r.pending[0]
		r.pending = r.pending[1:]
		c := r.contents[link]
		if c == nil || c.Durable.Status != content.Requested {
			continue
		}
		s := c.Durable
		r.beginReading(a, link, func(ctx context.Context) (any, error) { return r.examine(ctx, link, s) })
	}
}

// beginReading begins a call about a CAR, of which so many run at once.
func (r *Room) beginReading(a *shell.Turn, link events.ContentLink, call func(context.Context) (any, error)) {
	if r.run(a, "content/"+link.String(), call) {
		r.reading++
	}
}

// examine reads a CAR from its sources, one after the other, until one has it. It is refused if none is away.
func (r *Room) examine(ctx context.Context, link events.ContentLink, s content.State) (any, error) {
	claim := events.ContentClaim{Link: link, Size: s.Size, Piece: s.Claim.CID, PieceSize: s.Claim.Size}
	out := examined{link: link}
	var refused, away error
	for _, source := range s.Sources {
		found, err := r.Contents.Examine(ctx, claim, source)
		if err == nil {
			out.found = found
			err = r.keep(ctx, &out, source)
		}
		switch refusal := (*events.ContentRefusal)(nil); {
		case err == nil:
			return out, nil
		case errors.As(err, &refusal):
			refused = err
		default:
			away = errors.Join(away, err)
		}
	}
	if away != nil {
		return out, away
	}
	return out, refused
}

// keep keeps a copy, if the settings say so. It is compared with the piece when it is written.
func (r *Room) keep(ctx context.Context, out *examined, source events.ContentSource) error {
	if !r.Keep || uint64(out.found.Piece.Size) > r.Size/2 {
		return nil
	}
	in, err := r.Contents.Open(ctx, source, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out.kept = true
	return r.Copies.Keep(ctx, out.found.Piece, in)
}

// codeTooLarge is the refusal of a piece that is larger than half of an aggregate.
const codeTooLarge = "too-large"

// onExamined records what a CAR was found to be.
func (r *Room) onExamined(a *shell.Turn, m examined, err error) {
	r.reading--
	c := r.contents[m.link]
	if c == nil {
		return
	}
	now := r.Clock.Now()
	var refusal *events.ContentRefusal
	if err == nil && uint64(m.found.Piece.Size) > r.Size/2 {
		refusal = &events.ContentRefusal{Code: codeTooLarge, Detail: fmt.Sprintf(
			"its piece has %d bytes, and the largest that is taken %d", m.found.Piece.Size, r.Size/2)}
	}
	switch {
	case errors.As(err, &refusal), refusal != nil:
		r.submit(a, m.link, content.Refuse{At: now, Code: refusal.Code, Detail: refusal.Detail}, causeExamined,
			r.settled(a, m.link))
	case err != nil:
		r.again(a, m.link, c, err)
	case m.kept && r.spare(m.found.Piece.CID):
		r.drop(a, m)
	default:
		r.well(aboutSources)
		r.submit(a, m.link, content.Accept{
			At: now, Piece: content.Piece{CID: m.found.Piece.CID, Size: uint64(m.found.Piece.Size)},
			Blocks: m.found.Blocks, RootAbsent: m.found.RootAbsent, Kept: m.kept,
		}, causeExamined, r.settled(a, m.link))
	}
}

// spare reports whether nothing would ever release a copy of a piece: it is approved or refused, or was queued without
// one. Another CAR makes it, too, or the same was read again.
func (r *Room) spare(cid string) bool {
	p, _, known := r.piece(cid)
	return known && (!p.Kept || p.Status >= cargo.Approved)
}

// drop has a copy removed, and then its CAR accepted without one.
func (r *Room) drop(a *shell.Turn, m examined) {
	m.kept = false
	r.beginReading(a, m.link, func(ctx context.Context) (any, error) {
		return m, r.Copies.Drop(ctx, m.found.Piece.CID)
	})
}

// settled has a CAR read again if what it was found to be could not be recorded.
func (r *Room) settled(a *shell.Turn, link events.ContentLink) func(content.State, error) {
	return func(_ content.State, err error) {
		if c := r.contents[link]; err != nil && c != nil {
			r.again(a, link, c, err)
		}
	}
}

// aboutSources is what a notice is about when CARs cannot be read. There is one until one is read again.
const aboutSources = "sources"

// again looks at a CAR again after a pause: it could not be read, or what it was found to be not be recorded.
func (r *Room) again(a *shell.Turn, link events.ContentLink, c *car, err error) {
	if c.tries++; c.since.IsZero() {
		c.since = r.Clock.Now()
	}
	r.Log.WithField("content", link.String()).Warnf("a CAR is not done with, will try again: %v", err)
	if r.Clock.Now().Sub(c.since) >= r.Silent {
		r.fails(aboutSources, "a CAR cannot be read since "+c.since.Format(time.RFC3339), err,
			"hostnode aggregation queue says which wait; they are read when their sources answer")
	}
	self := a.Self
	r.Clock.After(r.Backoff("content/"+link.String(), c.tries), func() { self.Tell(carDue{link}) })
}
