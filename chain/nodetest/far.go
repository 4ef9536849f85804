package nodetest

import (
	"net/http"
	"time"
)

// Far is an endpoint that is a way off: each message over HTTP takes that much longer, however many
// calls are in it, and messages that are on their way at the same time do not wait for each other.
func Far(away time.Duration, endpoint http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		timer := time.NewTimer(away)
		defer timer.Stop()
		select {
		case <-timer.C:
			endpoint.ServeHTTP(out, in)
		case <-in.Context().Done():
		}
	})
}
