package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	"github.com/hostnode/hostnode/events"
)

// Handler answers the questions of members. Its context ends when nobody waits for the answer any more, and with Close.
type Handler = func(ctx context.Context, from events.Member, question []byte) ([]byte, error)

// ErrTooLarge: a question or an answer has more than Largest bytes.
var ErrTooLarge = fmt.Errorf("more than %d bytes", Largest)

// reply is what came of a question.
type reply struct {
	answer []byte
	fault  *status.Status // what the handler's error says, or why nobody was asked
	away   error          // there was no answer
}

// Serve implements port.Cluster.
func (c *Cluster) Serve(answer Handler) { c.handler.Store(&answer) }

// Call implements port.Cluster. A call without a deadline waits for a minute. ErrTooLarge: the
// question is; nobody was asked.
func (c *Cluster) Call(ctx context.Context, to events.Member, question []byte) ([]byte, error) {
	if len(question) > Largest {
		return nil, fmt.Errorf("ask %s: a question of %d bytes: %w", to, len(question), ErrTooLarge)
	}
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	var r reply
	if to == c.cfg.Member {
		r = c.askSelf(ctx, question)
	} else if _, seen := c.peer(to); !seen {
		r = reply{away: errors.New("it is not seen")}
	} else {
		r = c.wire.ask(ctx, to, question)
	}
	switch {
	case r.away != nil:
		return nil, fmt.Errorf("ask %s: %w: %w", to, events.ErrMemberAway, c.wire.whyAway(to, r.away))
	case r.fault == nil:
		return r.answer, nil
	case codes.Code(r.fault.Code) == codes.Unavailable:
		return nil, fmt.Errorf("ask %s: %w: %s", to, events.ErrMemberAway, r.fault.Message)
	}
	return nil, &events.MemberError{Member: to, Text: r.fault.Message}
}

// askSelf asks this member's own handler, which does not know of the caller's context but the
// deadline, like one that is far away.
func (c *Cluster) askSelf(ctx context.Context, question []byte) reply {
	deadline, _ := ctx.Deadline()
	done := make(chan reply, 1)
	if !c.wire.serve(func() {
		done <- c.answer(time.Until(deadline), c.cfg.Member, slices.Clone(question))
	}) {
		return reply{fault: busy}
	}
	select {
	case r := <-done:
		if !time.Now().Before(deadline) { // The caller has given up, as a remote one would.
			return reply{away: context.DeadlineExceeded}
		}
		return r
	case <-ctx.Done():
		return reply{away: ctx.Err()}
	}
}

// Why there is no answer, for who asked.
var (
	notServing = &status.Status{Code: int32(codes.Unavailable), Message: "it does not answer questions yet"}
	busy       = &status.Status{Code: int32(codes.Unavailable), Message: "it has too many questions to answer"}
	otherHost  = &status.Status{Code: int32(codes.Unavailable), Message: "it is of another host, or has other facts"}
)

// answer works at a question.
func (c *Cluster) answer(within time.Duration, from events.Member, question []byte) (r reply) {
	h := c.handler.Load()
	if h == nil {
		return reply{fault: notServing}
	}
	ctx, cancel := context.WithTimeout(c.ctx, min(within, mostWait))
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			c.log.WithField("member", from).Errorf("answering a question panicked: %v", v)
			r = failed(fmt.Sprintf("the answer panicked: %v", v))
		}
	}()
	answer, err := (*h)(ctx, from, question)
	if err == nil && len(answer) > Largest {
		err = fmt.Errorf("an answer of %d bytes: %w", len(answer), ErrTooLarge)
	}
	if err != nil {
		return failed(err.Error())
	}
	return reply{answer: answer}
}

// mostText is how many bytes of an error's text are told.
const mostText = 16 << 10

func failed(text string) reply {
	if len(text) > mostText {
		text = text[:mostText] + "…"
	}
	return reply{fault: &status.Status{Code: int32(codes.Unknown), Message: strings.ToValidUTF8(text, "?")}}
}
