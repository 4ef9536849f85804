package transfer

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/hostnode/hostnode/events"
)

// Export writes all streams of a store to a file, up to the present end of the
// store. The file is complete only if there is no error: it ends with a line
// that says how much it holds. Streams of which a part was scavenged are
// ErrScavenged unless they are accepted; the file then has what is left.
func Export(ctx context.Context, from events.Store, w io.Writer, o Options) (Report, error) {
	buffered := bufio.NewWriterSize(w, 1<<20)
	e := &exporter{from: &logSource{store: from, options: o}, options: o, seen: tally{}, out: writer{w: buffered}}
	var err error
	if e.from.last, err = from.Head(ctx); err == nil {
		err = e.all(ctx)
	}
	if err == nil {
		err = buffered.Flush()
	}
	e.report.Others = e.from.others
	if err != nil {
		err = fmt.Errorf("export: %w", err)
	}
	return e.report, err
}

type exporter struct {
	from    *logSource
	options Options
	seen    tally
	out     writer
	report  Report
}

func (e *exporter) all(ctx context.Context) error {
	if err := e.out.line(line{Format: fileFormat, Version: FileVersion}); err != nil {
		return err
	}
	if err := e.from.each(ctx, e.item); err != nil {
		return err
	}
	digest := e.seen.digest(e.from.last)
	for _, s := range digest.Streams {
		if s.Events > 0 {
			e.report.Streams++
		}
		if s.Missing > 0 {
			e.report.Scavenged = append(e.report.Scavenged, s.Stream)
		}
		if s.Metadata == nil && !s.Ended {
			continue
		}
		if err := e.out.line(line{Stream: s.Stream, StreamMetadata: s.Metadata, Deleted: s.Ended}); err != nil {
			return err
		}
		if s.Ended {
			e.report.Ended++
		} else {
			e.report.Metadata++
		}
	}
	e.report.Digest = digest
	return e.out.line(line{End: &ending{
		Events: digest.Events, Streams: len(digest.Streams), Digest: digest.Sum.String(),
	}})
}

func (e *exporter) item(i item) error {
	if err := e.seen.add(i); err != nil {
		return err
	}
	s := e.seen[i.stream]
	if n := e.report.Copied; e.options.Progress != nil && (n%progressEvery == 0 || i.position == e.from.last) {
		e.options.Progress(Progress{Step: StepCopy, Position: i.position, Last: e.from.last, Events: n})
	}
	if i.about != isEvent {
		return nil
	}
	if s.next > s.events && !e.options.AcceptScavenged {
		return listed(ErrScavenged, []Difference{{
			Stream: i.stream, What: fmt.Sprintf("event %d follows event %d", i.revision, int64(s.events)-2),
		}})
	}
	i.revision = s.events - 1
	e.report.Copied++
	e.report.Bytes += uint64(i.event.Size())
	return e.out.eventLine(i, i.recorded)
}
