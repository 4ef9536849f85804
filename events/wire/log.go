package wire

import (
	"io"

	"github.com/sirupsen/logrus"
)

// discard is a log that nobody reads.
func discard() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}
