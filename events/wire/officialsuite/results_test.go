package main

import (
	"io"
	"strings"
	"testing"
)

func TestOnlyListedTestsMayFailOrBeSkipped(t *testing.T) {
	const a, b = "TestA/group/one", "TestA/group/two"
	for _, c := range []struct {
		name    string
		results map[string]string
		allowed map[string]string
		wrong   string // In the error; empty for none.
	}{
		{"all pass", map[string]string{"TestA": "pass", "TestA/group": "pass", a: "pass", b: "pass"}, nil, ""},
		{"one fails", map[string]string{"TestA": "fail", "TestA/group": "fail", a: "fail", b: "pass"}, nil, a + " did not pass"},
		{"one is skipped", map[string]string{"TestA": "pass", "TestA/group": "pass", a: "skip"}, nil, a + " did not pass"},
		{
			"a listed one fails",
			map[string]string{"TestA": "fail", "TestA/group": "fail", a: "fail", b: "pass"},
			map[string]string{a: "cluster"},
			"",
		},
		{
			"another fails beside a listed one",
			map[string]string{"TestA": "fail", "TestA/group": "fail", a: "fail", b: "fail"},
			map[string]string{a: "cluster"},
			b + " did not pass",
		},
		{
			"a group fails by itself",
			map[string]string{"TestA": "fail", "TestA/group": "pass", a: "skip", b: "pass"},
			map[string]string{a: "container"},
			"TestA did not pass",
		},
		{
			"a listed one passes",
			map[string]string{"TestA": "pass", "TestA/group": "pass", a: "pass"},
			map[string]string{a: "cluster"},
			a + " passes",
		},
		{"a listed one is gone", map[string]string{"TestA": "pass"}, map[string]string{a: "cluster"}, a + " did not run"},
		{"the tests ended in the middle", map[string]string{"TestA": "run", a: "pass"}, nil, "TestA did not pass"},
		{"nothing ran", nil, nil, "nothing ran"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &results{outcome: c.results}
			err := r.judge(c.allowed, io.Discard)
			switch {
			case c.wrong == "" && err != nil:
				t.Fatalf("judged %v, want no complaint", err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Fatalf("judged %v, want %q", err, c.wrong)
			}
		})
	}
}

func TestExceptionsHaveOneOfTwoReasons(t *testing.T) {
	if _, err := readExceptions("exceptions.txt"); err != nil {
		t.Fatal(err)
	}
}
