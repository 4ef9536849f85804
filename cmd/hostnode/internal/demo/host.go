package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
)

// line is one line of the host's log.
type line struct {
	Level string  `json:"level"`
	Msg   string  `json:"msg"`
	Index *uint64 `json:"index"` // of a slot
	State string  `json:"state"`
	// Of sectors: the number, and the step that the line is about.
	Sector *uint64 `json:"sector"`
	Step   string  `json:"step"`
}

// host is the child process.
type host struct {
	binary string
	args   []string
	env    []string
	logTo  io.Writer
	lines  chan line

	latest atomic.Pointer[process] // nil: it was never started
}

// process is one run of the program.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // why it ended, once exited is closed
}

// start starts the process. Its log goes to the file and, parsed, to lines.
func (h *host) start() error {
	cmd := exec.Command(h.binary, h.args...)
	cmd.Env = h.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // No orphan hosts.
	out, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("start the host: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the host: %w", err)
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
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
		var l line
		if json.Unmarshal(scanner.Bytes(), &l) != nil {
			l = line{Level: "error", Msg: scanner.Text()}
		}
		h.lines <- l
	}
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
