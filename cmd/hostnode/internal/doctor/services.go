package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/serverviews"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
)

// This file asks the services that a host may need: the event store, and etcd.

// record is the event store.
type record struct{ Name, How string }

// measureRecord opens no embedded store: a host that runs has it, and says itself when it is away; and without a host,
// opening it may mend it.
func (e *exam) measureRecord(ctx context.Context, running bool) (r record, err error) {
	spec := stores.FromConfig(e.Config)
	switch {
	case !spec.Remote() && running:
		return record{Name: spec.Dir, How: "the host that runs uses it"}, nil
	case !spec.Remote():
		if err := e.dir.RecordIsHere(); err != nil {
			return r, err
		}
		_, err := os.ReadDir(spec.Dir)
		if errors.Is(err, os.ErrNotExist) {
			return record{Name: spec.Dir, How: "the first start makes it"}, nil
		}
		return record{Name: spec.Dir, How: "it is there; hostnode audit reads all of it"}, err
	}
	spec.OpenTimeout = e.Timeout
	store, err := stores.Open(ctx, spec, nil)
	if err != nil {
		return r, err
	}
	defer store.Close()
	owner := e.Config.AccountAddress()
	if owner.Zero() {
		if owner, err = e.dir.Owner(); err != nil {
			return r, err
		}
	}
	// As a start does: it must decide, and let the account write.
	if err := events.Confirm(ctx, store.Store, events.HostStream(owner)); err != nil {
		return r, err
	}
	return record{Name: store.Name, How: "it answers, and lets the host write"}, nil
}

// projections are those inside an EventStoreDB.
type projections struct {
	Running, All int
	None         bool
	Faulted      string // names
}

func (e *exam) measureProjections(ctx context.Context) (p projections, err error) {
	connection, err := stores.FromConfig(e.Config).Connection()
	if err != nil {
		return p, err
	}
	server, err := serverviews.Connect(esdb.Config{URL: connection})
	if err != nil {
		return p, err
	}
	defer server.Close()
	all, err := server.Status(ctx)
	if errors.Is(err, serverviews.ErrNoProjections) || errors.Is(err, events.ErrDenied) {
		return projections{None: true}, nil // A host's user need not see them.
	}
	var faulted []string
	for _, row := range all {
		switch {
		case row.Reason != "":
			faulted = append(faulted, row.Name)
		case row.Current:
			p.Running++
		}
	}
	p.All, p.Faulted = len(all), strings.Join(faulted, ", ")
	return p, err
}

// etcd is what one node of etcd says.
type etcd struct {
	Name    string
	Healthy bool
	Said    string
	Latency time.Duration
}

// maxHealth is the most bytes of etcd's answer.
const maxHealth = 4 << 10

// measureEtcd asks for etcd's health over HTTP, as its own tools may.
func (e *exam) measureEtcd(ctx context.Context, url string) (n etcd, err error) {
	n.Name = rpc.Redact(url)
	c := e.Config.Cluster.Etcd
	trusted, err := cluster.Files{CA: c.CAFile, Cert: c.CertFile, Key: c.KeyFile}.Client(logrus.NewEntry(silent()))
	if err != nil {
		return n, err
	}
	transport := &http.Transport{TLSClientConfig: trusted}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/health", nil)
	if err != nil {
		return n, err
	}
	began := time.Now()
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		n.Said = rpc.WithoutSecrets(url, err).Error()
		return n, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxHealth))
	if err != nil {
		return n, fmt.Errorf("read the answer of %s: %w", n.Name, err)
	}
	var health struct {
		Health string `json:"health"`
	}
	n.Healthy = json.Unmarshal(text, &health) == nil && health.Health == "true"
	n.Latency, n.Said = time.Since(began), answer.Status+": "+string(text)
	return n, nil
}
