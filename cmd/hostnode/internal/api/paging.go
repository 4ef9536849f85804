package api

import (
	"encoding/base64"
	"fmt"
	"sort"
	"unicode/utf8"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

// Limits of a page: what counts if a question does not say, and what is allowed.
const (
	DefaultPage = 100
	MaxPage     = 1_000
	// maxCursor is the longest cursor that is looked at. Keys are ids and numbers.
	maxCursor = 512
)

// Paging is the part of a question that selects a page of a list.
type Paging struct {
	// Limit is the most rows of the answer.
	Limit int `default:"100" query:"limit"`
	// Cursor is the Next of the page before; empty: the first page.
	Cursor string `query:"cursor"`
}

// Paged is the part of an answer that tells how a list goes on.
type Paged struct {
	// Next is the cursor of the next page; empty: this is the last one.
	Next string `json:"next,omitempty"`
}

// page returns the rows after a cursor, at most limit of them, and the cursor of what follows; empty: nothing does.
// The rows must be in ascending order of their keys, and no two may have the same key; a list with the newest row
// first has keys of newestFirst. The cursor is the key of the last row that was shown, so rows that come or go between
// two questions make no other row appear twice or not at all. It is opaque to callers. The result shares the rows.
func page[T any](rows []T, key func(T) string, p Paging) (out []T, next string, err error) {
	if p.Limit < 1 || p.Limit > MaxPage {
		return nil, "", fmt.Errorf("%w: limit = %d, allowed: 1 to %d", problem.ErrBadRequest, p.Limit, MaxPage)
	}
	from := 0
	if p.Cursor != "" {
		last, err := keyOf(p.Cursor)
		if err != nil {
			return nil, "", err
		}
		from = sort.Search(len(rows), func(i int) bool { return key(rows[i]) > last })
	}
	out = rows[from:min(len(rows), from+p.Limit)]
	if from+len(out) < len(rows) {
		next = cursorOf(key(out[len(out)-1]))
	}
	return out, next, nil
}

// newestFirst is a key for lists in descending order of a number.
func newestFirst(n uint64) string { return fmt.Sprintf("%016x", ^n) }

func cursorOf(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

// keyOf reads a cursor, which may come from anywhere.
func keyOf(cursor string) (string, error) {
	if len(cursor) <= maxCursor {
		key, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
		if err == nil && len(key) > 0 && utf8.Valid(key) && cursorOf(string(key)) == cursor { // Line ends are skipped.
			return string(key), nil
		}
	}
	return "", fmt.Errorf("%w: cursor %.40q; use the next of the page before, or none for the first page",
		problem.ErrBadRequest, cursor)
}
