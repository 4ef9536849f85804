package access

import (
	"net/http"
	"net/http/pprof" //nolint:gosec // What it adds to http.DefaultServeMux is never served.
	"time"
)

// profileTime is how long a profile or a trace may take.
const profileTime = 10 * time.Minute

// profilePaths are below the switch api.pprof. They tell what is in memory, so they need a token of scope operate, or
// are asked from this machine.
var profilePaths = []string{ProfilesPath}

// ProfilesPath is where Profiles are.
const ProfilesPath = "/debug/pprof/"

// Profiles serves the profiles of the process, for go tool pprof. Guard says to whom.
func Profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(ProfilesPath, pprof.Index)
	mux.HandleFunc(ProfilesPath+"cmdline", pprof.Cmdline)
	mux.HandleFunc(ProfilesPath+"profile", pprof.Profile)
	mux.HandleFunc(ProfilesPath+"symbol", pprof.Symbol)
	mux.HandleFunc(ProfilesPath+"trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Nothing is written while a profile is taken.
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(profileTime)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
