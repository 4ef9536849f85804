package aggregation

import (
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/messages"
)

// Contents is what is shown of a host's CARs.
type Contents struct {
	Waiting int `json:"waiting"` // to be read
	// Accepted and Refused count how often a CAR was, RefusedBy by the code, and Retried how often one is read again.
	Accepted  uint64            `json:"accepted"`
	Refused   uint64            `json:"refused"`
	Retried   uint64            `json:"retried"`
	RefusedBy map[string]uint64 `json:"refusedBy"`
	Queue     []Content         `json:"queue"`         // the first 1,000 that wait, the oldest first
	Latest    []Content         `json:"latestRefused"` // the newest 1,000, the oldest first
}

// Content is a CAR that waits or is refused.
type Content struct {
	Link string `json:"link"` // its CAR CID
	// At is when it was requested, Size its bytes, Group whose it is: absent, if it was settled long ago and is read
	// again.
	At      time.Time            `json:"at,omitzero"`
	Since   time.Time            `json:"since"` // it waits, or is refused
	Size    uint64               `json:"size,omitempty"`
	Group   string               `json:"group,omitempty"`
	Source  events.ContentSource `json:"source,omitzero"` // the newest
	Sources int                  `json:"sources"`
	Retries int                  `json:"retries,omitempty"`
	// WaitsFor says for what, Code and Detail why it is refused.
	WaitsFor string `json:"waitsFor,omitempty"`
	Code     string `json:"code,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// contents is the fold behind the view.
type contents struct {
	Accepted, Refused, Retried uint64
	RefusedBy                  map[string]uint64
	Order                      []*waiting // the oldest first, with some that wait no more
	Latest                     []Content

	waits map[string]*waiting // by their links; nil: Order was read from a checkpoint
}

type waiting struct {
	Content
	Over bool
}

func (c *contents) fold(r events.Recorded, e messages.ContentEvent) {
	c.ready()
	_, of, _ := events.ParseContentStream(r.Stream) // Of this category are only names that can be parsed.
	link := of.String()
	switch e := e.(type) {
	case *messages.ContentRequested:
		c.wait(Content{
			Link: link, At: e.GetAt().AsTime(), Since: e.GetAt().AsTime(), Size: e.GetSize(), Group: e.GetGroup(),
			Source: content.SourceOf(e.GetSource()), Sources: 1,
		})
	case *messages.ContentSourceAdded:
		if w := c.waits[link]; w != nil {
			w.Source = content.SourceOf(e.GetSource())
			w.Sources++
		}
	case *messages.ContentAccepted:
		c.over(link)
		c.Accepted++
	case *messages.ContentRefused:
		one := c.over(link)
		one.Since, one.Code, one.Detail = e.GetAt().AsTime(), e.GetCode(), e.GetDetail()
		c.Latest = append(c.Latest, one)
		c.Latest = c.Latest[max(0, len(c.Latest)-most):]
		c.Refused++
		c.RefusedBy[one.Code]++
	case *messages.ContentRetried:
		one := Content{Link: link}
		if i := slices.IndexFunc(c.Latest, func(known Content) bool { return known.Link == link }); i >= 0 {
			one = c.Latest[i]
			c.Latest = slices.Concat(c.Latest[:i], c.Latest[i+1:])
		}
		one.Since, one.Code, one.Detail = e.GetAt().AsTime(), "", ""
		one.Retries++
		c.wait(one)
		c.Retried++
	}
}

func (c *contents) ready() {
	if c.waits != nil {
		return
	}
	c.waits = map[string]*waiting{}
	for _, w := range c.Order {
		if !w.Over {
			c.waits[w.Link] = w
		}
	}
	if c.RefusedBy == nil {
		c.RefusedBy = map[string]uint64{}
	}
}

func (c *contents) wait(one Content) {
	c.over(one.Link)
	w := &waiting{Content: one}
	c.waits[one.Link] = w
	c.Order = append(c.Order, w)
}

// over has a CAR wait no more, and returns what was known of it.
func (c *contents) over(link string) Content {
	w := c.waits[link]
	if w == nil {
		return Content{Link: link}
	}
	w.Over = true
	delete(c.waits, link)
	if len(c.Order) > 2*len(c.waits)+most {
		c.Order = slices.DeleteFunc(c.Order, func(w *waiting) bool { return w.Over })
	}
	return w.Content
}

func (c *contents) rows() []Contents {
	row := Contents{
		Accepted: c.Accepted, Refused: c.Refused, Retried: c.Retried, RefusedBy: map[string]uint64{},
		Queue: []Content{}, Latest: append([]Content{}, c.Latest...),
	}
	maps.Copy(row.RefusedBy, c.RefusedBy)
	for _, w := range c.Order {
		if w.Over {
			continue
		}
		if row.Waiting++; len(row.Queue) < most {
			one := w.Content
			if one.WaitsFor = "to be read from its source"; one.Retries > 0 {
				one.WaitsFor = "to be read once more, because a person wants it"
			}
			row.Queue = append(row.Queue, one)
		}
	}
	return []Contents{row}
}
