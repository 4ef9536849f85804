package api

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

func TestAPageThatMakesNoSenseIsRefused(t *testing.T) {
	for name, p := range map[string]Paging{
		"no limit":          {},
		"a negative limit":  {Limit: -1},
		"too many":          {Limit: MaxPage + 1},
		"not base64":        {Limit: 1, Cursor: "?"},
		"padded":            {Limit: 1, Cursor: "YQ=="},
		"not canonical":     {Limit: 1, Cursor: "YR"},
		"two lines":         {Limit: 1, Cursor: "Y\nQ"},
		"longer than a key": {Limit: 1, Cursor: cursorOf(strings.Repeat("a", maxCursor))},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := page([]string{"a", "b"}, self, p)
			_, _, picked := pick(slices.Values([]string{"a", "b"}), length, appended, p)
			if !errors.Is(err, problem.ErrBadRequest) || !errors.Is(picked, problem.ErrBadRequest) {
				t.Fatalf("the errors are %v and %v", err, picked)
			}
		})
	}
}

func self(s string) string { return s }

func length(s string) uint64 { return uint64(len(s)) }

// whole is the key of which length and appended are the parts.
func whole(s string) string {
	return string(appended(binary.BigEndian.AppendUint64(nil, length(s)), s))
}

func appended(key []byte, s string) []byte { return append(key, s...) }

// What is picked from rows in any order is the page of the rows in order.
func TestAPickedPageIsThatOfTheRowsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfDistinct(rapid.StringMatching("[a-c]{1,4}"), rapid.ID).Draw(t, "rows")
		p := Paging{Limit: rapid.IntRange(1, 9).Draw(t, "limit")}
		if last := rapid.StringMatching("[a-c]{0,4}").Draw(t, "after"); last != "" {
			p.Cursor = cursorOf(whole(last))
		}
		got, gotNext, err := pick(slices.Values(rows), length, appended, p)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(rows, func(a, b string) int { return strings.Compare(whole(a), whole(b)) })
		want, next, err := page(rows, whole, p)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) || gotNext != next {
			t.Fatalf("picked %q, then %q; the page is %q, then %q", got, gotNext, want, next)
		}
	})
}

// A list is read page by page while rows come and go: each row that was there all the time is shown exactly once.
func TestPagesShowEachRowOnceWhileOthersComeAndGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64Range(0, 200)
		stay := rapid.SliceOfNDistinct(number, 0, 50, rapid.ID).Draw(t, "stay")
		var shown []uint64
		for p := (Paging{Limit: rapid.IntRange(1, 7).Draw(t, "limit")}); ; {
			rows := slices.Concat(stay, rapid.SliceOfN(number, 0, 20).Draw(t, "others"))
			slices.Sort(rows)
			rows = slices.Compact(rows)
			slices.Reverse(rows)
			got, next, err := page(rows, newestFirst, p)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) > p.Limit {
				t.Fatalf("%d rows, at most %d were asked for", len(got), p.Limit)
			}
			shown = append(shown, got...)
			if p.Cursor = next; next == "" {
				break
			}
		}
		if !slices.IsSortedFunc(shown, func(a, b uint64) int { return strings.Compare(newestFirst(a), newestFirst(b)) }) {
			t.Fatalf("not the newest first: %v", shown)
		}
		if len(slices.Compact(slices.Clone(shown))) != len(shown) {
			t.Fatalf("some twice: %v", shown)
		}
		slices.Sort(stay)
		shown = slices.DeleteFunc(shown, func(n uint64) bool { return !slices.Contains(stay, n) })
		slices.Reverse(shown)
		if diff := cmp.Diff(stay, shown); diff != "" && len(stay)+len(shown) > 0 {
			t.Fatalf("(-there all the time +shown)\n%s", diff)
		}
	})
}

func TestTheLastPageHasNoCursor(t *testing.T) {
	rows := []string{"a", "b", "c", "d"}
	var told []string
	for p := (Paging{Limit: 2}); ; {
		got, next, err := page(rows, self, p)
		told = append(told, fmt.Sprint(got, next != "", err))
		if p.Cursor = next; next == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"[a b] true <nil>", "[c d] false <nil>"}, told); diff != "" {
		t.Fatal(diff)
	}
}

// FuzzCursor: any cursor is refused, or is that of its key.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add("YQ")
	f.Add("YQ==")
	f.Fuzz(func(t *testing.T, cursor string) {
		key, err := keyOf(cursor)
		if err == nil && cursorOf(key) != cursor {
			t.Fatalf("cursor %q has key %q, whose cursor is %q", cursor, key, cursorOf(key))
		}
	})
}
