package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/rpc"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/events"
)

// pipe is two files as one connection.
type pipe struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipe) Close() error { return errors.Join(p.ReadCloser.Close(), p.WriteCloser.Close()) }

func runChild(text string) {
	log := logrus.New()
	log.SetLevel(logrus.WarnLevel)
	var cfg cluster.Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		log.Fatal(err)
	}
	child := &Child{
		asks:      rpc.NewClient(pipe{os.NewFile(3, "in"), os.NewFile(4, "out")}),
		campaigns: map[int]campaign{}, held: map[int]context.Context{},
	}
	child.c, child.opened = cluster.Open(context.Background(), cfg, logrus.NewEntry(log).WithField("me", cfg.Member))
	s := rpc.NewServer()
	if err := s.Register(child); err != nil {
		log.Fatal(err)
	}
	s.ServeConn(pipe{os.Stdin, os.Stdout}) // Until the parent closes it.
}

// Child is a member in a process of its own, as its parent calls it.
type Child struct {
	c         *cluster.Cluster
	opened    error
	asks      *rpc.Client
	mu        sync.Mutex
	campaigns map[int]campaign
	held      map[int]context.Context
}

// Fault is an error between the processes.
type Fault struct {
	Text                    string
	Away, Deadline, Cancel  bool
	Refused, Config, Listen bool
	Member                  events.Member
	IsOfMember, IsThatLarge bool
}

func faultOf(err error) Fault {
	if err == nil {
		return Fault{}
	}
	f := Fault{
		Text: err.Error(), Away: errors.Is(err, events.ErrMemberAway), Cancel: errors.Is(err, context.Canceled),
		Deadline: errors.Is(err, context.DeadlineExceeded), IsThatLarge: errors.Is(err, cluster.ErrTooLarge),
		Refused: errors.Is(err, cluster.ErrRefused), Config: errors.Is(err, cluster.ErrConfig),
		Listen: errors.Is(err, cluster.ErrListen),
	}
	if m, ok := errors.AsType[*events.MemberError](err); ok {
		f.IsOfMember, f.Member, f.Text = true, m.Member, m.Text
	}
	return f
}

func (f Fault) err() error {
	if f == (Fault{}) {
		return nil
	}
	if f.IsOfMember {
		return &events.MemberError{Member: f.Member, Text: f.Text}
	}
	errs := []error{errors.New(f.Text)}
	for err, is := range map[error]bool{
		events.ErrMemberAway: f.Away, context.Canceled: f.Cancel,
		context.DeadlineExceeded: f.Deadline, cluster.ErrTooLarge: f.IsThatLarge,
		cluster.ErrRefused: f.Refused, cluster.ErrConfig: f.Config, cluster.ErrListen: f.Listen,
	} {
		if is {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Opened tells whether it could join.
func (c *Child) Opened(_ int, f *Fault) error {
	*f = faultOf(c.opened)
	return nil
}

// Failed waits until it must end.
func (c *Child) Failed(_ int, f *Fault) error {
	*f = faultOf(<-c.c.Failed())
	return nil
}

func (c *Child) Close(int, *int) error {
	c.c.Close()
	return nil
}

func (c *Child) Campaign(id int, f *Fault) error {
	ctx, cancel := c.campaign(id)
	defer cancel()
	held, err := c.c.Campaign(ctx)
	c.mu.Lock()
	c.held[id] = held
	c.mu.Unlock()
	*f = faultOf(err)
	return nil
}

// campaign is the context of a campaign. It may be given up before it begins here: calls overtake each other.
func (c *Child) campaign(id int) (context.Context, context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.campaigns[id]; !ok {
		ctx, cancel := context.WithCancel(context.Background())
		c.campaigns[id] = campaign{ctx, cancel}
	}
	return c.campaigns[id].ctx, c.campaigns[id].cancel
}

type campaign struct {
	ctx    context.Context
	cancel context.CancelFunc
}

func (c *Child) GiveUp(id int, _ *int) error {
	_, cancel := c.campaign(id)
	cancel()
	return nil
}

// Held returns when the lease of a campaign has ended.
func (c *Child) Held(id int, _ *int) error {
	c.mu.Lock()
	held := c.held[id]
	c.mu.Unlock()
	<-held.Done()
	return nil
}

// HeldNow tells whether it has ended.
func (c *Child) HeldNow(id int, held *bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	*held = c.held[id].Err() == nil
	return nil
}

func (c *Child) Resign(until time.Time, f *Fault) error {
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	*f = faultOf(c.c.Resign(ctx))
	return nil
}

func (c *Child) Seen(_ int, seen *[]events.Member) error {
	*seen = c.c.Seen()
	return nil
}

// LeaseAway says why etcd does not know this member; empty: it does.
func (c *Child) LeaseAway(_ int, why *string) error {
	if since, reason := c.c.LeaseAway(); reason != nil && time.Since(since) < patience {
		*why = reason.Error()
	}
	return nil
}

// Question is asked of a member, or by one.
type Question struct {
	Member events.Member
	Text   []byte
	Until  time.Time
}

// Answer is what came of it.
type Answer struct {
	Text  []byte
	Fault Fault
}

func (c *Child) Call(q Question, a *Answer) error {
	ctx, cancel := context.WithDeadline(context.Background(), q.Until)
	defer cancel()
	text, err := c.c.Call(ctx, q.Member, q.Text)
	*a = Answer{text, faultOf(err)}
	return nil
}

func (c *Child) Serve(int, *int) error {
	c.c.Serve(func(ctx context.Context, from events.Member, question []byte) ([]byte, error) {
		until, _ := ctx.Deadline()
		var a Answer
		if err := c.asks.Call("Parent.Answer", Question{from, question, until}, &a); err != nil {
			return nil, err
		}
		return a.Text, a.Fault.err()
	})
	return nil
}
