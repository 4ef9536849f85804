package devchain

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/log"
)

// fatalLog reports the error on which go-ethereum ends the process: it does so when it cannot
// write its database, and without a message. All its other logs are dropped.
type fatalLog struct{ to io.Writer }

// reportFatalErrors sets it for the whole process: go-ethereum has one logger.
var reportFatalErrors = sync.OnceFunc(func() { log.SetDefault(log.NewLogger(fatalLog{os.Stderr})) })

func (fatalLog) Enabled(_ context.Context, l slog.Level) bool { return l >= log.LevelCrit }

func (w fatalLog) Handle(_ context.Context, r slog.Record) error {
	words := []string{r.Message}
	r.Attrs(func(a slog.Attr) bool {
		words = append(words, a.String())
		return true
	})
	_, err := fmt.Fprintf(w.to, "the development chain cannot go on, and this process ends with it: %s\n"+
		"  Look whether the disk is full or failing, then start again. What the event store acknowledged is safe.\n",
		strings.Join(words, " "))
	return err
}

func (w fatalLog) WithAttrs([]slog.Attr) slog.Handler { return w }
func (w fatalLog) WithGroup(string) slog.Handler      { return w }
