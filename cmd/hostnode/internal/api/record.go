package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/transfer"
	"github.com/hostnode/hostnode/messages"
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

// Backup implements Inspector. The directory becomes a data directory that holds
// only the events.
func (r *reader) Backup(ctx context.Context, dir string) (Backup, error) {
	store, ok := r.store.(*embedded.Store)
	if !ok {
		return Backup{}, fmt.Errorf("back up: %w", problem.ErrNotEmbedded)
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
		return fmt.Errorf("%w: %.200q is no absolute path", problem.ErrNoBackupDir, dir)
	}
	if within(r.DataDir, dir) {
		return fmt.Errorf("%w: %s is in the data directory itself; name one elsewhere", problem.ErrNoBackupDir, dir)
	}
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", problem.ErrNoBackupDir, err)
	case len(entries) > 0:
		return fmt.Errorf("%w: %s is not empty, it has %s", problem.ErrNoBackupDir, dir, entries[0].Name())
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

// ExportOptions say what to export.
type ExportOptions struct {
	// AcceptScavenged is transfer.Options.AcceptScavenged.
	AcceptScavenged bool
	// Host is whose streams are exported, with those of its markets; zero: all streams.
	Host events.Address
	// Cut is transfer.Options.Cut.
	Cut map[string]uint64
}

// In are the options of a transfer from a store. A host that it does not know is replay.ErrUnknownStream.
func (o ExportOptions) In(ctx context.Context, store events.Store) (transfer.Options, error) {
	options := transfer.Options{AcceptScavenged: o.AcceptScavenged, Cut: o.Cut}
	if o.Host.Zero() {
		return options, nil
	}
	name, codec, with := events.HostStream(o.Host), catalog.Codec(), map[string]bool{events.LossStream: true}
	for r, err := range store.ReadStream(ctx, name, events.ReadStream{}) {
		switch {
		case errors.Is(err, events.ErrStreamNotFound):
			return options, fmt.Errorf("%w: %s", replay.ErrUnknownStream, name)
		case err != nil:
			return options, fmt.Errorf("read which markets the host was in: %w", err)
		}
		if m, err := codec.Decode(r); err == nil { // What cannot be read is exported all the same.
			if start, ok := m.(*messages.HostStarted); ok {
				contract := events.Must(events.ParseAddress(start.GetContract()))
				with[events.MarketStream(start.GetChainId(), contract)] = true
			}
		}
	}
	options.Only = func(stream string) bool {
		owner, ours := catalog.Streams().Owner(stream)
		return ours && owner == o.Host || with[stream]
	}
	return options, nil
}

// Export implements Backend.
func (r *reader) Export(ctx context.Context, w io.Writer, o ExportOptions) error {
	options, err := o.In(ctx, r.store)
	if err == nil {
		_, err = transfer.Export(ctx, r.store, w, options)
	}
	return err
}

const exportPath = Root + "export"

// Export implements Backend. The reader of the export checks it: one that was
// cut off has no last line.
func (c *Client) Export(ctx context.Context, w io.Writer, o ExportOptions) error {
	query := url.Values{}
	if o.AcceptScavenged {
		query.Set("acceptScavenged", "true")
	}
	if !o.Host.Zero() {
		query.Set("host", o.Host.String())
	}
	for stream, revision := range o.Cut {
		query.Add("cut", fmt.Sprintf("%s@%d", stream, revision))
	}
	address := "http://hostnode" + exportPath + "?" + query.Encode()
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
			writeProblem(w, fmt.Errorf("%w: %.20s %s", problem.ErrMethod, r.Method, exportPath))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), auditTime)
		defer cancel()
		out := &begun{ResponseWriter: w}
		o, err := exportOptions(r.URL.Query())
		if err == nil {
			err = b.Export(ctx, out, o)
		}
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

func exportOptions(query url.Values) (o ExportOptions, err error) {
	o.AcceptScavenged = query.Get("acceptScavenged") == "true"
	if host := query.Get("host"); host != "" {
		if o.Host, err = events.ParseAddress(host); err != nil {
			return o, fmt.Errorf("%w: host: %w", problem.ErrBadRequest, err)
		}
	}
	o.Cut, err = ParseCut(query["cut"])
	return o, err
}

// ParseCut reads ExportOptions.Cut: STREAM@REVISION, each.
func ParseCut(all []string) (map[string]uint64, error) {
	cut := map[string]uint64{}
	for _, text := range all {
		at := strings.LastIndexByte(text, '@')
		revision, err := strconv.ParseUint(text[at+1:], 10, 64)
		if at < 1 || err != nil {
			return nil, fmt.Errorf("%w: cut %.200q, want STREAM@REVISION", problem.ErrBadRequest, text)
		}
		cut[text[:at]] = revision
	}
	return cut, nil
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
