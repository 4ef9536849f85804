package storage

import (
	"crypto/sha256"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/storage/dataset"
)

// TestWhatGoesWrongWithASourceNamesItWithoutItsSecrets: errors of sources are recorded, and
// exported.
func TestWhatGoesWrongWithASourceNamesItWithoutItsSecrets(t *testing.T) {
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	away, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{refuses.URL, "http://" + away.Addr().String()} {
		s, err := newSources(FetcherConfig{
			Sources: []string{base + "/planted-key-of-a-gateway"}, Attempts: 1, InFlight: 1, RequestTimeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.fetch(t.Context(), dataset.TreeCID(sha256.Sum256(nil)))
		if err == nil || strings.Contains(err.Error(), "planted") || !strings.Contains(err.Error(), base+"/***") {
			t.Errorf("%v", err)
		}
	}
}
