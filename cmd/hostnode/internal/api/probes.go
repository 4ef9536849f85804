package api

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"
)

// This file is what other programs look at: whether the process is alive, whether the host does what it is there for,
// and figures (figures.go). They are at the root, where such programs expect them.

// probeTime bounds how long a probe may take: what asks has a limit of its own, often of ten seconds.
const probeTime = 8 * time.Second

// maxScrapes is how many may ask for figures at once: two servers of Prometheus, and a person.
const maxScrapes = 4

// Ready is whether a host may be relied upon.
type Ready struct {
	// Ready says that the host runs, and proves what it owes; Selling that it takes slots, too.
	Ready   bool `json:"ready"`
	Selling bool `json:"selling"`
	// Obstacles are what is in the way, each with a code, a reason and what to do.
	Obstacles []Obstacle `json:"obstacles"`
	// Dry says that this is a dry run, which is never ready.
	Dry bool `json:"dry,omitempty"`
}

// statusSource is a backend that knows how the host is.
type statusSource interface {
	Status(ctx context.Context) (Status, error)
}

func probes(mux *http.ServeMux, b Backend, log *logrus.Entry) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, "application/json", map[string]bool{"alive": true})
	})
	of, _ := b.(statusSource)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probeTime)
		defer cancel()
		s, err := of.Status(ctx)
		if err != nil {
			writeProblem(w, err)
			return
		}
		ready, code := readiness(b, s), http.StatusOK
		if !ready.Ready {
			code = http.StatusServiceUnavailable
		}
		write(w, code, "application/json", ready)
	})
	figures := prometheus.NewRegistry()
	figures.MustRegister(collector{b, log}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux.Handle("GET /metrics", promhttp.HandlerFor(figures, promhttp.HandlerOpts{
		ErrorLog: log, Timeout: answerTime, MaxRequestsInFlight: maxScrapes,
	}))
}

func readiness(b Backend, s Status) Ready {
	_, starting := b.(*Standby)
	return Ready{!starting && !s.NotProving && !s.Dry, s.Selling, s.Readiness, s.Dry}
}
