//go:build e2e

package demo

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// links are the ways between the processes of a fault run. Each goes through a proxy.
type links struct {
	t      *testing.T
	server *toxiproxy.ApiServer
}

func newLinks(t *testing.T) *links {
	return &links{t, toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())}
}

// link is the way to a server.
type link struct {
	name  string
	proxy *toxiproxy.Proxy
}

func (l *links) to(name, server string) *link {
	l.t.Helper()
	p := toxiproxy.NewProxy(l.server, name, "127.0.0.1:0", server)
	if err := p.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(p.Stop)
	return &link{name, p}
}

// at is where the link begins.
func (l *link) at() string { return l.proxy.Listen }

// leadsTo lets the link lead to another server. Its connections are closed.
func (l *link) leadsTo(server string) error {
	l.proxy.Stop()
	l.proxy.Upstream = server
	return l.proxy.Start()
}

// harm is what can happen to a link.
type harm int

const (
	cut       harm = iota // connections are refused, and those that are there are closed
	mutedThen             // what is said to the server vanishes, and nothing is closed
	mutedBack             // what the server says vanishes
	muted                 // both: the link is half-open
	slow                  // everything is late
	harms
)

func (h harm) String() string {
	return [...]string{"cut", "one way: nothing arrives", "one way: nothing comes back", "half-open", "slow"}[h]
}

// late is how late everything is on a slow link, in each direction.
const late = 400 * time.Millisecond

func (l *link) do(h harm) error {
	toxic := func(kind, stream, attributes string) error {
		_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
			`{"name": %q, "type": %q, "stream": %q, "attributes": {%s}}`, stream, kind, stream, attributes)))
		return err
	}
	const vanish, up, down = `"timeout": 0`, "upstream", "downstream"
	switch h {
	case mutedThen:
		return toxic("timeout", up, vanish)
	case mutedBack:
		return toxic("timeout", down, vanish)
	case muted:
		if err := toxic("timeout", up, vanish); err != nil {
			return err
		}
		return toxic("timeout", down, vanish)
	case slow:
		attributes := fmt.Sprintf(`"latency": %d, "jitter": %d`, late.Milliseconds(), late.Milliseconds()/4)
		if err := toxic("latency", up, attributes); err != nil {
			return err
		}
		return toxic("latency", down, attributes)
	case cut, harms:
	}
	l.proxy.Stop()
	return nil
}

// heal ends all that happens to the link. Connections on which something vanished are closed.
func (l *link) heal() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l.proxy.Toxics.ResetToxics(ctx)
	if l.proxy.Enabled {
		return nil
	}
	return l.proxy.Start()
}
