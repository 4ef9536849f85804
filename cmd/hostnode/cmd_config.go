package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
)

func (a *app) configCommand() *cobra.Command {
	shown := &cobra.Command{
		Use: "show", Short: "Print each setting with its value and its source", Args: cobra.NoArgs,
		RunE: a.Configured(func(_ *cobra.Command, c config.Loaded, _ []string) error {
			return cli.Show(a.App, settingsAnswer{c.File, c.Settings()}, printSettings)
		}),
	}
	settingFlags(shown)
	about := &cobra.Command{
		Use: "config", Short: "Show the settings in use, how they changed, or an example with all of them",
	}
	return cli.Group(about, shown, a.configHistoryCommand(), &cobra.Command{
		Use: "example", Short: "Print a configuration file with every setting explained", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.JSON {
				c := config.Loaded{Config: config.Default()}
				return a.PrintJSON(c.Settings())
			}
			_, err := fmt.Fprint(a.Stdout, config.Example())
			return err
		},
	})
}

func (a *app) configHistoryCommand() *cobra.Command {
	var q api.SettingChangesQuestion
	cmd := &cobra.Command{
		Use: "history [KEY]", Short: "List what starts of the host found changed in its settings",
		Args: cobra.MaximumNArgs(1),
		Long: `List what starts of the host found changed in its settings, the newest first; with a
key, such as sales.maxWorkers, only that setting. Each start with "hostnode run"
records what differs from the one before; the first one all that is not the default.
Secrets are hidden; that one was changed is shown.`,
	}
	cmd.Flags().IntVar(&q.Limit, "limit", api.DefaultPage, fmt.Sprintf("most `changes`, at most %d", api.MaxPage))
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "go on after an earlier list, with the `cursor` at its end")
	ask := func(ctx context.Context, b api.Backend, args []string) (api.SettingChanges, error) {
		if len(args) > 0 {
			q.Key = args[0]
		}
		return api.ListSettingChanges.Ask(ctx, b, q)
	}
	for _, s := range (config.Loaded{Config: config.Default()}).Settings() {
		cmd.ValidArgs = append(cmd.ValidArgs, s.Key)
	}
	return cli.AsAt(a.App, cmd, ask, printSettingChanges)
}

func printSettingChanges(p *cli.Printer, h api.SettingChanges) error {
	if len(h.Changes) == 0 {
		return p.None("no change of a setting is recorded", h.AsOf)
	}
	rows := [][]string{{"TIME", "MEMBER", "SETTING", "BEFORE", "AFTER", "SOURCE", "VERSION"}}
	cluster := false
	for _, c := range h.Changes {
		cluster = cluster || c.Member != ""
		after := cmp.Or(c.After, `""`)
		if c.Before == c.After && c.Hidden {
			after += " (changed)"
		}
		rows = append(rows, []string{
			cli.Clock(c.At), string(c.Member), c.Key, cmp.Or(c.Before, `""`), after, cmp.Or(c.Source, "-"), c.Version,
		})
	}
	p.Rows(cli.Without(rows, map[string]bool{"MEMBER": !cluster}))
	if h.Next != "" {
		p.Line("older ones: --cursor %s", h.Next)
	}
	return p.End(h.AsOf)
}

type settingsAnswer struct {
	// File is the file that was read, empty for none.
	File     string           `json:"file"`
	Settings []config.Setting `json:"settings"`
}

func printSettings(p *cli.Printer, s settingsAnswer) error {
	rows := [][]string{{"SETTING", "VALUE", "SOURCE"}}
	for _, v := range s.Settings {
		rows = append(rows, []string{v.Key, cmp.Or(v.Value, `""`), v.Source})
	}
	p.Rows(rows)
	return nil
}

type versionAnswer struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Format is the version of the data directory.
	Format int `json:"dataDirFormat"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of the program and of the data directory", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return cli.Show(a.App, buildVersion(), func(p *cli.Printer, v versionAnswer) error {
				revision := ""
				if v.Revision != "" {
					revision = ", revision " + v.Revision
				}
				p.Line("hostnode %s%s, data directory format %d, %s %s",
					v.Version, revision, v.Format, v.Go, v.Platform)
				return nil
			})
		},
	}
}

// versionText is the version in one word, for the host's events.
func versionText() string {
	v := buildVersion()
	if v.Revision == "" {
		return v.Version
	}
	return v.Version + " " + v.Revision
}

// buildVersion reads the version that is built into the program.
func buildVersion() versionAnswer {
	v := versionAnswer{
		Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Format: datadir.Format,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = cmp.Or(v.Version, info.Main.Version, "(devel)")
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty && v.Revision != "" {
		v.Revision += "+changes"
	}
	return v
}
