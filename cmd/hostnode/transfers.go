package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/transfer"
)

// transferred is what export and import answer.
type transferred struct {
	From string `json:"from"`
	To   string `json:"to"`
	transfer.Report
	// Digest is the same on both sides: the target was read back to make sure.
	Digest string    `json:"digest"`
	Time   time.Time `json:"time"`
}

func printTransferred(p *cli.Printer, t transferred) error {
	p.Line("%s from %s to %s: %s of %s", p.Colour(cli.Green, "DONE"), t.From, t.To,
		cli.Count(t.Copied+t.Present, "event"), cli.Count(t.Streams, "stream"))
	if t.Present > 0 {
		p.Line("  %s were there before, %d new", cli.Count(t.Present, "event"), t.Copied)
	}
	if n := len(t.Scavenged); n > 0 {
		p.Line("  %s that were incomplete in the source have new revisions", cli.Count(n, "stream"))
	}
	p.Line("  digest %s; the target was read again and has the same", t.Digest)
	return nil
}

// end is one side of a transfer that is a store.
type end struct {
	store events.Store
	name  string
	// confirm returns when the store has shown that it decides what the record is.
	confirm func(context.Context) error
}

// withEnd opens a store by its connection string or, without one, the store of
// the settings, calls a function with it and closes it. The embedded one needs the
// data directory's lock; create makes it.
func (a *app) withEnd(cmd *cobra.Command, c config.Config, url, passwordFile string, create bool,
	do func(context.Context, end) error,
) (err error) {
	spec := stores.FromConfig(c)
	if url != "" {
		spec = stores.Spec{URL: url, PasswordFile: passwordFile}
	}
	spec.Now = a.Now
	if !spec.Remote() {
		open := datadir.OpenExisting
		if create {
			open = datadir.Open
		}
		dir, failed := open(c.DataDir, a.Now())
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, dir.Close()) }()
	}
	log := logrus.New()
	log.SetOutput(a.Stderr)
	log.SetLevel(logrus.ErrorLevel)
	opened, err := stores.Open(cmd.Context(), spec, logrus.NewEntry(log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	return do(cmd.Context(), end{opened.Store, opened.Name, func(ctx context.Context) error {
		warns := logrus.New()
		warns.SetOutput(a.Stderr)
		return opened.Confirm(ctx, events.Address{}, logrus.NewEntry(warns))
	}})
}

// transferFlags are those that export and import share.
type transferFlags struct {
	url, passwordFile string
	acceptScavenged   bool
}

func (f *transferFlags) add(flags *pflag.FlagSet, direction, what string) {
	flags.StringVar(&f.url, direction, "", what)
	flags.StringVar(&f.passwordFile, direction+"-password-file", "",
		"`file` with the password of the user in --"+direction+", readable by its owner alone")
	flags.BoolVar(&f.acceptScavenged, "accept-scavenged", false,
		"copy what is left of streams that were scavenged in the source; their revisions change")
	config.AddFlags(flags, "eventStore.url", "eventStore.passwordFile", "eventStore.cacheBytes")
}

// file returns the one argument; it is empty when there is a connection string instead.
func (f *transferFlags) file(direction string, args []string) (string, error) {
	switch {
	case f.url != "" && len(args) > 0:
		return "", fmt.Errorf("%w: either a file or --%s", cli.ErrUsage, direction)
	case f.url == "" && len(args) == 0:
		return "", fmt.Errorf("%w: name a file, - for a pipe, or a store with --%s", cli.ErrUsage, direction)
	case f.url == "" && f.passwordFile != "":
		return "", fmt.Errorf("%w: --%s-password-file goes with --%s", cli.ErrUsage, direction, direction)
	case f.url != "" && !esdb.IsConnection(f.url):
		return "", fmt.Errorf("%w: --%s takes a connection string, as in esdb://host:2113", cli.ErrUsage, direction)
	case f.url != "":
		return "", nil
	}
	return args[0], nil
}

// errSameStore: source and target of a copy are the same.
var errSameStore = fmt.Errorf("%w: source and target are the same event store", cli.ErrUsage)

func (f *transferFlags) options() transfer.Options {
	return transfer.Options{AcceptScavenged: f.acceptScavenged}
}

// progressLine shows the progress of a transfer on a terminal, in one line that
// is rewritten.
type progressLine struct {
	out   io.Writer // nil: nobody looks
	shown bool
}

func (a *app) progressLine() *progressLine {
	if f, ok := a.Stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &progressLine{out: f}
	}
	return &progressLine{}
}

func (l *progressLine) show(p transfer.Progress) {
	if l.out == nil {
		return
	}
	l.shown = true
	text := fmt.Sprintf("%s: %s events", p.Step, money.Grouped(fmt.Sprint(p.Events)))
	if p.Last > 0 {
		text += fmt.Sprintf(", %.0f %%", 100*float64(p.Position)/float64(p.Last))
	}
	fmt.Fprintf(l.out, "\r\x1b[K%s", text)
}

// clear removes the line, if there is one.
func (l *progressLine) clear() {
	if l.shown {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
}

// finish prints what a transfer did, if it succeeded.
func (a *app) finish(line *progressLine, from, to string, r transfer.Report, err error) error {
	line.clear()
	if err != nil {
		return err
	}
	return cli.Show(a.App, transferred{from, to, r, r.Digest.Sum.String(), a.Now().UTC()}, printTransferred)
}
