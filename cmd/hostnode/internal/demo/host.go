package demo

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
)

// line is one line of a host's log.
type line struct {
	Level string  `json:"level"`
	Msg   string  `json:"msg"`
	Hint  string  `json:"hint"`
	Index *uint64 `json:"index"` // of a slot
	State string  `json:"state"`
	// Of sectors: the number, and the step that the line is about.
	Sector *uint64 `json:"sector"`
	Step   string  `json:"step"`
	// What a line about aggregation is about: a CID.
	Content   string `json:"content"`
	Ferry     string `json:"ferry"`
	Aggregate string `json:"aggregate"`
	Piece     string `json:"piece"`

	from *host
}

// host is a child process: one of those that are the host, or another one of the same program.
type host struct {
	binary string
	args   []string
	env    []string
	logTo  io.Writer
	log    string // the file
	// lines takes the parsed log. What does not fit is only in the file, so that the process never waits for a reader.
	lines chan line

	name       events.Member // empty: there is one host, and it is one process
	dir        datadir.Layout
	operator   operator
	down       atomic.Bool // it is not meant to run
	complaints []string    // the last ones

	latest atomic.Pointer[process] // nil: it was never started
}

// process is one run of the program.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	ready   atomic.Pointer[time.Time] // when it had nothing to do for the first time
	exited  chan struct{}
	err     error // why it ended, once exited is closed
}

const (
	// settleTime is how long chain time stands still after a start of the host, so that it has replayed its events
	// and knows what it owes.
	settleTime = 2 * time.Second
	// readyTime is how long it does so after the host had nothing to do for the first time: the machine may be slow,
	// and the host finds what it owes bit by bit.
	readyTime = time.Second
	// maxComplaints is how many of the host's last complaints an error repeats: what went wrong and its hint.
	maxComplaints = 3
)

// start starts the process. Its log goes to the file and, parsed, to lines.
func (h *host) start() error {
	cmd := exec.Command(h.binary, h.args...)
	cmd.Env = h.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // No orphan hosts.
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start the host: %w", err)
	}
	p := &process{cmd: cmd, started: time.Now(), exited: make(chan struct{})}
	h.latest.Store(p)
	go func() {
		h.read(out)
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return nil
}

// read parses the log. A line that is not JSON is passed on as it is.
func (h *host) read(out io.Reader) {
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		fmt.Fprintln(h.logTo, scanner.Text())
		l := line{from: h}
		if json.Unmarshal(scanner.Bytes(), &l) != nil {
			l = line{Level: "error", Msg: scanner.Text(), from: h}
		}
		select {
		case h.lines <- l:
		default:
		}
	}
}

// progress is what the host does; one that was started works until it has settled.
func (h *host) progress(ctx context.Context) (Progress, error) {
	p, err := h.operator.progress(ctx)
	run, now := h.latest.Load(), time.Now()
	if err == nil && !p.Working {
		run.ready.CompareAndSwap(nil, &now)
	}
	ready := run.ready.Load()
	p.Working = p.Working || now.Sub(run.started) < settleTime || ready == nil || now.Sub(*ready) < readyTime
	return p, err
}

// remember keeps a line if it is a complaint.
func (h *host) remember(l line) {
	if l.Level == "info" {
		return
	}
	h.complaints = append(h.complaints, strings.TrimSpace(l.Msg))
	h.complaints = h.complaints[max(0, len(h.complaints)-maxComplaints):]
}

// title names the host in a sentence.
func (h *host) title() string {
	if h.operator.member == "" {
		return cmp.Or(string(h.name), "the host")
	}
	return "member " + string(h.name)
}

// prefix is the name with which lines about a host begin, or a member; the only host has another prefix.
func (h *host) prefix(alone string) string {
	if h.name == "" {
		return alone
	}
	return fmt.Sprintf("%-6s ", h.name)
}

// pid is the process id of the running host.
func (h *host) pid() int {
	if p := h.latest.Load(); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// alive reports whether the process runs; if it does not, why it ended.
func (h *host) alive() (bool, error) {
	p := h.latest.Load()
	if p == nil {
		return false, nil
	}
	select {
	case <-p.exited:
		return false, p.err
	default:
		return true, nil
	}
}

// kill sends SIGKILL and waits for the end.
func (h *host) kill() error {
	p := h.latest.Load()
	if p == nil {
		return nil
	}
	err := p.cmd.Process.Kill()
	<-p.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// stop asks the host to stop properly, and kills it if it does not.
func (h *host) stop(ctx context.Context) error {
	p := h.latest.Load()
	if p == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the host: %w", err)
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("the host did not stop in time: %w", ctx.Err()), h.kill())
	}
}
