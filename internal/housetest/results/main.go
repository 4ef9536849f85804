// Command results reads the output of go test -json. It prints one line for each package and all
// output of failed tests, and adds the time that each test took to the given file.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json ... | results FILE")
		os.Exit(2)
	}
	times, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		if err = tell(os.Stdin, os.Stdout, times); err == nil {
			err = times.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// event is one line of go test -json; go doc test2json says what they mean.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// test is a test that is running.
type test struct {
	said  strings.Builder
	parts float64 // seconds that its subtests took; its own do not include those of parallel ones
}

// tell reads events to their end. Whether tests failed is reported by go test; an error here is one
// of reading or writing.
func tell(in io.Reader, out, times io.Writer) error {
	running := map[string]map[string]*test{} // by package and name
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				e = event{Action: "output", Output: string(line)} // Output of go itself.
			}
			if err := one(e, running, out, times); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func one(e event, running map[string]map[string]*test, out, times io.Writer) (err error) {
	if running[e.Package] == nil {
		running[e.Package] = map[string]*test{}
	}
	of := running[e.Package]
	named := func(name string) *test {
		if of[name] == nil {
			of[name] = &test{}
		}
		return of[name]
	}
	switch e.Action {
	case "output", "build-output":
		switch {
		case e.Test != "":
			named(e.Test).said.WriteString(e.Output)
		case e.Output != "PASS\n" && !strings.HasPrefix(e.Output, "coverage: "): // The line of the package says so.
			_, err = io.WriteString(out, e.Output)
		}
	case "pass", "fail", "skip":
		if e.Action == "fail" {
			for name, t := range of { // When a package dies, some of its tests have not ended.
				if e.Test == "" || e.Test == name {
					_, err = io.WriteString(out, t.said.String())
				}
			}
		}
		if e.Test == "" {
			delete(running, e.Package)
			return err
		}
		took := max(e.Elapsed, named(e.Test).parts)
		delete(of, e.Test)
		if of := strings.LastIndexByte(e.Test, '/'); of > 0 {
			named(e.Test[:of]).parts += took
		} else if err == nil {
			_, err = fmt.Fprintf(times, "%8.2f s  %s %s\n", took, e.Package, e.Test)
		}
	}
	return err
}
