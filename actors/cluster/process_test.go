package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/events"
)

// Members of the suite are processes of their own: the library's remote part sets grpc's logger when it starts, which is a
// data race beside a member that runs. Calls of the port go to the process by net/rpc, and
// questions that it is asked come back.

// childVar has the configuration of the member that the test binary is to be.
const childVar = "HOSTNODE_TEST_MEMBER"

func TestMain(m *testing.M) {
	if cfg := os.Getenv(childVar); cfg != "" {
		runChild(cfg)
		return
	}
	os.Exit(m.Run())
}

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
	Refused, Config         bool
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
		cluster.ErrRefused: f.Refused, cluster.ErrConfig: f.Config,
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

// Parent answers what a child is asked.
type Parent struct{ p *process }

func (p *Parent) Answer(q Question, a *Answer) error {
	ctx, cancel := context.WithDeadline(context.Background(), q.Until)
	defer cancel()
	text, err := p.p.answer(ctx, q.Member, q.Text)
	*a = Answer{text, faultOf(err)}
	return nil
}

// process is a member in a process of its own. It implements port.Cluster.
type process struct {
	t      *testing.T
	name   events.Member
	cfg    cluster.Config
	cmd    *exec.Cmd
	child  *rpc.Client
	kill   func()
	answer func(context.Context, events.Member, []byte) ([]byte, error)
	mu     sync.Mutex
	last   int
	log    logBuffer
}

// logBuffer is what a process logs.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// opened tells whether the process could join.
func (p *process) opened() error {
	var f Fault
	return errors.Join(p.call("Opened", 0, &f), f.err())
}

// mustOpen fails the test if it could not.
func (p *process) mustOpen() *process {
	p.t.Helper()
	if err := p.opened(); err != nil {
		p.t.Fatal(err)
	}
	return p
}

func startProcess(t *testing.T, cfg cluster.Config) *process {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, name: cfg.Member, cfg: cfg, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childVar+"="+string(text))
	p.cmd.Stderr = &p.log
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	answersHere, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	asks, asksHere, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.ExtraFiles = []*os.File{asks, answers}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	asks.Close()
	answers.Close()
	s := rpc.NewServer()
	if err := s.Register(&Parent{p}); err != nil {
		t.Fatal(err)
	}
	go s.ServeConn(pipe{answersHere, asksHere})
	p.child = rpc.NewClient(pipe{out, in})
	p.kill = sync.OnceFunc(func() {
		_ = p.cmd.Process.Kill()
		p.end()
	})
	t.Cleanup(func() {
		p.kill()
		if t.Failed() || strings.Contains(p.log.String(), "DATA RACE") {
			t.Errorf("the process of %s logged: %s", p.name, p.log.String())
		}
	})
	return p
}

// end waits until the process has ended.
func (p *process) end() {
	_ = p.child.Close()
	_ = p.cmd.Wait()
}

func (p *process) call(method string, in, out any) error {
	if err := p.child.Call("Child."+method, in, out); err != nil {
		return fmt.Errorf("%s of the process of %s: %w", method, p.name, err)
	}
	return nil
}

func (p *process) Member() events.Member { return p.name }

// lease is a held lease: a context that asks the process.
type lease struct {
	context.Context
	p  *process
	id int
}

func (l lease) Err() error {
	held := false
	if err := l.p.call("HeldNow", l.id, &held); err != nil || !held {
		return context.Canceled
	}
	return nil
}

func (p *process) Campaign(ctx context.Context) (context.Context, error) {
	p.mu.Lock()
	p.last++
	id := p.last
	p.mu.Unlock()
	defer context.AfterFunc(ctx, func() { _ = p.call("GiveUp", id, new(int)) })()
	var f Fault
	if err := p.call("Campaign", id, &f); err != nil {
		return nil, err
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	held, end := context.WithCancel(context.Background())
	go func() {
		_ = p.call("Held", id, new(int))
		end()
	}()
	return lease{held, p, id}, nil
}

func (p *process) Resign(ctx context.Context) error {
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now().Add(time.Minute)
	}
	var f Fault
	return errors.Join(p.call("Resign", until, &f), f.err())
}

func (p *process) Seen() []events.Member {
	var seen []events.Member
	if err := p.call("Seen", 0, &seen); err != nil {
		p.t.Error(err)
	}
	return seen
}

func (p *process) Call(ctx context.Context, to events.Member, question []byte) ([]byte, error) {
	until, _ := ctx.Deadline()
	var a Answer
	err := p.call("Call", Question{to, question, until}, &a)
	return a.Text, errors.Join(err, a.Fault.err())
}

func (p *process) Serve(answer func(context.Context, events.Member, []byte) ([]byte, error)) {
	p.answer = answer
	if err := p.call("Serve", 0, new(int)); err != nil {
		p.t.Error(err)
	}
}

// sees waits until the process sees these members.
func (p *process) sees(want ...events.Member) {
	p.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	late := time.After(patience)
	for seen := p.Seen(); !slices.Equal(seen, want); seen = p.Seen() {
		select {
		case <-again.C:
		case <-late:
			p.t.Fatalf("%s sees %v, not %v", p.name, seen, want)
		}
	}
}

// patience is how long what must happen may take.
const patience = time.Minute

// soon is a context for what must happen.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
