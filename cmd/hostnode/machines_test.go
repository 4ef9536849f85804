package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
)

type noteReader interface {
	Notes(ctx context.Context, q aboutNotes) (string, error)
}

type aboutNotes struct {
	api.Then
	Book string `path:"book"`
}

type notesRead struct{}

func (notesRead) Notes(_ context.Context, q aboutNotes) (string, error) {
	return "notes of " + q.Book, nil
}

// A machine that is a row has its command, its --at and its JSON.
func TestAMachineBringsItsCommands(t *testing.T) {
	list := api.Question("notes/{book}", "Notes", noteReader.Notes)
	notes := api.Machine{
		Calls: []api.Route{list}, Reads: func(api.Reading) any { return notesRead{} },
	}
	before := machines.All
	machines.All = []machines.Row{{API: notes, Commands: func(a *cli.App) *cobra.Command {
		return cli.AsAt(a, &cobra.Command{Use: "notes BOOK", Args: cobra.ExactArgs(1)},
			cli.Named(list, func(book string) aboutNotes { return aboutNotes{Book: book} }),
			func(p *cli.Printer, text string) error {
				p.Line("%s", text)
				return nil
			})
	}}}
	defer func() { machines.All = before }()
	dir := t.TempDir()
	made, err := api.OpenOffline(t.Context(), api.OfflineConfig{Source: api.Source{DataDir: dir}, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"notes mine":                "notes of mine\n",
		"notes mine --json":         "\"notes of mine\"\n",
		"notes mine --at yesterday": "is no point in the record",
	} {
		var out bytes.Buffer
		a := &app{App: &cli.App{Stdout: &out, Stderr: &out, Now: time.Now, Machines: machines.API()}}
		a.run(t.Context(), append(strings.Fields(args), "--data-dir", dir))
		if !strings.Contains(out.String(), want) {
			t.Errorf("hostnode %s: %s", args, out.String())
		}
	}
}
