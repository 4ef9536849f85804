package stores

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
)

const (
	// patience is how long a call keeps trying before it reports that the server
	// does not answer. It is short, because a host that knows of the outage sends
	// due proofs without its event store, and repeats the call itself.
	patience = time.Second
	// callTimeout is how long a server may take to answer: far longer than a
	// busy one needs, far shorter than a proof period.
	callTimeout = 5 * time.Second
)

// openRemote connects to an EventStoreDB. If it refuses the user, renew is asked for
// the connection string again.
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
