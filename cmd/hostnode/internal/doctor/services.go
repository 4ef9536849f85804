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

// askRecord is about the event store. It opens no embedded store: a host that runs has it, and says itself when it is
// away; and without a host, opening it may mend it.
func (e *exam) askRecord(ctx context.Context, running bool) ([]Finding, error) {
	is := func(name, how string) []Finding { return []Finding{found("%s: %s", name, how)} }
	spec := stores.FromConfig(e.Config)
	switch {
	case !spec.Remote() && running:
		return is(spec.Dir, "the host that runs uses it"), nil
	case !spec.Remote():
		if err := e.dir.RecordIsHere(); err != nil {
			return nil, err
		}
		_, err := os.ReadDir(spec.Dir)
		if errors.Is(err, os.ErrNotExist) {
			return is(spec.Dir, "the first start makes it"), nil
		}
		return is(spec.Dir, "it is there; hostnode audit reads all of it"), err
	}
	spec.OpenTimeout = e.Timeout
	store, err := stores.Open(ctx, spec, nil)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	owner := e.Config.AccountAddress()
	if owner.Zero() {
		if owner, err = e.dir.Owner(); err != nil {
			return nil, err
		}
	}
	// As a start does: it must decide, and let the account write.
	err = events.Confirm(ctx, store.Store, events.HostStream(owner))
	return is(store.Name, "it answers, and lets the host write"), err
}

func (e *exam) measureProjections(ctx context.Context) ([]serverviews.Row, error) {
	connection, err := stores.FromConfig(e.Config).Connection()
	if err != nil {
		return nil, err
	}
	server, err := serverviews.Connect(esdb.Config{URL: connection})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	all, err := server.Status(ctx)
	if errors.Is(err, serverviews.ErrNoProjections) || errors.Is(err, events.ErrDenied) {
		return nil, nil // A host's user need not see them.
	}
	return all, err
}

// maxHealth is the most bytes of etcd's answer.
const maxHealth = 4 << 10

// askEtcd asks a node for its health over HTTP, as etcd's own tools may.
func (e *exam) askEtcd(ctx context.Context, url string) ([]Finding, error) {
	name := rpc.Redact(url)
	ill := func(said string) []Finding {
		return []Finding{found("%s: not healthy: %s", name, said).
			but(Warn, "", "without a majority of etcd's nodes no other member takes over: look at etcd's log")}
	}
	c := e.Config.Cluster.Etcd
	trusted, err := cluster.Files{CA: c.CAFile, Cert: c.CertFile, Key: c.KeyFile}.Client(logrus.NewEntry(silent()))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: trusted}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/health", nil)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return ill(rpc.WithoutSecrets(url, err).Error()), nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxHealth))
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", name, err)
	}
	var health struct {
		Health string `json:"health"`
	}
	if json.Unmarshal(text, &health) != nil || health.Health != "true" {
		return ill(answer.Status + ": " + string(text)), nil
	}
	return []Finding{found("%s: healthy, answers in %s", name, rounded(time.Since(began)))}, nil
}
