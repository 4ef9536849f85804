package wire_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestHTTPIsAnsweredWithASentence: some clients ask over HTTP for what is not
// served, and would see a connection that breaks.
func TestHTTPIsAnsweredWithASentence(t *testing.T) {
	plain, secured := serve(t, nil), serveTLS(t, nil)
	for version, name := range []string{1: "HTTP/1", 2: "HTTP/2"} {
		if version == 0 {
			continue
		}
		var protocols http.Protocols
		protocols.SetHTTP1(version == 1)
		protocols.SetHTTP2(version == 2)
		protocols.SetUnencryptedHTTP2(version == 2)
		client := &http.Client{Timeout: patience, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: secured.pool, ServerName: "localhost"}, Protocols: &protocols,
			DisableKeepAlives: version == 1, // Over HTTP/2 the client has to heed what the server says of it.
		}}
		for _, url := range []string{"http://" + plain.address, "https://" + secured.address} {
			ask := map[string]func() (*http.Response, error){
				"GET": func() (*http.Response, error) { return client.Get(url + "/info") },
			}
			for _, size := range []int{0, 2, 20_000, 20_000 + version/2*60_000} { // More than the window of HTTP/2.
				ask[fmt.Sprint("POST of ", size)] = func() (*http.Response, error) {
					body := strings.NewReader(strings.Repeat("x", size))
					return client.Post(url+"/subscriptions/a-1/group/replayParked", "application/json", body)
				}
			}
			for what, ask := range ask {
				r, err := ask()
				if err != nil {
					t.Errorf("%s %s over %s: %v", what, url, name, err)
					continue
				}
				text, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err != nil || r.StatusCode != http.StatusNotImplemented || r.ProtoMajor != version ||
					!strings.Contains(string(text), "gRPC") {
					t.Errorf("%s %s over %s: %s by %s, %q, %v", what, url, name, r.Status, r.Proto, text, err)
				}
			}
		}
	}
	appendTo(t, plain.client(t, ""), "a-1", numbers(1)...)
	appendTo(t, secured.client(t, "admin"), "a-1", numbers(1)...)
}
