package esdb

import (
	"fmt"
	"io"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/sirupsen/logrus"
)

func discard() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return logrus.NewEntry(log)
}

// bridge hands the client's log lines to logrus, all at debug level: the client
// calls every failed call an error, also what is expected (a wrong revision, a
// reader that was closed). What an operator must know is said by the store.
// hook, unless nil, sees each line first, on the goroutine that says it.
func bridge(log *logrus.Entry, hook func(format string, args []any)) esdb.LoggingFunc {
	return func(level esdb.LogLevel, format string, args ...any) {
		if len(args) == 1 { // Some calls hand over all arguments as one slice.
			if all, ok := args[0].([]any); ok {
				args = all
			}
		}
		if hook != nil {
			hook(format, args)
		}
		if log.Logger.IsLevelEnabled(logrus.DebugLevel) {
			log.WithField("clientLevel", level).Debugf("event store client: %s", fmt.Sprintf(format, args...))
		}
	}
}
