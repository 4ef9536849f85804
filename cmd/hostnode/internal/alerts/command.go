package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// afterKill is how long a command's pipes may stay open after it was killed: a child of
// its own may hold them.
const afterKill = time.Second

// command runs the command with the alert on its standard input, and returns what it said.
func (s *Sender) command(ctx context.Context, body []byte) (answer string, err error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", s.cfg.Command) //nolint:gosec // The operator's own.
	cmd.Stdin = bytes.NewReader(body)
	said := &head{}
	cmd.Stdout, cmd.Stderr = said, said
	// The shell's children end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = afterKill
	// A command that succeeded may leave its input unread.
	if err := cmd.Run(); err != nil && !errors.Is(err, syscall.EPIPE) {
		return shown(said.text), fmt.Errorf("%w: it said %q", err, shown(said.text))
	}
	return shown(said.text), nil
}

// head keeps the first bytes that are written to it.
type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), maxShown-len(h.text))]...)
	return len(p), nil
}
