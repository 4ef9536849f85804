package stores

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
)

const (
	// patience is how long a call tries again before it says that the server is
	// away. It is short, because a host sends proofs that are due without its
	// record as soon as it knows that the record is away, and tries again itself.
	patience = time.Second
	// callTimeout is how long a server may take to answer: far above what a busy
	// one needs, far below a proof period.
	callTimeout = 5 * time.Second
)

// openRemote connects to an EventStoreDB. When it refuses the user, renew is asked for
// the connection string anew.
func openRemote(
	ctx context.Context, connection string, renew func() (string, error), log *logrus.Entry,
) (events.Store, error) {
	store, err := esdb.Open(ctx, esdb.Config{
		URL: connection, Renew: renew, Log: log, Patience: patience, CallTimeout: callTimeout,
	})
	if err != nil {
		return nil, err
	}
	return store, nil
}
