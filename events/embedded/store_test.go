package embedded_test

import (
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/storetest"
)

// testCache keeps the many stores of the tests small.
const testCache = 4 << 20

func open(t testing.TB, dir string, cfg embedded.Config) (*embedded.Store, embedded.Report) {
	t.Helper()
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = testCache
	}
	s, report, err := embedded.Open(dir, cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s, report
}

func TestStoreObeysThePort(t *testing.T) {
	storetest.RunDurable(t, func(t *testing.T, dir string) events.Store {
		s, _ := open(t, dir, embedded.Config{})
		return s
	})
}
