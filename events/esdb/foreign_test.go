package esdb

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"google.golang.org/grpc"

	"github.com/hostnode/hostnode/events"
)

// prerelease is a server whose version has a suffix.
type prerelease struct {
	serverfeatures.UnimplementedServerFeaturesServer
}

func (prerelease) GetSupportedMethods(context.Context, *shared.Empty) (*serverfeatures.SupportedMethods, error) {
	return &serverfeatures.SupportedMethods{EventStoreServerVersion: "25.0.0-prerelease"}, nil
}

// TestWhatIsNoEventStoreIsSaidAtOnce: waiting does not help against a wrong port, nor against a version that the
// client cannot read.
func TestWhatIsNoEventStoreIsSaidAtOnce(t *testing.T) {
	other, odd := grpc.NewServer(), grpc.NewServer()
	serverfeatures.RegisterServerFeaturesServer(odd, prerelease{})
	page := &http.Server{Protocols: new(http.Protocols), Handler: http.NotFoundHandler()}
	page.Protocols.SetUnencryptedHTTP2(true)
	for _, c := range []struct {
		name, says string
		settings   bool
		serve      func(net.Listener) error
		stop       func()
	}{
		{"another service", "something else than an event store", true, other.Serve, other.Stop},
		{"a suffix", `"25.0.0-prerelease"`, true, odd.Serve, odd.Stop},
		{"a web server", "404", false, page.Serve, func() { _ = page.Close() }},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- c.serve(listener) }()
		patience := time.Minute
		if !c.settings {
			patience = 100 * time.Millisecond
		}
		began := time.Now()
		s, err := Open(t.Context(), Config{URL: "esdb://" + listener.Addr().String() + "?tls=false", OpenTimeout: patience})
		if err == nil {
			_ = s.Close()
		}
		if !errors.Is(err, events.ErrAway) || errors.Is(err, ErrSettings) != c.settings || !strings.Contains(err.Error(), c.says) ||
			time.Since(began) >= time.Minute {
			t.Errorf("%s, after %s: %v", c.name, time.Since(began), err)
		}
		c.stop()
		<-served
	}
	for version, want := range map[string]bool{
		"24.10.0": true, "25.0": true, "23.10.6.0-x": true, "": false, "25.0.0-rc1": false, "main": false,
	} {
		if readable(version) != want {
			t.Errorf("%q can be read: %t", version, !want)
		}
	}
}
