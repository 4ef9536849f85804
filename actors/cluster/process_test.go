package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/rpc"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
	p.comesTo(fmt.Sprintf("see %v", want), func() bool { return slices.Equal(p.Seen(), want) })
}

// logs waits until the process has logged a text.
func (p *process) logs(text string) {
	p.t.Helper()
	p.comesTo("log "+text, func() bool { return strings.Contains(p.log.String(), text) })
}

func (p *process) comesTo(what string, so func() bool) {
	p.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	late := time.After(patience)
	for !so() {
		select {
		case <-again.C:
		case <-late:
			p.t.Fatalf("%s does not %s", p.name, what)
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
