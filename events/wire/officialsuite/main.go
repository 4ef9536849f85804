// Command officialsuite runs the tests of EventStoreDB's official Go client,
// unmodified from the module cache, against hostnode eventstore:
//
//	go run . PATH-OF-HOSTNODE
//
// It creates a temporary directory with certificates, a user and an empty store,
// starts the server on the three addresses that the tests connect to, runs the
// tests, and compares those that failed or were skipped with exceptions.txt. The
// ports 2111, 2112 and 2113 of 127.0.0.1 must be free.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// What the client's tests expect of a cluster.
const (
	user     = "admin"
	password = "changeit"
	suite    = "github.com/EventStore/EventStore-Client-Go/v4/esdb"
	// tests are those that need no container.
	tests = "^(TestStreams|TestMisc)$"
)

var addresses = []string{"127.0.0.1:2111", "127.0.0.1:2112", "127.0.0.1:2113"}

const (
	// runTime is how long the whole run may take; it takes some seconds.
	runTime = 5 * time.Minute
	// startTime and stopTime are how long the server may take to start and to stop.
	startTime = 30 * time.Second
	stopTime  = 15 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, runTime)
	err := run(ctx, os.Args[1:])
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "official suite:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 1 {
		return errors.New("want the path of hostnode")
	}
	hostnode, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	allowed, err := readExceptions("exceptions.txt")
	if err != nil {
		return err
	}
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("the tests need this address, and something else has it: %w", err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "officialsuite")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := start(ctx, hostnode, dir)
	if err != nil {
		return err
	}
	got, err := test(ctx)
	if err := errors.Join(err, s.stop()); err != nil {
		return err
	}
	return got.judge(allowed, os.Stdout)
}

// server is hostnode eventstore as a process.
type server struct {
	cmd  *exec.Cmd
	done chan error
	log  *strings.Builder // Complete when done.
}

func start(ctx context.Context, hostnode, dir string) (*server, error) {
	certs, users := filepath.Join(dir, "certs"), filepath.Join(dir, "users")
	if out, err := exec.CommandContext(ctx, hostnode, "eventstore", "certificate", certs).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make certificates: %w: %s", err, out)
	}
	add := exec.CommandContext(ctx, hostnode, "eventstore", "user", user, "--role", "admin", "--users", users)
	add.Stdin = strings.NewReader(password + "\n")
	if out, err := add.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("add user %s: %w: %s", user, err, out)
	}
	s := &server{done: make(chan error, 1), log: &strings.Builder{}}
	s.cmd = exec.CommandContext(ctx, hostnode, "eventstore", "--data-dir", filepath.Join(dir, "data"),
		"--listen", strings.Join(addresses, ","), "--users", users,
		"--tls-cert", filepath.Join(certs, "server.crt"), "--tls-key", filepath.Join(certs, "server.key"),
		"--test-accept-persistent-subscriptions")
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		if lines.Scan() {
			ready <- lines.Text()
		}
		for lines.Scan() {
			continue // So that the server never waits for a reader.
		}
		s.done <- s.cmd.Wait()
	}()
	select {
	case line := <-ready:
		fmt.Println(line)
		return s, nil
	case err := <-s.done:
		return nil, fmt.Errorf("the server ended at once: %w\n%s", err, s.log)
	case <-time.After(startTime):
		return nil, errors.Join(errors.New("the server does not come up"), s.cmd.Process.Kill())
	}
}

// stop asks the server to stop, and fails unless it exits cleanly.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-s.done:
		if err != nil {
			return fmt.Errorf("the server ended with: %w\n%s", err, s.log)
		}
		return nil
	case <-time.After(stopTime):
		return errors.Join(errors.New("the server does not stop"), s.cmd.Process.Kill())
	}
}

// test runs the client's tests.
func test(ctx context.Context) (*results, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count", "1", "-run", tests, suite)
	cmd.Env = append(os.Environ(), "CLUSTER=true", "EVENTSTORE_INSECURE=false")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run the client's tests: %w", err)
	}
	got, err := readResults(out)
	if err != nil {
		_, _ = io.Copy(io.Discard, out) // So that the tests can end.
	}
	// The results say whether tests failed; only a failure to run them counts here.
	if exit := cmd.Wait(); exit != nil && !errors.As(exit, new(*exec.ExitError)) {
		err = errors.Join(err, exit)
	}
	return got, err
}
