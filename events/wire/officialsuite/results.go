package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// readExceptions reads the tests that need not pass, each with its reason.
func readExceptions(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for n, line := range strings.Split(string(text), "\n") {
		name, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" || name[0] == '#' {
			continue
		}
		if reason != "cluster" && reason != "container" {
			return nil, fmt.Errorf("%s:%d: %q is no reason to accept; want cluster or container", file, n+1, reason)
		}
		all[name] = reason
	}
	return all, nil
}

// results are how the tests ended, and what they printed.
type results struct {
	outcome map[string]string // pass, fail or skip, by test; run while it runs.
	output  map[string][]string
}

func readResults(r io.Reader) (*results, error) {
	got := &results{outcome: map[string]string{}, output: map[string][]string{}}
	in := json.NewDecoder(bufio.NewReader(r))
	for {
		var e struct{ Action, Test, Output string }
		err := in.Decode(&e)
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, fmt.Errorf("read the results: %w", err)
		}
		switch e.Action {
		case "output", "build-output":
			got.output[e.Test] = append(got.output[e.Test], e.Output)
		case "run", "pass", "fail", "skip":
			if e.Test != "" { // Not the package as a whole.
				got.outcome[e.Test] = e.Action
			}
		}
	}
}

// judge compares the results with the allowed exceptions.
func (r *results) judge(allowed map[string]string, out io.Writer) error {
	count := map[string]int{}
	var wrong []string
	complain := func(name, what string) {
		wrong = append(wrong, name+" "+what)
		for _, line := range r.output[name] {
			fmt.Fprint(out, "    ", line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.outcome)) {
		outcome := r.outcome[name]
		if r.excused(name, allowed) {
			continue // A group fails when one of its tests does.
		}
		if !r.group(name) {
			count[outcome]++
		}
		reason, excepted := allowed[name]
		fmt.Fprintf(out, "%-5s %s %s\n", outcome, name, reason)
		switch {
		case excepted && outcome == "pass":
			complain(name, "passes; take it out of exceptions.txt")
		case !excepted && outcome != "pass":
			complain(name, "did not pass: "+outcome)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if _, ran := r.outcome[name]; !ran {
			wrong = append(wrong, name+" did not run; is it still there?")
		}
	}
	if len(r.outcome) == 0 {
		complain("", "nothing ran")
	}
	fmt.Fprintf(out, "passed %d, failed %d, skipped %d; exceptions %d\n",
		count["pass"], count["fail"], count["skip"], len(allowed))
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n  "))
	}
	return nil
}

// group reports whether a test is a group of tests.
func (r *results) group(name string) bool {
	for other := range r.outcome {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// excused reports whether a test is a group that failed only because of tests
// in it that may fail.
func (r *results) excused(group string, allowed map[string]string) bool {
	if r.outcome[group] != "fail" {
		return false
	}
	excuse := false
	for name, outcome := range r.outcome {
		if !strings.HasPrefix(name, group+"/") || outcome != "fail" {
			continue
		}
		if _, ok := allowed[name]; ok {
			excuse = true
		} else if !r.excused(name, allowed) {
			return false
		}
	}
	return excuse
}
