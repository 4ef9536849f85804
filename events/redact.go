package events

import (
	"net/url"
	"slices"
	"strings"
)

// This file keeps secrets out of what people see. Every part of the program that shows a
// URL, or an error of a call to one, uses these functions.

// Hidden is shown instead of a secret.
const Hidden = "***"

const (
	// longSegment is the length, in characters, from which a part of a path is taken for
	// an API key.
	longSegment = 16
	// shortSecret is the length, in characters, up to which a text is not treated
	// as a secret: hiding it everywhere would make other texts illegible and
	// protect nothing.
	shortSecret = 3
)

// RedactURL returns a URL, or a connection string, fit to be shown: without password, query
// values, and parts of the path that look like keys. It also returns the secrets that it
// left out, in every form in which they may be written. A text that cannot be parsed is
// hidden as a whole. plain lists the settings of a connection string, in lower case, whose
// values may be shown; if there are any, a user without a password is a name and not a
// token.
func RedactURL(text string, plain ...string) (name string, secrets []string) {
	scheme, rest, ok := strings.Cut(text, "://")
	switch _, err := url.Parse(text); {
	case !ok && strings.HasPrefix(text, "/"):
		return text, nil // The path of a socket.
	case !ok:
		scheme, rest = "", text
	case err != nil && len(plain) == 0:
		return scheme + "://" + Hidden, []string{rest}
	default:
		scheme += "://"
	}
	hide := func(secret string) {
		for _, unescape := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
			if whole, err := unescape(secret); err == nil {
				secrets = append(secrets, secret, whole, url.PathEscape(whole), url.QueryEscape(whole))
			}
		}
		secrets = append(secrets, secret)
	}
	user, rest := splitUser(rest, len(plain) > 0, hide)
	rest, fragment, found := strings.Cut(rest, "#")
	if found {
		hide(fragment)
	}
	rest, query, asked := strings.Cut(rest, "?")
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		if i > 0 && len(s) >= longSegment {
			hide(s)
			segments[i] = Hidden
		}
	}
	name = scheme + user + strings.Join(segments, "/")
	if asked {
		name += "?" + shownQuery(query, plain, hide)
	}
	return name, slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
}

// splitUser takes user and password off what follows the scheme. An @ after the host may
// belong to a password that was not escaped; then everything before it is hidden.
func splitUser(rest string, named bool, hide func(string)) (user, behind string) {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return "", rest
	}
	name, password, both := strings.Cut(rest[:at], ":")
	switch {
	case at > end:
		hide(rest[:at])
		hide(password)
		return Hidden + "@", rest[at+1:]
	case both:
		hide(password)
		return name + ":" + Hidden + "@", rest[at+1:]
	case named:
		return name + "@", rest[at+1:]
	}
	hide(name) // Without a password it is a token.
	return Hidden + "@", rest[at+1:]
}

func shownQuery(query string, plain []string, hide func(string)) string {
	var shown []string
	hidden := false
	for part := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		if slices.Contains(plain, strings.ToLower(key)) {
			shown = append(shown, part)
			continue
		}
		hidden = true
		hide(value)
		if value == "" {
			hide(key)
		}
	}
	if hidden {
		hide(query)
		shown = append(shown, Hidden)
	}
	return strings.Join(shown, "&")
}

// HideSecrets returns a text without the secrets. It hides the longest first, because one may be
// part of another.
func HideSecrets(text string, secrets []string) string {
	for _, s := range slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) {
		if len(s) > shortSecret {
			text = strings.ReplaceAll(text, s, Hidden)
		}
	}
	return text
}

// WithoutSecrets returns the same error with a text that shows no secret.
func WithoutSecrets(err error, secrets []string) error {
	if err == nil || len(secrets) == 0 {
		return err
	}
	return &discreet{err, HideSecrets(err.Error(), secrets)}
}

// discreet is an error whose text shows no secret.
type discreet struct {
	error
	text string
}

func (e *discreet) Error() string { return e.text }
func (e *discreet) Unwrap() error { return e.error }
