package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/certs"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
)

func (a *app) clusterCommand() *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "cluster", Short: "Prepare a host that several processes run together",
	}, a.clusterCertsCommand())
}

func (a *app) clusterCertsCommand() *cobra.Command {
	var o certs.Order
	cmd := &cobra.Command{
		Use: "certs MEMBER...", Short: "Make certificates for the members of a cluster", Args: cobra.MinimumNArgs(1),
		Long: "Make certificates for the members of a cluster, and the authority that signs them, if you have no\n" +
			"authority of your own. With the same directory, members that join later get theirs from the same\n" +
			"authority. A certificate is for MEMBER.NAME.hostnode, by which members know each other, and for\n" +
			"--hosts. No file is replaced.",
		Example: "  hostnode cluster certs --name home --dir certs north south",
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if o.Cluster == "" {
				return fmt.Errorf("%w: name the cluster with --name, as cluster.name has it", cli.ErrUsage)
			}
			if o.Dir, err = filepath.Abs(o.Dir); err != nil {
				return fmt.Errorf("make certificates: %w", err)
			}
			o.Members = args
			made, err := certs.Make(o, a.Now())
			if err != nil {
				return err
			}
			return cli.Show(a.App, made, printCerts)
		},
	}
	cmd.Flags().StringVar(&o.Cluster, "name", "", "`name` of the cluster")
	cmd.Flags().StringVar(&o.Dir, "dir", "certs", "`directory` of the files")
	cmd.Flags().StringSliceVar(&o.Hosts, "hosts", nil, "`names` and addresses of the members' machines")
	return cmd
}

func printCerts(p *cli.Printer, m certs.Made) error {
	if m.NewCA {
		p.Line("made an authority; whoever has %s can make members: keep it where no member runs", m.CAKey)
	}
	for _, one := range m.Members {
		p.Line("")
		p.Line("member %s, until %s:", one.Name, one.Expires.Format(time.DateOnly))
		p.Rows([][]string{
			{"  cluster.tls.caFile", m.CA}, {"  cluster.tls.certFile", one.Cert}, {"  cluster.tls.keyFile", one.Key},
		})
	}
	return nil
}
