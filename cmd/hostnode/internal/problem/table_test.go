package problem

import (
	"errors"
	"strings"
	"testing"
)

func page(sections ...string) string {
	return "# Errors\n\nSome words.\n\n" + strings.Join(sections, "\n")
}

const (
	away  = "## disk-away\n\nThe disk is away. Status 503.\n\nWhat to do: Mount it.\n"
	other = "## internal\n\nSomething. Status 4 of 5. Status 500.\n\nWhat to do: See `host.log`. (Or not.).\n"
)

var errAway = errors.New("away")

func TestTheTextsOfAPageAreThoseOfItsRows(t *testing.T) {
	table, err := NewTable(page(away, other), Row{Code: "disk-away", Status: 503, Is: errAway},
		Row{Code: "internal", Status: 500, Also: func(error) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	if p := table.Explain(errAway); p.Title != "The disk is away." || p.Hint != "Mount it." || p.Type != "docs/errors.md#disk-away" {
		t.Errorf("%+v", p)
	}
	if p := table.Explain(errors.New("odd")); p.Title != "Something. Status 4 of 5." || p.Hint != "See `host.log`. (Or not.)." {
		t.Errorf("%+v", p)
	}
}

func TestWhatIsMissingOrTwiceIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		rows []Row
		want string
	}{
		"a code without a text":   {page(away), []Row{{Code: "disk-away", Status: 503}, {Code: "new", Status: 400}}, "new has no text, or two rows"},
		"a text without a code":   {page(away, other), []Row{{Code: "disk-away", Status: 503}}, "internal has a text and no row"},
		"two rows":                {page(away), []Row{{Code: "disk-away", Status: 503}, {Code: "disk-away", Status: 503}}, "disk-away has no text, or two rows"},
		"two texts":               {page(away, away), []Row{{Code: "disk-away", Status: 503}}, "disk-away has two texts"},
		"another status":          {page(away), []Row{{Code: "disk-away", Status: 500}}, "disk-away has status 500 in its row and 503 in its text"},
		"no status":               {page("## a-b\n\nIt is. \n\nWhat to do: Go.\n"), nil, `another form than the others: "a-b\n`},
		"a status of success":     {page("## a-b\n\nIt is. Status 200.\n\nWhat to do: Go.\n"), nil, `another form than the others: "a-b\n`},
		"no hint":                 {page("## a-b\n\nIt is. Status 400.\n"), nil, `another form than the others: "a-b\n`},
		"a hint without a point":  {page("## a-b\n\nIt is. Status 400.\n\nWhat to do: Go\n"), nil, `another form than the others: "a-b\n`},
		"a title without a point": {page("## a-b\n\nIt is Status 400.\n\nWhat to do: Go.\n"), nil, `another form than the others: "a-b\n`},
		"more than a hint":        {page("## a-b\n\nIt is. Status 400.\n\nWhat to do: Go.\n\nOr stay.\n"), nil, `another form than the others: "a-b\n`},
		"a code of two words":     {page("## a b\n\nIt is. Status 400.\n\nWhat to do: Go.\n"), nil, `another form than the others: "a b\n`},
		"a code with a capital":   {page("## A-b\n\nIt is. Status 400.\n\nWhat to do: Go.\n"), nil, `another form than the others: "A-b\n`},
	} {
		if _, err := NewTable(c.page, c.rows...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestAnAnswerWithoutACodeIsNoProblem(t *testing.T) {
	for _, text := range []string{"", "{", "{}", `{"title": "x"}`} {
		if p, ok := (Table{}).Decode([]byte(text)); ok {
			t.Errorf("%q is %+v", text, p)
		}
	}
	if p, ok := (Table{}).Decode([]byte(`{"code": "of-a-newer-host", "detail": "x"}`)); !ok || p.Error() != "x" || errors.Is(p, errAway) {
		t.Errorf("%+v", p)
	}
}
