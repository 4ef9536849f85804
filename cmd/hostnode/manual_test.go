package main

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

var manDir = flag.String("man", "", "write the man pages into this `directory`")

// elsewhere are the commands of the manual that no script runs, and why.
var elsewhere = map[string]string{
	"hostnode demo aggregation": "takes minutes; the e2e tests run it",
	"hostnode demo downtime":    "takes minutes; the e2e tests run it",
}

// said is a command line of a page.
type said struct {
	where string
	words []string
	whole bool // it is in a block, to be typed as it is
}

var inline = regexp.MustCompile("`(hostnode [^`]+)`")

// manual returns all command lines of the operator's pages.
func manual(t *testing.T) (all []said) {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for i, line := range strings.Split(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
			where := fmt.Sprintf("%s:%d", filepath.Base(page), i+1)
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "```"):
				fenced = !fenced
			case fenced || strings.HasPrefix(line, "    "):
				if words := commandOf(line); words != nil {
					all = append(all, said{where, words, true})
				}
			default:
				line = strings.ReplaceAll(line, `\|`, "|") // As a table has it.
				for _, m := range inline.FindAllStringSubmatch(line, -1) {
					all = append(all, said{where, commandOf(m[1]), false})
				}
			}
		}
	}
	return all
}

var (
	begins = regexp.MustCompile(`^\s*(\$ |# )?((sudo|exec|exits \d|! exec|-u|[A-Z_]+=\S+|hostnode) )*(\./)?(bin/)?hostnode `)
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	ends   = regexp.MustCompile(` (#|\||&|&&|;|>|>>|<|2>.*)( .*)?$`)
)

// commandOf returns the words after hostnode of a line that is typed; nil: it is none.
func commandOf(line string) []string {
	begin := begins.FindString(line)
	if begin == "" {
		return nil
	}
	line = quoted.ReplaceAllStringFunc(strings.TrimPrefix(line, begin), func(q string) string {
		return strings.Join(strings.Fields("'"+q[1:len(q)-1]+"'"), "_")
	})
	return strings.Fields(strings.Trim(ends.ReplaceAllString(" "+line, ""), " ;&"))
}

// understood finds the command of a line, and checks its flags and, in a block, its arguments.
func understood(root *cobra.Command, s said) (*cobra.Command, error) {
	for i, word := range s.words { // Of sectors retry|remove the first is looked at.
		if first, _, several := strings.Cut(word, "|"); several && word == strings.ToLower(word) {
			s.words[i] = first
		}
	}
	cmd, rest, err := root.Find(slices.DeleteFunc(s.words, func(word string) bool { return word == "..." || word == "…" }))
	if err != nil {
		return nil, err
	}
	cmd.InitDefaultHelpFlag()
	var args []string
	for i := 0; i < len(rest); i++ {
		name, isFlag := strings.CutPrefix(rest[i], "--")
		name, _, given := strings.Cut(strings.Trim(name, "[]…,."), "=")
		if !isFlag || name == "" {
			args = append(args, rest[i])
			continue
		}
		f := cmd.Flag(name)
		if f == nil {
			return nil, fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), name)
		}
		if !given && f.NoOptDefVal == "" {
			i++
		}
	}
	if s.whole && !strings.ContainsAny(strings.Join(args, " "), "…[|") && cmd.Args != nil {
		return cmd, cmd.Args(cmd, args)
	}
	if !cmd.HasParent() && len(args) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(args[0]) {
		return nil, fmt.Errorf("there is no command %s", args[0])
	}
	return cmd, nil
}

// Each command that the operator's pages name exists, as they name it, and is run by a script of testdata.
func TestEachCommandOfTheManualIsRun(t *testing.T) {
	root := (&app{App: &cli.App{}}).root()
	run := map[string]bool{}
	err := filepath.WalkDir("testdata/script", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txtar" {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if words := commandOf(strings.TrimRight(line, "\n") + " "); words != nil {
				if cmd, _, err := root.Find(words); err == nil {
					run[cmd.CommandPath()] = true
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := manual(t)
	const least = 150
	if len(lines) < least {
		t.Errorf("the manual has %d command lines, want %d at least", len(lines), least)
	}
	missing := map[string]string{}
	for _, s := range lines {
		if strings.Join(s.words, " ") == "node notice" {
			continue // It begins the text that a node signs.
		}
		cmd, err := understood(root, s)
		if err != nil {
			t.Errorf("%s: hostnode %s: %v", s.where, strings.Join(s.words, " "), err)
			continue
		}
		if path := cmd.CommandPath(); !run[path] && elsewhere[path] == "" {
			missing[path] = s.where
		}
	}
	for _, path := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s, of %s, is run by no script", path, missing[path])
	}
	for path := range elsewhere {
		if run[path] {
			t.Errorf("%s is run by a script: remove it from the list", path)
		}
	}
}

// roff escapes a text for a man page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	return regexp.MustCompile(`(?m)^\.`).ReplaceAllString(text, `\&.`)
}

// manPage is the page of a command. It has no date, so that a build can be repeated.
func manPage(cmd *cobra.Command) string {
	var out strings.Builder
	section := func(name string) { fmt.Fprintf(&out, ".SH %s\n", name) }
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&out, ".TH %q 1 \"\" hostnode \"hostnode manual\"\n", strings.ToUpper(name))
	section("NAME")
	fmt.Fprintf(&out, "%s \\- %s\n", roff(name), roff(cmd.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&out, ".B %s\n", roff(cmd.UseLine()))
	section("DESCRIPTION")
	for i, paragraph := range strings.Split(cmp.Or(cmd.Long, cmd.Short+"."), "\n\n") {
		if i > 0 {
			out.WriteString(".PP\n")
		}
		out.WriteString(roff(paragraph) + "\n")
	}
	if cmd.Example != "" {
		section("EXAMPLE")
		fmt.Fprintf(&out, ".nf\n%s\n.fi\n", roff(cmd.Example))
	}
	section("OPTIONS")
	options := func(flags *pflag.FlagSet) {
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, about := pflag.UnquoteUsage(f)
			fmt.Fprintf(&out, ".TP\n\\fB\\-\\-%s\\fR \\fI%s\\fR\n%s\n", roff(f.Name), roff(value), roff(about))
		})
	}
	options(cmd.NonInheritedFlags())
	options(cmd.InheritedFlags())
	section("EXIT STATUS")
	out.WriteString("0 if it worked, 1 if it did not or something is not in order, 2 if the command line or the " +
		"configuration makes no sense.\n")
	section("FILES")
	out.WriteString(".I hostnode.yaml\nin the data directory has the settings; see hostnode config example.\n")
	var see []string
	if cmd.HasParent() {
		see = append(see, strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-"))
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			see = append(see, strings.ReplaceAll(child.CommandPath(), " ", "-"))
		}
	}
	section("SEE ALSO")
	out.WriteString(roff(strings.Join(see, "(1), ")) + "(1)\n")
	return out.String()
}

// Each command has a man page. With -man they are written: make man.
func TestEachCommandHasAManPage(t *testing.T) {
	write := func(cmd *cobra.Command) {
		page := manPage(cmd)
		for _, want := range []string{".SH NAME\n", ".SH SYNOPSIS\n.B hostnode", ".SH OPTIONS\n", "data\\-dir"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s has no %q", cmd.CommandPath(), want)
			}
		}
		if *manDir != "" {
			name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
			if err := os.WriteFile(filepath.Join(*manDir, name), []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if *manDir != "" {
		if err := os.MkdirAll(*manDir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root := (&app{App: &cli.App{}}).root()
	if run, _, err := root.Find([]string{"run"}); err != nil || !strings.Contains(manPage(run), `\-\-aggregation\-batch`) {
		t.Errorf("the page of run has not all settings: %v", err)
	}
	write(root)
	for _, cmd := range leaves(root) {
		if cmd.IsAvailableCommand() {
			write(cmd)
		}
	}
}
