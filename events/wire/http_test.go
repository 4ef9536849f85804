package wire_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestHTTPIsAnsweredWithASentence: some clients ask over HTTP for what is not
// served, and would see a connection that breaks.
func TestHTTPIsAnsweredWithASentence(t *testing.T) {
	plain, secured := serve(t, nil), serveTLS(t, nil)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: secured.pool, ServerName: "localhost"},
		DisableKeepAlives: true,
	}}
	for _, url := range []string{"http://" + plain.address, "https://" + secured.address} {
		for _, body := range []string{"", "{}", strings.Repeat("x", 20_000)} {
			r, err := client.Post(url+"/subscriptions/a-1/group/replayParked", "application/json", strings.NewReader(body))
			if err != nil {
				t.Errorf("%s with %d bytes: %v", url, len(body), err)
				continue
			}
			text, err := io.ReadAll(r.Body)
			r.Body.Close()
			if err != nil || r.StatusCode != http.StatusNotImplemented || !strings.Contains(string(text), "gRPC") {
				t.Errorf("%s with %d bytes: %s, %q, %v", url, len(body), r.Status, text, err)
			}
		}
	}
	appendTo(t, plain.client(t, ""), "a-1", numbers(1)...)
	appendTo(t, secured.client(t, "admin"), "a-1", numbers(1)...)
}
