package serverviews

import (
	"context"
	"strings"

	"github.com/hostnode/hostnode/projections/js"
)

// Row says how one projection is doing.
type Row struct {
	Name string `json:"name"`
	// Version is this build's version, Installed the server's: 0 when it is not
	// installed, or the server does not show it.
	Version   int `json:"version"`
	Installed int `json:"installedVersion"`
	// State is the server's word, such as Running, Stopped or Faulted; empty
	// when it is not installed.
	State string `json:"state"`
	// Current says that the server runs the source of this build.
	Current bool `json:"current"`
	// Position is how far it has read, in the server's words, and Progress how
	// much of the log that is, in per cent.
	Position string  `json:"position,omitempty"`
	Progress float32 `json:"progressPercent"`
	// Reason is why it faulted.
	Reason string `json:"reason,omitempty"`
}

// There reports whether the server has the projection.
func (r Row) There() bool { return r.State != "" }

// Status returns the state of all projections of this build, in order of their
// names.
func (s *Server) Status(ctx context.Context) ([]Row, error) {
	found, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, p := range js.All() {
		row := Row{Name: p.Name, Version: p.Version}
		if there := found[p.Name]; there != nil {
			row.State, row.Reason = there.Status, reasonOf(there.StateReason)
			row.Position, row.Progress = clip(there.Position, maxPosition), there.Progress
			if known, err := js.Parse(there.query); err == nil {
				row.Installed = known.Version
			}
			row.Current = there.query == p.Query && there.is("Running")
		}
		rows = append(rows, row)
	}
	return rows, nil
}

const (
	// maxPosition and maxReason are the most characters of a position, which names
	// every stream that a projection reads, and of a reason.
	maxPosition = 60
	maxReason   = 300
)

// reasonOf returns the server's reason up to the stack trace, in one line.
func reasonOf(text string) string {
	var said []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "at ") {
			break
		}
		said = append(said, line)
	}
	return clip(strings.Join(said, " "), maxReason)
}

func clip(text string, most int) string {
	if all := []rune(text); len(all) > most {
		return string(all[:most-1]) + "…"
	}
	return text
}
