package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/transfer"
)

// Errors of taking the record along.
var (
	// ErrNotEmbedded: the events are in an EventStoreDB.
	ErrNotEmbedded = errors.New("the events are not in the embedded store")
	// ErrNoBackupDir: the directory for a backup cannot be used.
	ErrNoBackupDir = errors.New("no directory for a backup")
	// ErrFileExists: an export would replace a file.
	ErrFileExists = errors.New("the file exists")
)

// Backup is what a backup has.
type Backup struct {
	Dir string `json:"dir"`
	// Position is the last event in it.
	Position events.Position `json:"position"`
	Files    int             `json:"files"`
	Bytes    int64           `json:"bytes"`
	// Time is when it was begun, by the machine's clock.
	Time time.Time `json:"time"`
}

// backuper is a store that can copy its own files.
type backuper interface {
	Backup(ctx context.Context, dir string) (embedded.BackupReport, error)
}

// Backup implements Backend. The directory becomes a data directory that holds
// only the events.
func (r *reader) Backup(ctx context.Context, dir string) (Backup, error) {
	store, ok := r.store.(backuper)
	if !ok {
		return Backup{}, fmt.Errorf("back up: %w", ErrNotEmbedded)
	}
	if err := r.freeFor(dir); err != nil {
		return Backup{}, err
	}
	began := r.now().UTC()
	target, err := datadir.Open(dir, r.now())
	if err != nil {
		return Backup{}, fmt.Errorf("back up: %w", err)
	}
	report, err := store.Backup(ctx, target.Events())
	if err := errors.Join(err, target.Close()); err != nil {
		return Backup{}, errors.Join(err, unmake(target))
	}
	return Backup{Dir: dir, Position: report.Last, Files: report.Files, Bytes: report.Bytes, Time: began}, nil
}

// unmake removes what was made for a failed backup, so that it can be tried
// again. The store has removed its part.
func unmake(made *datadir.Dir) error {
	for _, name := range []string{"format", filepath.Base(made.LockFile())} {
		if err := os.Remove(filepath.Join(made.Root, name)); err != nil {
			return fmt.Errorf("clear %s: %w", made.Root, err)
		}
	}
	// It stays if it is a mount point, for example.
	_ = os.Remove(made.Root)
	return nil
}

// freeFor refuses a directory in which no backup can be made.
func (r *reader) freeFor(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%w: %.200q is no absolute path", ErrNoBackupDir, dir)
	}
	if within(r.DataDir, dir) {
		return fmt.Errorf("%w: %s is in the data directory itself; name one elsewhere", ErrNoBackupDir, dir)
	}
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNoBackupDir, err)
	case len(entries) > 0:
		return fmt.Errorf("%w: %s is not empty, it has %s", ErrNoBackupDir, dir, entries[0].Name())
	}
	return nil
}

// within reports whether a path is a directory or below it.
func within(dir, path string) bool {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	relative, err := filepath.Rel(whole, path)
	return err == nil && filepath.IsLocal(relative)
}

// Export implements Backend.
func (r *reader) Export(ctx context.Context, w io.Writer, acceptScavenged bool) error {
	_, err := transfer.Export(ctx, r.store, w, transfer.Options{AcceptScavenged: acceptScavenged})
	return err
}

// Backup implements Backend.
func (c *Client) Backup(ctx context.Context, dir string) (Backup, error) {
	return ask[Backup](ctx, c, http.MethodPost, "/v1/backup", place{dir})
}

// place is where a backup is made.
type place struct {
	Dir string `json:"dir"`
}

const exportPath = "/v1/export"

// Export implements Backend. The reader of the export checks it: one that was
// cut off has no last line.
func (c *Client) Export(ctx context.Context, w io.Writer, acceptScavenged bool) error {
	address := "http://hostnode" + exportPath
	if acceptScavenged {
		address += "?acceptScavenged=true"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask the host: %w", err)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return c.unanswered(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(answer.Body, MaxBody))
		if err != nil {
			return fmt.Errorf("read the host's answer: %w", err)
		}
		return refusal(answer, text)
	}
	if _, err := io.Copy(w, answer.Body); err != nil {
		return fmt.Errorf("read the export of the running host: %w", err)
	}
	return nil
}

// exported sends an export. An error before the first bytes is sent as a
// problem; a later one ends the connection.
func exported(b Backend, log *logrus.Entry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			writeProblem(w, fmt.Errorf("%w: %.20s %s", ErrMethod, r.Method, exportPath))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), auditTime)
		defer cancel()
		out := &begun{ResponseWriter: w}
		err := b.Export(ctx, out, r.URL.Query().Get("acceptScavenged") == "true")
		switch {
		case err == nil:
		case !out.yes:
			writeProblem(w, err)
		default:
			log.Warnf("an export was cut off: %v", err)
			panic(http.ErrAbortHandler) // The one way to tell the other side.
		}
	})
}

// begun remembers that an answer has begun.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) Write(text []byte) (int, error) {
	if !b.yes {
		b.yes = true
		b.Header().Set("Content-Type", "application/jsonl")
		b.Header().Set("Cache-Control", "no-store")
	}
	return b.ResponseWriter.Write(text)
}
