package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
)

func TestServingSaysWhatAHostNeedsAndThatItIsOver(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "movie.bin")
	if err := os.WriteFile(file, make([]byte, 1<<19), 0o600); err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	quiet := &app{App: &cli.App{Stdout: io.Discard, Stderr: os.Stderr, Now: time.Now}}
	if code := quiet.run(t.Context(), []string{"client", "prepare", file, "--slots", "5", "--data-dir", dir}); code != 0 {
		t.Fatalf("prepare ends with %d", code)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	serving := &app{App: &cli.App{Stdout: write, Stderr: os.Stderr, Now: time.Now}}
	go func() {
		serving.run(ctx, []string{"client", "serve", "--listen", "127.0.0.1:0", "--data-dir", dir})
		_ = write.Close()
	}()
	lines := bufio.NewScanner(read)
	for _, want := range []string{
		"^serving +1 dataset$",
		`^host +hostnode run --content-sources http://127.0.0.1:\d+ --sales-max-slots-per-request 5 --data-dir ` +
			regexp.QuoteMeta(dir) + "$",
		"^stopped$",
	} {
		if !lines.Scan() || !regexp.MustCompile(want).MatchString(lines.Text()) {
			t.Fatalf("it says %q, want %s", lines.Text(), want)
		}
		if strings.HasPrefix(lines.Text(), "host") {
			stop()
		}
	}
}

func TestServingLeavesOutWhatTheHostHas(t *testing.T) {
	const client = "http://127.0.0.1:8070"
	for _, c := range []struct {
		sources []string
		want    string
	}{
		{nil, " --content-sources " + client},
		{[]string{"https://a.example"}, " --content-sources " + client},
		{[]string{"https://a.example", client}, ""},
	} {
		if got := fetchesFrom(config.Config{Content: config.Content{Sources: c.sources}}, client, nil); got != c.want {
			t.Errorf("%v: %q", c.sources, got)
		}
	}
}

func TestAWithdrawalSaysHowMuchOrWhyNothing(t *testing.T) {
	p := &cli.Printer{}
	_ = printWithdrawals(p, []requester.Withdrawal{
		{ID: events.RequestID{1}, Amount: events.NewAmount(1234567)},
		{ID: events.RequestID{2}, Nothing: "waits for hosts"},
	})
	_ = printWithdrawals(p, nil)
	for _, want := range []string{
		"1,234,567 base units, what was left of request 0x01000000",
		"nothing      to collect of request 0x02000000: waits for hosts", "nothing was asked for on this market",
	} {
		if !strings.Contains(p.Text(), want) {
			t.Errorf("%q is missing in:\n%s", want, p.Text())
		}
	}
}
