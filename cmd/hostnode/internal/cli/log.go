package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
)

// NewLog makes the host's log, one line per fact, without the secrets of the
// settings.
func NewLog(c config.Config, out io.Writer) *logrus.Entry {
	log := logrus.New()
	log.SetOutput(out)
	if level, err := logrus.ParseLevel(c.Log.Level); err == nil { // The configuration checked it.
		log.SetLevel(level)
	}
	log.SetFormatter(&logrus.TextFormatter{FullTimestamp: true})
	if c.Log.Format == "json" {
		log.SetFormatter(&logrus.JSONFormatter{TimestampFormat: time.RFC3339Nano})
	}
	log.AddHook(discretion(c.Secrets()))
	return logrus.NewEntry(log)
}

// discretion removes secrets from a log: a last resort against adapters and libraries that
// put them into errors.
type discretion []string

// Levels implements logrus.Hook.
func (discretion) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook. The entry is this line's own.
func (d discretion) Fire(e *logrus.Entry) error {
	e.Message = events.HideSecrets(e.Message, d)
	for key, value := range e.Data {
		switch v := value.(type) {
		case string:
			e.Data[key] = events.HideSecrets(v, d)
		case error:
			e.Data[key] = events.WithoutSecrets(v, d)
		case fmt.Stringer:
			e.Data[key] = events.HideSecrets(v.String(), d)
		}
	}
	return nil
}
