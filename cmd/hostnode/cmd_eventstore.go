package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/eventserver"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/wire"
)

// defaultEventsAddress is the default of EventStoreDB's clients.
const defaultEventsAddress = "127.0.0.1:2113"

func (a *app) eventstoreCommand() *cobra.Command {
	var o eventserver.Options
	var insecure bool
	cmd := &cobra.Command{
		Use: "eventstore", Short: "Serve a data directory's event store to EventStoreDB's clients", Args: cobra.NoArgs,
		Long: "Serve the event store of a data directory, and nothing else, over EventStoreDB's protocol: its\n" +
			"clients and tools append, read and subscribe, and hosts store their events in it with --store.\n" +
			"In a directory that a host has used, the host's own streams are read-only.\n\n" +
			"For a trial on one machine: hostnode eventstore --insecure. Otherwise it needs a certificate\n" +
			"and users, which the commands below make.",
		RunE: a.Configured(func(cmd *cobra.Command, c config.Loaded, _ []string) error {
			return a.serveEventstore(cmd.Context(), c.Config, o, insecure)
		}),
	}
	flags := cmd.Flags()
	config.AddFlags(flags, "log.level", "log.format", "eventStore.cacheBytes", "serveEvents.memoryBytes",
		"serveEvents.maxAppendSize")
	flags.StringSliceVar(&o.Listen, "listen", []string{defaultEventsAddress}, "`addresses` to listen on")
	flags.StringVar(&o.CertFile, "tls-cert", "", "certificate with its chain, a PEM `file`")
	flags.StringVar(&o.KeyFile, "tls-key", "", "private key of the certificate, a PEM `file`")
	flags.StringVar(&o.UsersFile, "users", "", "`file` of users and roles")
	flags.StringVar(&o.Advertise, "advertise", "", "`host:port` that clients are told; default: where they connect")
	flags.BoolVar(&insecure, "insecure", false, "everybody on this machine may do everything, in plain text")
	flags.BoolVar(&o.AcceptPersistentSubscriptions, "test-accept-persistent-subscriptions", false, "")
	if err := flags.MarkHidden("test-accept-persistent-subscriptions"); err != nil {
		panic("the flag was defined a line above: " + err.Error())
	}
	cmd.AddCommand(a.eventstoreUserCommand(), a.eventstoreCertificateCommand())
	return cmd
}

// checkEventstore checks the flags against each other.
func checkEventstore(o eventserver.Options, insecure bool) error {
	switch {
	case len(o.Listen) == 0:
		return fmt.Errorf("%w: --listen needs an address", cli.ErrUsage)
	case (o.CertFile == "") != (o.KeyFile == ""):
		return fmt.Errorf("%w: --tls-cert and --tls-key belong together", cli.ErrUsage)
	case insecure && (o.CertFile != "" || o.UsersFile != ""):
		return fmt.Errorf("%w: --insecure means no certificate and no users", cli.ErrUsage)
	case !insecure && o.UsersFile == "":
		return fmt.Errorf("%w: who may use the event store? Give --users FILE (hostnode eventstore user makes "+
			"it) with --tls-cert and --tls-key, or --insecure for a trial on this machine", cli.ErrUsage)
	}
	return nil
}

func (a *app) serveEventstore(
	ctx context.Context, c config.Config, o eventserver.Options, insecure bool,
) (err error) {
	if err := checkEventstore(o, insecure); err != nil {
		return err
	}
	if insecure {
		o.Anonymous = wire.RoleAdmin
	}
	if c.EventStore.URL != "" {
		return fmt.Errorf("%w: --store names an EventStoreDB, which serves itself", cli.ErrUsage)
	}
	o.Memory, o.MaxAppendSize = int64(c.ServeEvents.MemoryBytes), int(c.ServeEvents.MaxAppendSize)
	// The garbage collector works harder when messages fill their limit, instead of letting garbage
	// double it. GOMEMLIMIT takes precedence.
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(eventserver.CollectorLimit(o.Memory, int64(c.EventStore.CacheBytes)))
	}
	log := cli.NewLog(c, a.Stderr)
	dir, err := datadir.Open(c.DataDir, a.Now())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if _, err := os.Stat(dir.Slots()); err == nil {
		o.Guarded = catalog.Streams().Categories()
		log.Info("a host has used this directory: its own streams are read-only")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at the data directory: %w", err)
	}
	store, err := stores.Open(ctx, stores.FromConfig(c), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if !store.Report.Clean {
		log.Warn("the last run did not shut down properly; nothing that was acknowledged is lost")
	}
	return a.serve(ctx, store, o, log)
}

func (a *app) serve(ctx context.Context, store *stores.Opened, o eventserver.Options, log *logrus.Entry) (err error) {
	server, err := eventserver.Start(store.Store, o, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if o.Anonymous == wire.RoleAdmin {
		log.Warn("insecure: everybody who can reach these addresses may read, write and delete")
	}
	if _, err := fmt.Fprintf(a.Stdout, "serving %s at %s\n", store.Name,
		server.ConnectionStrings(o.CertFile != "")); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return server.Wait(ctx)
}

// eventstoreUser is the answer of hostnode eventstore user.
type eventstoreUser struct {
	User  string `json:"user"`
	Role  string `json:"role"`
	Users string `json:"users"`
}

func (a *app) eventstoreUserCommand() *cobra.Command {
	var role, account, users string
	cmd := &cobra.Command{
		Use: "user NAME", Short: "Add a user to a users file, or change one", Args: cobra.ExactArgs(1),
		Long: "Add a user to a users file, or change the role and password of one. The password is read from\n" +
			"standard input; the file holds a hash of it. Roles: an auditor reads everything and writes nothing;\n" +
			"a host is a hostnode run --store, which appends to the streams of its --account, sees no other\n" +
			"host's and deletes nothing; an operator also appends and deletes; an admin also changes streams of\n" +
			"the system.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if users == "" {
				return fmt.Errorf("%w: name the file with --users", cli.ErrUsage)
			}
			password, err := a.readPassword(cmd.Context())
			if err != nil {
				return err
			}
			if err := eventserver.SetUser(users, args[0], role, account, password); err != nil {
				return err
			}
			return cli.Show(a.App, eventstoreUser{args[0], role, users}, func(p *cli.Printer, u eventstoreUser) error {
				p.Line("%s is %s now, in %s; the server reads it when it starts", u.User, u.Role, u.Users)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "auditor", strings.Join(eventserver.Roles(), ", "))
	cmd.Flags().StringVar(&account, "account", "", "`address` of the account of a host, 0x…")
	cmd.Flags().StringVar(&users, "users", "", "users `file`")
	return cmd
}

// readPassword reads a line from standard input, without echo from a terminal.
func (a *app) readPassword(ctx context.Context) (string, error) {
	if f, ok := a.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return a.askPassword(ctx, int(f.Fd()))
	}
	line, err := bufio.NewReader(io.LimitReader(a.Input(ctx), wire.MaxPasswordBytes+3)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if len(line) > wire.MaxPasswordBytes {
		return "", fmt.Errorf("%w: a password has at most %d bytes", cli.ErrUsage, wire.MaxPasswordBytes)
	}
	return line, nil
}

func (a *app) eventstoreCertificateCommand() *cobra.Command {
	var hosts []string
	cmd := &cobra.Command{
		Use: "certificate DIR", Short: "Make a certificate authority and a certificate", Args: cobra.ExactArgs(1),
		Long: "Make a certificate authority and a certificate for the event store, if you have no authority of\n" +
			"your own. Clients trust it with tlsCaFile in the connection string.",
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("make certificates: %w", err)
			}
			made, err := eventserver.MakeCertificates(dir, hosts, a.Now())
			if err != nil {
				return err
			}
			return cli.Show(a.App, made, func(p *cli.Printer, c eventserver.Certificates) error {
				p.Line("serve with   --tls-cert %s --tls-key %s", c.Cert, c.Key)
				p.Line("connect with esdb://USER@%s?tlsCaFile=%s", net.JoinHostPort(hosts[0], "2113"), c.CA)
				p.Line("valid until  %s", c.Expires.Format("2006-01-02"))
				return nil
			})
		},
	}
	cmd.Flags().StringSliceVar(&hosts, "host", []string{"localhost", "127.0.0.1", "::1"},
		"`names` and addresses of the server")
	return cmd
}

// askPassword reads from a terminal without echo, and restores the echo even when a
// signal ends it.
func (a *app) askPassword(ctx context.Context, terminal int) (string, error) {
	before, err := term.GetState(terminal)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	fmt.Fprint(a.Stderr, "password: ")
	text, err := cli.UntilDone(ctx, func() ([]byte, error) { return term.ReadPassword(terminal) })
	fmt.Fprintln(a.Stderr)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", errors.Join(err, term.Restore(terminal, before)))
	}
	return string(text), nil
}
