package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/storage"
)

const (
	// none answers a question for something that the host can do without, and newKey that for a key.
	none, newKey = "none", "new"
	// localDev answers the question for an end point: the development chain in the data directory.
	localDev = "dev"
	// served is where hostnode client serves what is to be fetched, and slotsOfClient how many slots its files have.
	served, slotsOfClient = "http://" + clientListen, "3"
	// maxTries is how often an answer is asked for that cannot be used.
	maxTries = 5
	// lookTime is how long the chain may take to answer.
	lookTime = 10 * time.Second
)

// begun is what init has done.
type begun struct {
	File    string `json:"file"`
	DataDir string `json:"dataDir"`
	Account string `json:"account"`
	KeyFile string `json:"keyFile,omitempty"`
	// Availability is what was put on offer.
	Availability *projections.Availability `json:"availability,omitempty"`
	Warnings     []string                  `json:"warnings"`
	Next         []string                  `json:"next"`
}

func (a *app) initCommand() *cobra.Command {
	w := &wizard{app: a}
	cmd := &cobra.Command{
		Use: "init", Short: "Set a host up: settings, key, and the first space on offer", Args: cobra.NoArgs,
		Long: `Set a host up: ask for what it needs, check the answers as hostnode run does, write a file with all
settings and their explanations, make or import the key, and put space on offer.

What a flag or a HOSTNODE_... variable answers is not asked: every setting is a flag, as in hostnode run,
and goes into the file. With --yes all other questions get their usual answers. Without a terminal
nothing can be asked, so all answers have to be given. Nothing that exists is replaced.`,
		Example: "  hostnode init --yes --quota 100GiB",
	}
	w.flags = cmd.Flags()
	settingFlags(cmd, "quota", "chain-endpoint", "chain-contract", "content-sources", "account-key-file",
		"account-password-file", "account-signer", "api-listen")
	w.flags.StringVar(&w.key, "key", "", "`new`, or the file of a key to import (64 hex digits, or a keystore)")
	w.flags.BoolVar(&w.yes, "yes", false, "ask nothing: what no flag answers gets its usual answer")
	w.terms = offerFlags(w.flags)
	w.flags.BoolVar(&w.nothing, "no-offer", false, "put no space on offer yet")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		w.in = bufio.NewReader(a.Input(cmd.Context()))
		done, err := w.run(cmd)
		if err != nil {
			return err
		}
		return cli.Show(a.App, done, printBegun)
	}
	return cmd
}

func printBegun(p *cli.Printer, b begun) error {
	p.Line("settings     %s", b.File)
	p.Line("account      %s", b.Account)
	if b.KeyFile != "" { // Otherwise a signer has it.
		p.Line("key          %s, which only you can read. Keep a copy in a safe place.", b.KeyFile)
	}
	if b.Availability != nil {
		p.Line("on offer     availability %s", b.Availability.ID)
		p.Rows(availabilityRows(p.Now, *b.Availability))
	}
	for _, text := range b.Warnings {
		p.Line("%s      %s", p.Colour(cli.Yellow, "warning"), text)
	}
	for _, text := range b.Next {
		p.Line("next         %s", text)
	}
	return nil
}

// wizard asks, and notes each answer as the flag that gives it.
type wizard struct {
	*app
	flags        *pflag.FlagSet
	in           *bufio.Reader
	key          string
	yes, nothing bool
	terms        *offerTerms
	token        money.Token // of the market; zero: it could not be asked
	missing      []string
	warnings     []string
}

// question is answered by a flag.
type question struct {
	key, flag string // of a setting; without a key the flag is one of init alone
	text      string
	usual     string // what --yes and an empty line answer; empty: nothing does
	idle      bool   // earlier answers make it needless
	// take notes an answer that is no value of the flag; nil: each one is.
	take func(text string) (taken bool, err error)
}

func (w *wizard) run(cmd *cobra.Command) (begun, error) {
	for flag, word := range map[string]string{
		"api-listen": none, "chain-endpoint": localDev, "content-sources": none, "account-password-file": none,
	} {
		if f := w.flags.Lookup(flag); f.Value.String() == word { // As one answers the question.
			if err := f.Value.Set(""); err != nil {
				return begun{}, err
			}
		}
	}
	c, file, err := w.draft()
	if err != nil {
		return begun{}, err
	}
	// Before anything is asked. Where the directory is asked for, the file that is meant may be another one.
	if err := datadir.At(c.DataDir).CheckUser(); err != nil {
		return begun{}, err
	}
	if _, err := free(file); err != nil && (c.Given("dataDir") || w.flags.Changed("config")) {
		return begun{}, err
	}
	if err := w.settings(cmd.Context()); err != nil {
		return begun{}, err
	}
	if len(w.missing) > 0 {
		return begun{}, fmt.Errorf("%w: nothing was written, because this is not answered: %s; questions are asked "+
			"in a terminal only, and --yes gives the usual answers, where there are any", cli.ErrUsage,
			strings.Join(w.missing, ", "))
	}
	if c, file, err = w.draft(); err == nil {
		err = c.Validate()
	}
	if err == nil {
		err = datadir.At(c.DataDir).CheckUser()
	}
	if err == nil {
		_, err = free(file)
	}
	if err == nil {
		err = w.fits(c)
	}
	if err != nil {
		return begun{}, err
	}
	return w.do(cmd, c, file)
}

// draft has what was answered so far, and where it is to be written.
func (w *wizard) draft() (config.Loaded, string, error) {
	return config.Draft(config.Sources{Environ: w.Environ, Flags: w.flags})
}

// each asks what no source answers; a question may depend on the answers before it.
func (w *wizard) each(questions ...func(config.Loaded) question) error {
	for _, next := range questions {
		c, _, err := w.draft()
		if err != nil {
			return err
		}
		if q := next(c); !q.idle && !w.flags.Changed(q.flag) && (q.key == "" || !c.Given(q.key)) {
			if err := w.answer(q); err != nil {
				return err
			}
		}
	}
	return nil
}

// settings asks for what a host needs.
func (w *wizard) settings(ctx context.Context) error {
	err := w.each(func(c config.Loaded) question {
		return question{
			key: "dataDir", flag: "data-dir", usual: c.DataDir,
			text: "Directory of all that the host stores",
		}
	}, func(c config.Loaded) question {
		room := space(c)
		return question{
			key: "quota", flag: "quota", usual: fmt.Sprintf("%dGiB", max(room/5*4>>30, 1)),
			text: fmt.Sprintf("The most that it may keep for others (%s are free)", cli.Size(room)),
		}
	}, func(config.Loaded) question {
		return question{
			key: "chain.endpoint", flag: "chain-endpoint", usual: localDev, take: is(localDev),
			text: "End point of the chain, such as wss://rpc.example.org; " + localDev + ": a chain for trying it out",
		}
	}, func(c config.Loaded) question {
		return question{
			key: "chain.contract", flag: "chain-contract", idle: c.Embedded(),
			text: "Address of the marketplace's contract",
		}
	}, func(c config.Loaded) question {
		usual := none
		if c.Embedded() {
			usual = served
		}
		return question{
			key: "content.sources", flag: "content-sources", usual: usual, take: is(none),
			text: "Where the data of slots is fetched from, such as https://content.example.org, or " + none,
		}
	}, func(c config.Loaded) question {
		return question{
			flag: "key", usual: newKey, idle: c.Account.Signer != "" || exists(c.Account.KeyFile),
			text: "Key of the account: " + newKey + ", or the file of one to import", take: keyFile,
		}
	}, w.passwordFile, func(config.Loaded) question {
		return question{
			key: "api.listen", flag: "api-listen", usual: "127.0.0.1:8090", take: is(none),
			text: "Address of the web page and the API, or " + none,
		}
	})
	if err != nil {
		return err
	}
	c, _, err := w.draft()
	// Nobody else hosts there, so that a request of the client starts only if this host fills all slots of it.
	if err == nil && c.Embedded() && !c.Given("sales.maxSlotsPerRequest") {
		err = w.flags.Set("sales-max-slots-per-request", slotsOfClient)
	}
	if err != nil {
		return err
	}
	w.look(ctx, c)
	// Where money is worth something no price is usual.
	size, price, collateral := none, "", ""
	if c.Embedded() {
		size, price, collateral = fmt.Sprintf("%dMiB", c.Quota/10*9>>20), "0.5/GiB/month", "1 "+w.token.Symbol
	}
	of := func(q question) func(config.Loaded) question {
		return func(config.Loaded) question { q.idle = w.nothing; return q }
	}
	return w.each(
		of(question{flag: "size", text: "Space to put on offer now, or " + none, usual: size, take: w.sized(c.Quota)}),
		of(question{flag: "duration", text: "The longest time that it is sold for", usual: "30d"}),
		of(question{flag: "min-price", text: "The least price, such as 0.5/GiB/month", usual: price}),
		of(question{flag: "collateral", text: "The most collateral at stake, such as '12.5 TST'", usual: collateral}),
	)
}

// is notes that an answer says to leave a setting as it is.
func is(word string) func(string) (bool, error) {
	return func(text string) (bool, error) { return text == word, nil }
}

// sized refuses to offer more than there may be: trees and manifests need a part of the quota, about a tenth of the
// smallest slots and less of others.
func (w *wizard) sized(quota events.Bytes) func(string) (bool, error) {
	return func(text string) (bool, error) {
		w.nothing = text == none
		if n, err := config.ParseBytes(text); err == nil && n >= quota {
			return false, fmt.Errorf("the quota is %s, and the trees and manifests of slots need a part of it: "+
				"offer less", cli.Size(quota))
		}
		return w.nothing, nil
	}
}

// keyFile refuses what is no file, without repeating it: it may be a key, given by mistake.
func keyFile(text string) (bool, error) {
	if text != newKey && !exists(text) {
		return false, errors.New("there is no such file")
	}
	return false, nil
}

// passwordFile asks for the path of a file, or takes none for a key that is not encrypted.
func (w *wizard) passwordFile(c config.Loaded) question {
	text, err := os.ReadFile(cmp.Or(w.key, c.Account.KeyFile))
	encrypted, usual := err == nil && keys.Encrypted(text), none
	if encrypted {
		usual = "" // It must have one.
	}
	return question{
		key: "account.passwordFile", flag: "account-password-file", usual: usual,
		idle: c.Account.Signer != "" || w.key == "" && !encrypted,
		text: "File with the password that encrypts the key, or " + none + "; if there is none yet, you type it",
		take: func(text string) (bool, error) {
			switch {
			case text == none && encrypted:
				return false, errors.New("the key is encrypted: its password is needed")
			case text != none && !filepath.IsAbs(text):
				return false, errors.New("write an absolute path")
			}
			return text == none, nil
		},
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// answer gets an answer that can be used, or notes that it is missing.
func (w *wizard) answer(q question) error {
	switch {
	case w.yes && q.usual != "":
		return w.note(q, q.usual)
	case w.yes || !w.Asks:
		w.missing = append(w.missing, "--"+q.flag)
		return nil
	}
	for range maxTries {
		fmt.Fprintf(w.Stderr, "%s%s: ", q.text, strings.TrimSuffix(" ["+q.usual+"]", " []"))
		line, err := w.in.ReadString('\n')
		if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
			return fmt.Errorf("%w: %s: no answer: %w", cli.ErrUsage, q.text, err)
		}
		text := cmp.Or(strings.TrimSpace(line), q.usual)
		if err = w.note(q, text); err == nil && text != "" {
			return nil
		}
		fmt.Fprintf(w.Stderr, "  %s\n", cli.Harmless(cmp.Or(err, errors.New("an answer is needed")).Error()))
	}
	return fmt.Errorf("%w: %s: %d answers could not be used; nothing was written", cli.ErrUsage, q.text, maxTries)
}

// note sets the flag, which checks the text. An amount must also be one of the market's token.
func (w *wizard) note(q question, text string) error {
	if q.take != nil {
		if taken, err := q.take(text); taken || err != nil {
			return err
		}
	}
	if err := w.flags.Set(q.flag, text); err != nil {
		return cmp.Or(errors.Unwrap(err), err) // Without the name of the flag.
	}
	if q.flag == "min-price" || q.flag == "collateral" {
		return w.terms.in(w.token)
	}
	return nil
}

// space is how much the file system has free at which the data directory is, or will be.
func space(c config.Loaded) events.Bytes {
	for dir := c.DataDir; ; dir = filepath.Dir(dir) {
		if n, err := storage.Free(dir); err == nil || dir == filepath.Dir(dir) {
			return n - min(n, c.Storage.KeepFree)
		}
	}
}

// fits refuses what hostnode run would refuse, and warns of what it would warn of.
func (w *wizard) fits(c config.Loaded) error {
	if room := space(c); c.Quota > room {
		w.warn("the quota is %s, and the disk has room for %s", cli.Size(c.Quota), cli.Size(room))
	}
	if len(c.Content.Sources) == 0 {
		w.warn("content.sources is empty, so no slot's data can be fetched, and nothing is sold until it is set")
	}
	switch {
	case w.nothing && *w.terms != (offerTerms{}):
		return fmt.Errorf("%w: --no-offer, and terms of an offer", cli.ErrUsage)
	case exists(c.Account.KeyFile) && w.key != "":
		return fmt.Errorf("%w: %s is kept as it is; leave --key out to use it", keys.ErrExists, c.Account.KeyFile)
	case w.terms.Size != nil && *w.terms.Size >= c.Quota:
		return fmt.Errorf("%w: --size %s leaves nothing of the quota, %s, for the trees and manifests of slots: "+
			"offer less", cli.ErrUsage, cli.Size(*w.terms.Size), cli.Size(c.Quota))
	}
	if err := w.terms.in(w.token); err != nil {
		return err
	}
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	server, err := access.Listen(access.Config{
		API: c.API, Tokens: access.In(datadir.At(c.DataDir).Tokens(), w.Now), Log: logrus.NewEntry(quiet),
	})
	if err != nil {
		return err
	}
	return server.Close()
}

func (w *wizard) warn(format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

// look asks the contract for its token. Without an answer amounts can only be given in base units.
func (w *wizard) look(ctx context.Context, c config.Loaded) {
	if w.token = datadir.At(c.DataDir).Token(); w.token.Known() {
		return
	}
	if c.Embedded() {
		w.token = money.Of("TST", money.CoinDecimals)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	contract, err := events.ParseAddress(c.Chain.Contract)
	if err != nil {
		return // Validate says so.
	}
	key, err := crypto.GenerateKey() // For questions alone.
	if err != nil {
		return
	}
	client, err := localchain.Remote{Endpoint: c.Chain.Endpoint, Marketplace: contract}.Client(ctx, key)
	if err == nil {
		var symbol, decimals []byte
		symbol, decimals, err = client.TokenSays(ctx)
		w.token = money.FromContract(symbol, decimals)
		client.Close()
	}
	if err != nil {
		w.warn("the contract could not be asked, so nothing is known of its token: %v", err)
	}
}

// free says whether a file can be written: there is none, or it is the one of the package, in which nothing is set.
func free(file string) (replace bool, err error) {
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for settings: %w", err)
	case string(text) != config.Example():
		return false, fmt.Errorf("%w: %s", problem.ErrConfigured, file)
	}
	return true, nil
}

// write makes the file. What it replaces keeps its owner and mode.
func write(file, text string) error {
	replace, err := free(file)
	switch {
	case err != nil:
		return err
	case replace:
		err = os.WriteFile(file, []byte(text), 0o600)
	default:
		if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
			err = durable.Create(file, []byte(text))
		}
	}
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}

// do makes the key first: what cannot be imported leaves nothing behind, and what was made is used by another try.
func (w *wizard) do(cmd *cobra.Command, c config.Loaded, file string) (done begun, err error) {
	done = begun{File: file, DataDir: c.DataDir, KeyFile: c.Account.KeyFile}
	account, err := w.account(cmd.Context(), c.Config)
	if err == nil {
		err = write(file, c.Commented())
	}
	if err != nil {
		return done, err
	}
	done.Account = account.String()
	if done.Availability, err = w.add(cmd); err != nil {
		return done, fmt.Errorf("the settings are in %s, but nothing is on offer yet: %w", file, err)
	}
	w.next(c, &done)
	done.Warnings = w.warnings
	return done, nil
}

// account makes or imports the key, unless there is one.
func (w *wizard) account(ctx context.Context, c config.Config) (events.Address, error) {
	switch {
	case c.Account.Signer != "":
		return c.AccountAddress(), nil
	case w.key == "":
		return keys.Address(c.Account.KeyFile)
	case w.key != newKey:
		return w.importKey(ctx, c, []string{w.key})
	}
	return w.createKey(c)
}

// add puts the first space on offer, if there are terms.
func (w *wizard) add(cmd *cobra.Command) (offered *projections.Availability, err error) {
	if w.terms.Size == nil {
		_, err := w.Settings(cmd)
		return nil, err
	}
	b, done, err := w.Backend(cmd, cli.Create)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	v, err := api.AddAvailability.Ask(cmd.Context(), b, api.Sent[api.Offer]{Body: api.Offer{
		ID: api.DrawID().String(), Size: *w.terms.Size, DurationSeconds: *w.terms.DurationSeconds,
		MinPrice: *w.terms.MinPrice, Collateral: *w.terms.Collateral, Until: *cmp.Or(w.terms.Until, &time.Time{}),
	}})
	if err == nil && w.token.Known() {
		w.Market = w.token
		err = datadir.At(w.Config.DataDir).KeepToken(w.token)
	}
	return &v, err
}

// next says what a person does then, as the host's user.
func (w *wizard) next(c config.Loaded, done *begun) {
	if done.File != filepath.Join(c.DataDir, config.FileName) {
		w.Typed.After = " --config " + done.File // Which has the directory.
	}
	if !c.Embedded() {
		done.Next = append(done.Next, "send coins for gas, and tokens for collateral, to "+done.Account)
	}
	if done.Availability == nil {
		done.Next = append(done.Next, "put space on offer: "+w.Typed.Before+"hostnode availability add --help")
	}
	if done.File == cli.Packaged {
		done.Next = append(done.Next, "start the host, as root: systemctl enable --now hostnode")
	} else {
		done.Next = append(done.Next, "start the host: "+w.Typed.Command("run"))
	}
	if c.API.Listen != "" {
		done.Next = append(done.Next, "see it at http://"+c.API.Listen+"/, with a token from: "+
			w.Typed.Command("token new NAME --scope operate"))
	}
}
