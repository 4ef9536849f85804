package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
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
	if c.Log.Format != "json" {
		log.AddHook(amounts(datadir.At(c.DataDir)))
	}
	return logrus.NewEntry(log)
}

// amounts puts the amounts in a log for people into the token of a data directory, once the host has asked for it.
type amounts datadir.Layout

// Levels implements logrus.Hook.
func (amounts) Levels() []logrus.Level { return logrus.AllLevels }

// Fire implements logrus.Hook. It looks for the file only when there is an amount, which is rare.
func (a amounts) Fire(e *logrus.Entry) error {
	if money.Mentions(e.Message) {
		e.Message = datadir.Layout(a).Token().Told(e.Message)
	}
	return nil
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
