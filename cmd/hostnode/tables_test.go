package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/text/width"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
)

// schema is what docs/openapi.json says of a value.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"`
	Format     string            `json:"format"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Additional any               `json:"additionalProperties"`
}

// document is the part of docs/openapi.json that says what is answered.
type document struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct {
				Schema schema `json:"schema"`
			} `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

// amounts are the names of fields with amounts, which are digits.
var amounts = regexp.MustCompile(`(?i)reward|price|pays|collateral|deposit|amount|gas|fee|wei|tokens|net|stake|burnt|lost|atMost|expected|^(least|tenth|median|ninth|most|nearest)$`)

// hostile is the worst answer that fits a schema: long names, large numbers, errors. Without all, it has only what must be there.
func (d document) hostile(name string, s schema, all bool, depth int) any {
	if s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	kind, _ := s.Type.(string)
	if kinds, several := s.Type.([]any); several {
		kind, _ = kinds[0].(string)
	}
	switch kind {
	case "string":
		switch {
		case s.Format == "date-time":
			return "2031-12-30T23:59:59Z"
		case amounts.MatchString(name):
			return strings.Repeat("9", 30)
		case name == "cid":
			return "baga6ea4seaq" + strings.Repeat("a", 52)
		}
		return "日本 the-event-store.of.a-member.with.a.long.name.example.com:65535 refused " + strings.Repeat("0123abcdef", 6)
	case "boolean":
		return all
	case "integer":
		if s.Format == "int32" {
			return 200 // Some of these are read as a byte.
		}
		return 1<<62 + 1
	case "number":
		return 123456789.123456789
	case "array":
		if depth > 8 {
			return []any{}
		}
		one := d.hostile(name, *s.Items, all, depth+1)
		return []any{one, one}
	case "object":
		out := map[string]any{}
		must := strings.Join(s.Required, " ") + " "
		for field, of := range s.Properties {
			if depth <= 8 && (all || strings.Contains(must, field+" ")) {
				out[field] = d.hostile(field, of, all, depth+1)
			}
		}
		if s.Additional != nil && s.Additional != false {
			text, _ := json.Marshal(s.Additional) // It was JSON.
			var of schema
			if json.Unmarshal(text, &of) == nil {
				out["a-name-that-is-as-long-as-names-may-be-here"] = d.hostile(name, of, all, depth+1)
			}
		}
		return out
	}
	return nil
}

// answering answers each request at a socket as the document says, and notes what was asked.
func (d document) answering(t *testing.T, socket string, all bool) map[string]bool {
	asked, mux := map[string]bool{}, http.NewServeMux()
	for path, methods := range d.Paths {
		for method, call := range methods {
			where := strings.ToUpper(method) + " " + path
			mux.HandleFunc(where, func(w http.ResponseWriter, _ *http.Request) {
				asked[where] = true
				answer := d.hostile("", call.Responses["200"].Content["application/json"].Schema, all, 0)
				if err := json.NewEncoder(w).Encode(answer); err != nil {
					t.Errorf("%s: %v", where, err)
				}
			})
		}
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // It ends with Close.
	t.Cleanup(func() { _ = server.Close() })
	return asked
}

// leaves are the commands that do something.
func leaves(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{}
	if cmd.HasParent() && cmd.Runnable() {
		all = append(all, cmd)
	}
	for _, child := range cmd.Commands() {
		all = append(all, leaves(child)...)
	}
	return all
}

// asks reports whether a command may be one that asks a host and ends.
func asks(cmd *cobra.Command) bool {
	switch strings.Fields(cmd.CommandPath())[1] {
	case "run", "demo", "devchain", "client", "eventstore", "projections", "help", "completion", "key", "cluster", "repair",
		"import", "export", "top", "doctor", "config", "check":
		return false
	}
	return true
}

// Each command that asks a host shows the worst answers in 80 columns. Only what a person copies stays whole: a word that is
// longer than a line, such as an id, and a command to type next.
func TestEachCommandFits80Columns(t *testing.T) {
	text, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for name, all := range map[string]bool{"everything": true, "what must be": false} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			made, err := datadir.Open(dir, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if err := made.Close(); err != nil {
				t.Fatal(err)
			}
			asked := d.answering(t, datadir.At(dir).Socket(), all)
			for _, cmd := range leaves((&app{App: &cli.App{}}).root()) {
				if asks(cmd) {
					shown(t, cmd, dir)
				}
			}
			const least = 50 // calls that commands make
			if len(asked) < least {
				t.Errorf("the commands asked %d of %d questions, want %d at least", len(asked), len(d.Paths), least)
			}
		})
	}
}

// The help of each command fits, too.
func TestEachHelpFits80Columns(t *testing.T) {
	for _, cmd := range leaves((&app{App: &cli.App{}}).root()) {
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		var out bytes.Buffer
		a := &app{App: &cli.App{Stdout: &out, Stderr: &out, Now: time.Now, Width: 80}}
		if code := a.run(t.Context(), args); code != exitOK {
			t.Errorf("%v: exit code %d", args, code)
		}
		fits(t, args, out.String())
	}
}

// shown runs a command, and measures what it says.
func shown(t *testing.T, cmd *cobra.Command, dir string) {
	t.Helper()
	args := strings.Fields(cmd.CommandPath())[1:]
	for range regexp.MustCompile(` [A-Z]+`).FindAllString(cmd.Use, 1) {
		args = append(args, "1")
	}
	var out, complaints bytes.Buffer
	a := &app{App: &cli.App{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &complaints, Now: time.Now, Terminal: true, Width: 80,
		Machines: machines.API(),
	}}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	a.run(ctx, append(args, "--data-dir", dir))
	if strings.Contains(complaints.String(), "read the host's answer") && cmd.Name() != "proof" { // It is a file.
		t.Errorf("hostnode %v: the answer is not what docs/openapi.json promises: %s", args, complaints.String())
	}
	fits(t, args, out.String())
}

// fits measures a page.
func fits(t *testing.T, args []string, page string) {
	t.Helper()
	colours := regexp.MustCompile("\x1b\\[[0-9]*m")
	for line := range strings.Lines(page) {
		line = strings.TrimRight(colours.ReplaceAllString(line, ""), " \n")
		n := 0
		for _, r := range line {
			n++
			if width.LookupRune(r).Kind() == width.EastAsianWide {
				n++
			}
		}
		if n > 80 && strings.Contains(strings.TrimSpace(line), " ") &&
			!strings.HasPrefix(strings.TrimSpace(line), "hostnode ") {
			t.Errorf("hostnode %s: %d columns: %s", strings.Join(args, " "), n, line)
		}
	}
}
