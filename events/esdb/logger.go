package esdb

import (
	"fmt"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/sirupsen/logrus"
)

// bridge passes the client's log lines to logrus, all at debug level: the
// client reports every failed call as an error, even an expected one (a wrong
// revision, a closed reader). The store itself says what an operator must know.
// hook, unless nil, gets each line first, on the goroutine that logs it.
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
