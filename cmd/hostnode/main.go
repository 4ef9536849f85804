// Command hostnode sells a machine's free storage on the Codex marketplace. Start with
// app.go, which puts the commands together; the commands are in cmd_*.go.
package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
)

// version is set by the build: -ldflags "-X main.version=v1.2.3".
var version = ""

func main() {
	os.Exit(realMain())
}

// realMain is main for tests, which run it in a process of their own.
func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{App: &cli.App{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Now: time.Now,
		Terminal: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Width:    columns(),
		Asks:     term.IsTerminal(int(os.Stdin.Fd())),
		Hidden:   func() (string, error) { return hidden(ctx) },
		Machines: machines.API(),
	}}
	return a.run(ctx, os.Args[1:])
}

// hidden reads a line from the terminal without echo, which is back also when a signal comes first.
func hidden(ctx context.Context) (string, error) {
	in := int(os.Stdin.Fd())
	before, err := term.GetState(in)
	if err != nil {
		return "", err
	}
	text, err := cli.UntilDone(ctx, func() ([]byte, error) { return term.ReadPassword(in) })
	return string(text), errors.Join(err, term.Restore(in, before))
}

// columns is how many columns a line may have: what COLUMNS says, or what the terminal has. A file or another program
// gets lines of any length, so that nothing in them is cut in two.
func columns() int {
	const least, usual = 40, 80
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err == nil && n > 0 {
		return max(n, least)
	}
	if n, _, err = term.GetSize(int(os.Stdout.Fd())); err == nil {
		return max(cmp.Or(n, usual), least)
	}
	return 0
}
