// Command hostnode sells a machine's free storage on the Codex marketplace. Start with
// app.go, which puts the commands together; the commands are in cmd_*.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
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
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ(), now: time.Now,
		terminal: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
	return a.run(ctx, os.Args[1:])
}
