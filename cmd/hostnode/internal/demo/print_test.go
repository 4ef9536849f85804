package demo

import (
	"errors"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

func TestCommandsAtTheEndCanBePasted(t *testing.T) {
	c := config.Default()
	s := &engine{Options: Options{Config: c}, dir: datadir.At("/data")}
	for _, line := range s.commands(saleCommands("0x5107")...) {
		if strings.Contains(line, "--store") || strings.Contains(line, "--prover") || !strings.Contains(line, " --data-dir /data") {
			t.Errorf("with the defaults: %s", line)
		}
	}
	c.EventStore.URL, c.EventStore.PasswordFile = "esdb://ann@host:2113?tlsCaFile=/my ca", "/it's"
	s.Config = c
	s.Given = []config.Setting{
		{Key: "dataDir", Flag: "--data-dir", Value: "/other"},
		{Key: "prover.samples", Flag: "--prover-samples", Value: "1"},
		{Key: "account.keyFile", Flag: "--account-key-file", Value: "/my key"},
	}
	lines := s.commands(saleCommands("0x5107")...)
	for _, line := range lines {
		if !strings.Contains(line, ` --store 'esdb://ann@host:2113?tlsCaFile=/my ca' --event-store-password-file '/it'\''s'`) {
			t.Errorf("with a store: %s", line)
		}
	}
	if run := lines[len(lines)-1]; !strings.Contains(run, " --prover-samples=1 --account-key-file='/my key' ") ||
		strings.Contains(run, "other") {
		t.Errorf("with other settings: %s", run)
	}
}

func TestLastWordsAreThoseThatWereShownToo(t *testing.T) {
	s := newSale(Options{Out: &strings.Builder{}})
	h := &host{lines: s.engine.lines}
	s.hosts = []*host{h}
	must(t, s.show(t.Context(), line{Level: "warning", Msg: "an old one", from: h}))
	must(t, s.show(t.Context(), line{Level: "info", Msg: "all is well", from: h}))
	for _, words := range []string{"it began", "hostnode: the disk is full"} {
		must(t, s.show(t.Context(), line{Level: "error", Msg: words, from: h}))
	}
	h.lines <- line{Level: "error", Msg: "  Make room. [store-failed]", from: h}
	want := "last words: it began; hostnode: the disk is full; Make room. [store-failed]; see"
	if got := s.lost(t.Context(), "it answers"); !errors.Is(got, problem.ErrDemoHostEnded) || !strings.Contains(got.Error(), want) {
		t.Errorf("%v, want %q", got, want)
	}
}
