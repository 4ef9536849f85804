package api

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"

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
// The rows must be in ascending order of their keys, none of which is empty, and no two may have the same key; a list
// with the newest row first has keys of newestFirst. The cursor is the key of the last row that was shown, so rows that
// come or go between two questions make no other row appear twice or not at all. It is opaque to callers. The result
// shares the rows.
func page[T any](rows []T, key func(T) string, p Paging) (out []T, next string, err error) {
	if p.Limit < 1 || p.Limit > MaxPage {
		return nil, "", fmt.Errorf("%w: limit = %d, allowed: 1 to %d", problem.ErrBadRequest, p.Limit, MaxPage)
	}
	last, err := keyOf(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	from := 0
	if p.Cursor != "" {
		from = sort.Search(len(rows), func(i int) bool { return key(rows[i]) > last })
	}
	out = rows[from:min(len(rows), from+p.Limit)]
	if from+len(out) < len(rows) {
		next = cursorOf(key(out[len(out)-1]))
	}
	return out, next, nil
}

// newestFirst is a key for lists in descending order of a number.
func newestFirst(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, ^n)) }

// pick is page for rows that come in any order and are too many to be sorted for each question. The order is that of a
// number, which most rows are judged by, and then that of the rest of the key, which is appended to what is given. Two
// rows with the same key are one place in the list, at which one of them may be left out.
func pick[T any](
	rows iter.Seq[T], number func(T) uint64, rest func([]byte, T) []byte, p Paging,
) (out []T, next string, err error) {
	return pickFrom(func(func(uint64) bool) iter.Seq[T] { return rows }, number, rest, p)
}

// pickFrom is pick for rows of which the maker is told, while they are made, by which number they cannot be on the page
// any more; it may leave these out.
func pickFrom[T any](
	rows func(wanted func(number uint64) bool) iter.Seq[T],
	number func(T) uint64, rest func([]byte, T) []byte, p Paging,
) (out []T, next string, err error) {
	if _, _, err := page([]T{}, nil, p); err != nil {
		return nil, "", err
	}
	last, err := keyOf(p.Cursor)
	if err != nil {
		return nil, "", err
	}
	type candidate struct {
		key string
		row T
	}
	var best []candidate
	worst, most := "", uint64(math.MaxUint64) // of those that may be on the page, if there are enough
	order := func() {
		slices.SortFunc(best, func(a, b candidate) int { return cmp.Compare(a.key, b.key) })
		best = best[:min(len(best), p.Limit+1)]
	}
	var k []byte
	wanted := func(n uint64) bool { return n <= most }
	for row := range rows(wanted) {
		n := number(row)
		if !wanted(n) {
			continue
		}
		k = rest(binary.BigEndian.AppendUint64(k[:0], n), row)
		if string(k) <= last && p.Cursor != "" || worst != "" && string(k) >= worst {
			continue
		}
		best = append(best, candidate{string(k), row})
		if len(best) > 2*p.Limit {
			order()
			worst = best[len(best)-1].key
			most = binary.BigEndian.Uint64([]byte(worst))
		}
	}
	order()
	for _, c := range best[:min(len(best), p.Limit)] {
		out = append(out, c.row)
	}
	if len(best) > p.Limit {
		next = cursorOf(best[p.Limit-1].key)
	}
	return out, next, nil
}

func cursorOf(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

// keyOf reads a cursor, which may come from anywhere; the empty one has an empty key.
func keyOf(cursor string) (string, error) {
	if len(cursor) <= maxCursor {
		key, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
		if err == nil && cursorOf(string(key)) == cursor { // The decoder skips line ends.
			return string(key), nil
		}
	}
	return "", fmt.Errorf("%w: cursor %.40q; use the next of the page before, or none for the first page",
		problem.ErrBadRequest, cursor)
}
