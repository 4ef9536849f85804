package api

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"
)

// This file is what other programs look at: whether the process is alive, whether the host does what it is there for,
// and figures. They are at the root, where such programs expect them.

// probeTime bounds how long a probe may take: what asks has a limit of its own, often of ten seconds.
const probeTime = 8 * time.Second

// Ready is whether a host may be relied upon.
type Ready struct {
	// Ready says that the host runs, and proves what it owes; Selling that it takes slots, too.
	Ready   bool `json:"ready"`
	Selling bool `json:"selling"`
	// Obstacles are what is in the way, each with a code, a reason and what to do.
	Obstacles []Obstacle `json:"obstacles"`
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
		_, starting := b.(*Standby)
		ready := Ready{!starting && !s.NotProving, s.Selling, s.Readiness}
		code := http.StatusOK
		if !ready.Ready {
			code = http.StatusServiceUnavailable
		}
		write(w, code, "application/json", ready)
	})
	figures := prometheus.NewRegistry()
	figures.MustRegister(collector{b})
	mux.Handle("GET /metrics", promhttp.HandlerFor(figures, promhttp.HandlerOpts{ErrorLog: log, Timeout: answerTime}))
}

// collector takes figures from the views when it is asked, so that they are right after a restart, too. Each machine of
// the lists is among them.
type collector struct{ of Backend }

var (
	rowsFigure = prometheus.NewDesc("hostnode_rows",
		"Rows of a machine's view, by the state in which they are.", []string{"machine", "state"}, nil)
	positionFigure = prometheus.NewDesc("hostnode_record_position",
		"Position of the last event that the views have seen.", nil, nil)
)

// Describe implements prometheus.Collector.
func (collector) Describe(to chan<- *prometheus.Desc) {
	to <- rowsFigure
	to <- positionFigure
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	all, err := ListMachines.Ask(ctx, c.of, Then{})
	if err != nil {
		to <- prometheus.NewInvalidMetric(rowsFigure, err)
		return
	}
	to <- prometheus.MustNewConstMetric(positionFigure, prometheus.GaugeValue, float64(all.AsOf.Position))
	for _, m := range all.Machines {
		rest := m.Rows
		for state, n := range m.States {
			rest -= n
			to <- prometheus.MustNewConstMetric(rowsFigure, prometheus.GaugeValue, float64(n), m.Machine, state)
		}
		if rest > 0 || m.Rows == 0 {
			to <- prometheus.MustNewConstMetric(rowsFigure, prometheus.GaugeValue, float64(rest), m.Machine, "")
		}
	}
}
