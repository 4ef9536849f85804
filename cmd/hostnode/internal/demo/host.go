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
	"sync"
	"syscall"
	"time"
)

// line is one line of the host's log.
type line struct {
	Level string    `json:"level"`
	Msg   string    `json:"msg"`
	Slot  string    `json:"slot"`
	Index *uint64   `json:"index"`
	State string    `json:"state"`
	Event string    `json:"event"`
	Time  time.Time `json:"time"`
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

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	err    error
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
	exited := make(chan struct{})
	h.mu.Lock()
	h.cmd, h.exited, h.err = cmd, exited, nil
	h.mu.Unlock()
	go func() {
		h.read(out)
		err := cmd.Wait()
		h.mu.Lock()
		h.err = err
		h.mu.Unlock()
		close(exited)
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
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd == nil {
		return 0
	}
	return h.cmd.Process.Pid
}

// alive reports whether the process runs; if it does not, why it ended.
func (h *host) alive() (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.exited == nil {
		return false, nil
	}
	select {
	case <-h.exited:
		return false, h.err
	default:
		return true, nil
	}
}

// kill sends SIGKILL and waits for the end.
func (h *host) kill() error {
	h.mu.Lock()
	cmd, exited := h.cmd, h.exited
	h.mu.Unlock()
	if cmd == nil {
		return nil
	}
	err := cmd.Process.Kill()
	<-exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// stop asks the host to stop properly, and kills it if it does not.
func (h *host) stop(ctx context.Context) error {
	h.mu.Lock()
	cmd, exited := h.cmd, h.exited
	h.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the host: %w", err)
	}
	select {
	case <-exited:
		return nil
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("the host did not stop in time: %w", ctx.Err()), h.kill())
	}
}
