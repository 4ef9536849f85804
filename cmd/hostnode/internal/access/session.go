package access

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

// This file lets a browser in, which cannot send a token with each request: it is given the token once, and keeps it in
// a cookie that no script can read and that is sent to the pages only, not to the API. What the token may, and since
// when it may nothing any more, is asked at each request, as for all tokens.

// Where browsers sign in and out, below the pages.
const (
	PagesPath   = "/page/"
	SignInPath  = PagesPath + "login"
	signOutPath = PagesPath + "logout"
	assetsPath  = PagesPath + "assets/"
)

const (
	cookieName = "hostnode"
	// cookieTime is how long a browser keeps the token.
	cookieTime = 7 * 24 * time.Hour
	// maxSignIn is the most bytes of the form.
	maxSignIn = 4 << 10
)

// WhyNotIn is what is told after a sign-in that was refused. Only these can be had, because the code is in the address.
func WhyNotIn(code string) string {
	return map[string]string{
		"wrong": "That is no token of this host, or it was revoked.",
		"often": "There were too many wrong tokens. Wait a minute.",
		"order": "Sign in with a token that allows orders, and give the order again.",
	}[code]
}

// cookieOf is the token that a browser keeps; empty: it keeps none.
func cookieOf(r *http.Request) string {
	if !strings.HasPrefix(r.URL.Path, PagesPath) {
		return ""
	}
	c, err := r.Cookie(cookieName)
	if err != nil {
		return ""
	}
	return c.Value
}

// fromBrowser reports whether a request says from which page it comes, as all that browsers post do. A form of another
// site could be sent with the cookie by a browser that does not say so.
func fromBrowser(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// session answers what is posted to sign in or out; false: the request is something else.
func (g *guard) session(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost || r.URL.Path != SignInPath && r.URL.Path != signOutPath {
		return false
	}
	if err := g.mayAsk(w.Header(), r); err != nil {
		refuse(w, r, err)
		return true
	}
	if r.URL.Path == signOutPath {
		g.keep(w, r, "", -1)
		http.Redirect(w, r, SignInPath, http.StatusSeeOther)
		return true
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
	secret, next := strings.TrimSpace(r.PostFormValue("token")), r.PostFormValue("next")
	if _, err := g.check(w.Header(), r, secret); err != nil {
		why := "wrong"
		if errors.Is(err, problem.ErrTooOften) {
			why = "often"
		}
		http.Redirect(w, r, signIn(next, why), http.StatusSeeOther)
		return true
	}
	g.keep(w, r, secret, int(cookieTime/time.Second))
	http.Redirect(w, r, ownPage(next), http.StatusSeeOther)
	return true
}

// keep has the browser keep a token for so many seconds; -1: it forgets it.
func (g *guard) keep(w http.ResponseWriter, r *http.Request, secret string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: secret, Path: PagesPath, MaxAge: seconds,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
}

// ownPage is an address that a browser is led to, if it is one of our pages; else the first of these.
func ownPage(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, PagesPath) || !plain(u.Path) {
		return PagesPath
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// signIn is the address of the form, after which next is shown.
func signIn(next, why string) string {
	query := url.Values{}
	if why != "" {
		query.Set("why", why)
	}
	if next = ownPage(next); next != PagesPath {
		query.Set("next", next)
	}
	return (&url.URL{Path: SignInPath, RawQuery: query.Encode()}).String()
}

// refusePage leads a browser that shows a page to the form, if a token would help.
func (g *guard) refusePage(w http.ResponseWriter, r *http.Request, err error) bool {
	if !strings.HasPrefix(r.URL.Path, PagesPath) || !errors.Is(err, problem.ErrUnauthorized) &&
		!(errors.Is(err, problem.ErrForbidden) && r.Method == http.MethodPost) {
		return false
	}
	next, why := r.URL.RequestURI(), ""
	if r.Method == http.MethodPost {
		why = "order"
	}
	if cookieOf(r) != "" && errors.Is(err, problem.ErrUnauthorized) {
		g.keep(w, r, "", -1)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("WWW-Authenticate")
	http.Redirect(w, r, signIn(next, why), http.StatusSeeOther)
	return true
}
