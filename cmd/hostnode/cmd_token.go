package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
)

// newToken is a token when it is made, the only time at which its secret is known.
type newToken struct {
	Name   string       `json:"name"`
	Scope  access.Scope `json:"scope"`
	Secret string       `json:"secret"`
	// DataDir is the directory of the host that knows it. Unused: no host was set up there.
	DataDir string `json:"dataDir"`
	Unused  bool   `json:"unused"`
}

// revokedToken says which token is gone.
type revokedToken struct {
	Revoked string `json:"revoked"`
}

func (a *app) tokenCommand() *cobra.Command {
	return cli.Group(
		&cobra.Command{
			Use: "token", Short: "Make, list and revoke the tokens with which the API is used over TCP",
			Long: "Make, list and revoke the tokens with which the API is used over TCP (api.listen). Requests\n" +
				"bring one as \"Authorization: Bearer TOKEN\". A host that runs knows at once what was changed.",
		},
		a.tokenNewCommand(),
		&cobra.Command{
			Use: "list", Short: "List the tokens, with their last use; their secrets are not known", Args: cobra.NoArgs,
			RunE: a.Configured(func(_ *cobra.Command, c config.Loaded, _ []string) error {
				all, err := a.tokens(c).List()
				if err != nil {
					return err
				}
				return cli.Show(a.App, all, printTokens)
			}),
		},
		&cobra.Command{
			Use: "revoke NAME", Short: "Refuse a token from now on, also in a host that runs", Args: cobra.ExactArgs(1),
			RunE: a.Configured(func(cmd *cobra.Command, c config.Loaded, args []string) error {
				if err := datadir.At(c.DataDir).CheckUser(); err != nil {
					return err
				}
				if err := a.tokens(c).Revoke(cmd.Context(), args[0]); err != nil {
					return err
				}
				return cli.Show(a.App, revokedToken{args[0]}, func(p *cli.Printer, r revokedToken) error {
					p.Line("revoked %s: requests with it are refused from now on", r.Revoked)
					return nil
				})
			}),
		},
	)
}

func (a *app) tokenNewCommand() *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Make a token; its secret is shown once", Args: cobra.ExactArgs(1),
		Example: "  hostnode token new dashboard --scope read",
		RunE: a.Configured(func(cmd *cobra.Command, c config.Loaded, args []string) error {
			if scope == "" {
				return fmt.Errorf("%w: say with --scope what the token is for: %s, or %s to give orders",
					cli.ErrUsage, access.Read, access.Operate)
			}
			dir := datadir.At(c.DataDir)
			if err := dir.Begin(); err != nil {
				return err
			}
			made := newToken{
				Name: args[0], Scope: access.Scope(scope), DataDir: c.DataDir,
				Unused: !exists(dir.LockFile()) && !exists(c.Account.KeyFile),
			}
			var err error
			if made.Secret, err = a.tokens(c).New(cmd.Context(), made.Name, made.Scope); err != nil {
				return err
			}
			return cli.Show(a.App, made, func(p *cli.Printer, n newToken) error {
				p.Line("%s", n.Secret)
				p.Line("made token %s, scope %s; only its hash is stored, so this is the only time that you see it",
					n.Name, string(n.Scope))
				p.Line("for the host of %s", n.DataDir)
				if n.Unused {
					p.Line("%s: no host was set up in this directory; if yours has another one, make the token as "+
						"its user, with its --config or --data-dir", p.Colour(cli.Yellow, "warning"))
				}
				return nil
			})
		}),
	}
	cmd.Flags().StringVar(&scope, "scope", "", "`read`, which sees everything and changes nothing, or operate")
	return cmd
}

func (a *app) tokens(c config.Loaded) access.Tokens {
	return access.In(datadir.At(c.DataDir).Tokens(), a.Now)
}

func printTokens(p *cli.Printer, all []access.Token) error {
	if len(all) == 0 {
		p.Line("no tokens; make one with: %s", p.Command("token new NAME --scope read"))
		return nil
	}
	rows := [][]string{{"NAME", "SCOPE", "CREATED", "LAST USED"}}
	for _, t := range all {
		used := "never"
		if !t.Used.IsZero() {
			used = t.Used.Format("2006-01-02 15:04Z")
		}
		rows = append(rows, []string{t.Name, string(t.Scope), t.Created.Format(time.DateOnly), used})
	}
	p.Rows(rows)
	return nil
}
