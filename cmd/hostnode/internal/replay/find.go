package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events/catalog"
)

// ErrAmbiguous is returned, wrapped, by Find when a text stands for several streams.
var ErrAmbiguous = errors.New("several streams begin like that")

// Find returns the name of the stream that a text stands for: its name, the
// beginning of the name, its category if that has one stream only, or what
// isMeant says. ErrUnknownStream names the nearest known ones.
func Find(typed string, known []string) (string, error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return "", fmt.Errorf("%w: no name was given", ErrUnknownStream)
	}
	if slices.Contains(known, typed) {
		return typed, nil
	}
	var found []string
	for _, name := range known {
		if strings.HasPrefix(name, typed) || isMeant(name, typed) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fmt.Errorf("%w: %q is the beginning of %s and %s, at least",
			ErrAmbiguous, clip(typed), found[0], found[1])
	}
	return "", Unknown(typed, known)
}

// isMeant reports whether a stream is the one of its host for what a text names: the beginning of an id, such as that
// of a slot, or sector-N.
func isMeant(stream, typed string) bool {
	category, rest, _ := strings.Cut(stream, "-")
	_, id, several := strings.Cut(rest, "-")
	digits := strings.TrimPrefix(strings.ToLower(typed), "0x")
	const least = 2
	return several && (typed == category+"-"+id || len(digits) >= least && strings.HasPrefix(id, "0x"+digits))
}

// Whole reports whether a text has the form of a complete stream name, one of ours if it begins like that.
func Whole(name string) bool {
	category, rest, _ := strings.Cut(name, "-")
	_, ours := catalog.Streams().Owner(name)
	return ours || !catalog.Streams().Has(category) && (strings.HasPrefix(name, "$") || rest != "")
}

// Prefixes are the beginnings of all streams that a text may stand for; of all of ours, if it is empty.
func Prefixes(typed string) (all []string) {
	category, rest, dash := strings.Cut(typed, "-")
	for _, n := range catalog.Streams() {
		switch p := n.Category + "-"; {
		case dash && n.Category == category && strings.HasPrefix(rest, "0x"):
			return []string{typed}
		case strings.HasPrefix(p, typed), dash && n.Category == category:
			all = append(all, p)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, n := range catalog.Streams() {
		if n.Several { // The digits of an id.
			all = append(all, n.Category+"-")
		}
	}
	return all
}

// Unknown is ErrUnknownStream with the names that are closest to the text.
func Unknown(typed string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("%w: %q; the record has none", ErrUnknownStream, clip(typed))
	}
	near := slices.Clone(known)
	slices.SortStableFunc(near, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(typed, a), distance(typed, b)), cmp.Compare(a, b))
	})
	const most = 3
	return fmt.Errorf("%w: %q; the nearest are %s", ErrUnknownStream, clip(typed),
		strings.Join(near[:min(most, len(near))], ", "))
}

// distance is how many letters must be changed to turn the text into the
// beginning of a name.
func distance(typed, name string) int {
	return slices.Min(config.Edits(typed, name[:min(len(name), len(typed)+1)]))
}
