package chain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/chain"
)

func TestTheStandingNamesTheEndpointInUseAndWhyTheFirstIsNot(t *testing.T) {
	w, second, m, _ := twoGates(t, func(cfg *chain.Config) {
		cfg.ReturnAfter = time.Hour
		cfg.LongestRedialWait = 20 * time.Millisecond
	})
	at := m.Reachability()
	if !strings.Contains(at.Endpoint, "me:***@") || at.Since.IsZero() || at.First != "" || !at.Away.IsZero() {
		t.Fatalf("at the first endpoint: %+v", at)
	}
	w.gate.set(true, false)
	w.answers(m)
	fallback := m.Reachability()
	if !strings.HasSuffix(fallback.Endpoint, "/?***") || !fallback.Since.After(at.Since) || !fallback.Away.IsZero() ||
		fallback.First != at.Endpoint || !strings.Contains(fallback.WhyNotFirst, "503 Service") {
		t.Fatalf("at the fallback: %+v", fallback)
	}
	second.set(true, false)
	if _, err := m.Head(t.Context()); err == nil { // It closes the connection.
		t.Fatal("a closed gate answers")
	}
	if _, err := m.Head(t.Context()); err == nil {
		t.Fatal("closed gates answer")
	}
	none := m.Reachability()
	if none.Away.IsZero() || strings.Count(none.AwayReason, "503 Service") != 2 ||
		!strings.Contains(none.AwayReason, at.Endpoint) || !strings.Contains(none.AwayReason, fallback.Endpoint) {
		t.Fatalf("with none: %+v", none)
	}
	_, _ = m.Head(t.Context())
	if again := m.Reachability(); again.Away != none.Away {
		t.Fatalf("away since %s, then since %s", none.Away, again.Away)
	}
	second.set(false, false)
	w.answers(m)
	if back := m.Reachability(); back != fallback && (back.Endpoint != fallback.Endpoint || back.Since != fallback.Since) ||
		!back.Away.IsZero() || back.AwayReason != "" {
		t.Fatalf("at the fallback again: %+v, before: %+v", back, fallback)
	}
	if said := fmt.Sprint(at, fallback, none); strings.Contains(said, "secret") {
		t.Fatalf("a secret is shown: %s", said)
	}
}

func TestTheStandingForgetsTheFallbackWhenTheFirstIsBack(t *testing.T) {
	w, _, m, said := twoGates(t, nil)
	w.gate.set(true, false)
	w.answers(m)
	w.gate.set(false, false)
	w.await("the host is back", func() bool {
		w.answers(m)
		return said.says("another endpoint", "me:***@")
	})
	if at := m.Reachability(); at.First != "" || at.WhyNotFirst != "" || !strings.Contains(at.Endpoint, "me:***@") {
		t.Fatalf("%+v", at)
	}
}
