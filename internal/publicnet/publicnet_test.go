package publicnet_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/internal/publicnet"
)

func TestAPrivateAddressIsConnectedToIfAllowed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, name := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		for _, allowed := range []bool{false, true} {
			transport := publicnet.Transport(time.Minute, allowed)
			response, err := (&http.Client{Transport: transport}).Get(name)
			if err == nil {
				_ = response.Body.Close()
			}
			if allowed != (err == nil) || errors.Is(err, publicnet.ErrPrivate) == allowed {
				t.Errorf("%s, allowed %t: %v", name, allowed, err)
			}
			transport.CloseIdleConnections()
		}
	}
}

func TestWhichAddressesArePublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "::ffff:8.8.8.8": true, "2606:4700::1111": true, "64:ff9b::808:808": true, "172.32.0.1": true,
		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b::a00:1": false,
		"10.0.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "fd00::1": false, "fec0::1": false,
		"169.254.169.254": false, "fe80::1%eth0": false, "::ffff:169.254.169.254": false, "2606:4700::1%eth0": false,
		"0.0.0.0": false, "::": false, "0.1.2.3": false, "100.64.0.1": false, "192.0.0.192": false, "198.18.0.1": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false, "2002:7f00:1::": false,
		"64:ff9b:1::a00:1": false, "::7f00:1": false,
	} {
		if got := publicnet.Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}
