package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Row is a code and the errors that it stands for.
type Row struct {
	Code   string
	Status int
	// Is is the error that errors.Is finds in a Problem with this code; nil: none.
	Is error
	// Also reports whether the code stands for another error; nil: for none.
	Also func(error) bool
}

// Table has each code that there is. The first row that matches an error counts, so a wrapping error must come
// before the one that it wraps; the last row matches all.
type Table []explained

// explained is a row and what is said of its errors; Detail is missing.
type explained struct {
	Row
	as Problem
}

// NewTable joins rows with a page of their texts. Its error names each code that has no text or no row, has two of
// them, or has another status on the page.
func NewTable(page string, rows ...Row) (Table, error) {
	texts, err := read(page)
	wrong, table := []error{err}, Table{}
	for _, r := range rows {
		as, found := texts[r.Code]
		delete(texts, r.Code) // A second row of the code finds none.
		switch {
		case !found:
			wrong = append(wrong, fmt.Errorf("%s has no text, or two rows", r.Code))
		case as.Status != r.Status:
			wrong = append(wrong, fmt.Errorf("%s has status %d in its row and %d in its text",
				r.Code, r.Status, as.Status))
		}
		as.is = r.Is
		table = append(table, explained{r, as})
	}
	for code := range texts {
		wrong = append(wrong, fmt.Errorf("%s has a text and no row", code))
	}
	return table, errors.Join(wrong...)
}

// section is the one form of a section of the page, after "## ".
var section = regexp.MustCompile(`^([a-z]+(?:-[a-z]+)*)\n\n(\S.*\.) Status ([45]\d\d)\.\n\nWhat to do: (\S.*\.)\n$`)

// read returns what a page says, by codes.
func read(page string) (map[string]Problem, error) {
	texts, wrong := map[string]Problem{}, []error(nil)
	for _, s := range strings.Split(page, "\n## ")[1:] {
		parts := section.FindStringSubmatch(s)
		if parts == nil {
			wrong = append(wrong, fmt.Errorf("a section has another form than the others: %.200q", s))
			continue
		}
		code := parts[1]
		if _, twice := texts[code]; twice {
			wrong = append(wrong, fmt.Errorf("%s has two texts", code))
		}
		status, _ := strconv.Atoi(parts[3]) // It has three digits.
		texts[code] = Problem{
			Type: "docs/errors.md#" + code, Code: code, Title: parts[2], Status: status, Hint: parts[4],
		}
	}
	return texts, errors.Join(wrong...)
}

// Explain says of an error what its row says; it never returns nil.
func (t Table) Explain(err error) *Problem {
	p, known := errors.AsType[*Problem](err)
	if !known {
		i := slices.IndexFunc(t, func(r explained) bool {
			return errors.Is(err, r.Is) || r.Also != nil && r.Also(err)
		})
		p = &t[i].as
	}
	as := *p
	as.Detail = err.Error()
	return &as
}

// Decode reads a Problem that another process has sent; false: it is none.
func (t Table) Decode(encoded []byte) (*Problem, bool) {
	var p Problem
	if json.Unmarshal(encoded, &p) != nil || p.Code == "" {
		return nil, false
	}
	if i := slices.IndexFunc(t, func(r explained) bool { return r.Code == p.Code }); i >= 0 {
		p.is = t[i].Is
	}
	return &p, true
}
