package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// childDir makes the test binary a writer that is to be killed.
const childDir = "EMBEDDED_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := writeUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeUntilKilled appends with 16 writers and prints what was acknowledged,
// one line each.
func writeUntilKilled(dir string) error {
	s, _, err := Open(dir, Config{CacheBytes: smallCache})
	if err != nil {
		return err
	}
	head, err := s.Head(context.Background())
	if err != nil {
		return err
	}
	failed := make(chan error)
	for w := range 16 {
		go func() {
			stream := fmt.Sprintf("w-%d-from-%d", w, head)
			failed <- work(context.Background(), s, stream, func(position events.Position, p place) {
				fmt.Printf("%d %s %d %v\n", position, p.stream, p.revision, p.id)
			})
		}()
	}
	return <-failed
}

func TestKillLosesNothingThatWasAcknowledged(t *testing.T) {
	dir := t.TempDir()
	acks := map[events.Position]place{}
	for round := range 4 {
		killAfter(t, dir, 300+200*round, acks)
		s, report := mustOpen(t, dir, Config{})
		if report.Clean || report.Created || int(report.Acknowledged) < len(acks) {
			t.Fatalf("round %d: report %+v, %d were acknowledged", round, report, len(acks))
		}
		problem, err := missing(t.Context(), s, acks)
		if err != nil || problem != "" {
			t.Fatalf("round %d: %s, %v", round, problem, err)
		}
		mustClose(t, s)
	}
}

// killAfter starts a writer, reads that many acknowledgements, kills it and
// reads what it had still printed.
func killAfter(t *testing.T, dir string, lines int, acks map[events.Position]place) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	for n := 0; scanner.Scan(); n++ {
		var position events.Position
		var p place
		var id string
		_, err := fmt.Sscan(scanner.Text(), &position, &p.stream, &p.revision, &id)
		if err != nil {
			continue // The line that the kill cut off.
		}
		if p.id, err = events.ParseEventID(id); err != nil {
			continue
		}
		acks[position] = p
		if n == lines/2 {
			if _, _, err := Open(dir, Config{}); !errors.Is(err, ErrInUse) {
				t.Errorf("opened beside another process: %v, want in use", err)
			}
		}
		if n == lines {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || len(acks) < lines {
		t.Fatalf("the writer ended with %v after %d acknowledgements", err, len(acks))
	}
}
