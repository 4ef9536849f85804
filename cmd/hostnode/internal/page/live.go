package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

// How a page learns that what it shows has changed: a stream of small messages, one for each browser (page.js). What
// has changed it finds out by loading itself again, so that a message that is lost does no harm.
const (
	lookEvery = 250 * time.Millisecond
	// beatEvery is how often a browser hears something while nothing changes, so that within five seconds it can say
	// that it hears nothing any more.
	beatEvery = time.Second
	// beatTime is how long a browser may take for a message.
	beatTime = 10 * time.Second
	maxLive  = 200
)

// beat is what a browser hears: up to where the views have read the record.
type beat struct {
	Position events.Position `json:"position"`
}

func (s *Site) now() beat { return beat{api.PositionOf(*s.backend.Load())} }

func (s *Site) tellLive(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.URL.Query().Get("once") != "" {
		h.Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.now()) // If the browser has gone, there is nobody to tell.
		return
	}
	if s.live.Add(1) > maxLive {
		s.live.Add(-1)
		s.refuse(w, r, Page{}, fmt.Errorf("%w: %d browsers are told already", problem.ErrTooMany, maxLive))
		return
	}
	defer s.live.Add(-1)
	h.Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var told beat
	for last := (time.Time{}); ; {
		if now := s.now(); now != told || time.Since(last) >= beatEvery {
			text, err := json.Marshal(now)
			if err != nil {
				return // It has only a number.
			}
			_ = control.SetWriteDeadline(time.Now().Add(beatTime))
			if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
				return
			}
			if control.Flush() != nil {
				return
			}
			told, last = now, time.Now()
		}
		select {
		case <-look.C:
		case <-r.Context().Done():
			return
		}
	}
}
