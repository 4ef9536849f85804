// Package callback takes the calls of those whom this host asks, outside provers and brokers, when there is news. They
// bring the token that this host gave them. Nothing of what they say is believed: a call only makes the host ask again.
package callback

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"

	"golang.org/x/time/rate"
)

// maxBytes limits the body of a call, some ten times what it has.
const maxBytes = 4 << 10

// New takes calls that bring "Authorization: Bearer" and the token; without a token none. take gets what a call says,
// and refuses what has no meaning; it must not wait. perSecond limits the calls that are taken, in a second; the others
// get status 429, and the host asks at its own time.
func New[T any](token string, perSecond int, take func(T) error) http.Handler {
	limit := rate.NewLimiter(rate.Limit(perSecond), perSecond)
	return Known(token, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "call-backs are posted", http.StatusMethodNotAllowed)
			return
		}
		if !limit.Allow() {
			http.Error(w, "too many call-backs; this host asks by itself", http.StatusTooManyRequests)
			return
		}
		var said T
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes)).Decode(&said)
		if err == nil {
			err = take(said)
		}
		if err != nil {
			http.Error(w, "malformed call-back", http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// Known passes requests on that bring "Authorization: Bearer" and the token; without a token none.
func Known(token string, next http.HandlerFunc) http.Handler {
	want := []byte("Bearer " + token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token == "" || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "wrong token", http.StatusUnauthorized)
			return
		}
		next(w, r)
	})
}
