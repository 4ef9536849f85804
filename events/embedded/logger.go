package embedded

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// logger passes pebble's messages on, each kind of trouble once, because pebble
// retries at once and for ever what damage prevents. A fatal message stops the store,
// not the process: the guard then allows no change on disk.
type logger struct {
	to    Logger
	guard *guard
	told  sync.Map // what was said
}

// corruptionPause is how long pebble is kept waiting between two tries to read damaged
// bytes, once they have stopped the store.
const corruptionPause = 200 * time.Millisecond

func (l *logger) Infof(format string, args ...any) {
	if l.to != nil {
		l.to.Debugf(format, args...)
	}
}

func (l *logger) Errorf(format string, args ...any) {
	l.once(firstLine(fmt.Sprintf(format, args...)))
}

func (l *logger) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	l.guard.fail(fmt.Errorf(format, args...))
}

// corruption is called for each read of damaged bytes.
func (l *logger) corruption(i pebble.DataCorruptionInfo) {
	l.once(fmt.Sprintf("damaged: %s: %s; %s", i.Path, firstLine(i.Details.Error()), cure))
	if l.guard.stopped() {
		l.guard.wait(corruptionPause)
	}
}

// background is called with errors of pebble's background work. If damage prevents that
// work, tables would pile up until no append ended any more; so the store stops
// accepting appends, and says why.
func (l *logger) background(err error) {
	l.once("background error: " + firstLine(err.Error()))
	if pebble.IsCorruptionError(err) {
		l.guard.fail(&DamagedError{Reason: tidy{err}})
	}
}

func (l *logger) once(text string) {
	if _, told := l.told.LoadOrStore(text, true); !told && l.to != nil {
		l.to.Errorf("%s", text)
	}
}

// firstLine leaves out the stack traces and redaction marks of pebble's errors.
func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

// tidy is an error of pebble in one line.
type tidy struct{ error }

func (t tidy) Error() string { return firstLine(t.error.Error()) }

func (t tidy) Unwrap() error { return t.error }
