package esdb

import (
	"fmt"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// NewProjectionClient makes the client's access to the server's projections,
// with the settings of Open: the URL is checked in the same way, and the client
// logs to the same log. It connects with the first call. Give each call a
// context that ends, and do not wait for a call any longer: while no node
// answers, the client ignores the context until its maxDiscoverAttempts (10)
// are used up; after that it stays dead, and a new one is needed. Explain
// translates its errors. The caller closes it, when no call is running.
func NewProjectionClient(cfg Config) (*esdb.ProjectionClient, error) {
	conf, err := cfg.parse()
	if err != nil {
		return nil, err
	}
	deadline := cfg.withDefaults(conf).CallTimeout
	conf.DefaultDeadline = &deadline
	conf.Logger = bridge(cfg.log(), nil)
	client, err := esdb.NewProjectionClient(conf)
	if err != nil {
		return nil, fmt.Errorf("event store client: %w", err)
	}
	return client, nil
}
