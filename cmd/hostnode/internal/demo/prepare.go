package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

// This file is what happens before the host is started.

// inRange refuses an option that is beyond its limits.
func inRange[N int | time.Duration](option string, is, least, most N) error {
	if is < least || is > most {
		return fmt.Errorf("%w: --%s %v, want %v to %v", problem.ErrDemoOptions, option, is, least, most)
	}
	return nil
}

// beginsChain refuses a directory that has a chain, for a demonstration that begins one.
func (o Options) beginsChain() error {
	used, err := localchain.Deployed(datadir.At(o.Config.DataDir).Chain())
	if used {
		err = fmt.Errorf("%w: %s has a chain already, and this one begins a chain; name another --data-dir",
			problem.ErrDemoOptions, o.Config.DataDir)
	}
	return err
}

// begin refuses, before anything is written, a file that cannot be stored, and a data directory that a host uses or a
// newer version made. Without a file it has the size of what is made.
func (o Options) begin(made uint64, fits func(fileBytes uint64) error) error {
	bytes := made
	if o.File != "" {
		var err error
		if bytes, err = readable(o.File); err != nil {
			return err
		}
	}
	if err := fits(bytes); err != nil {
		return err
	}
	dir, err := datadir.OpenBriefly(o.Config.DataDir, time.Now(), true)
	if err != nil {
		return err
	}
	return dir.Close() // The host takes it.
}

// readable returns the size of a file, or why it cannot be stored: it does not exist, is not a plain file, or may not
// be read.
func readable(file string) (bytes uint64, err error) {
	info, err := os.Stat(file) // First: to open a pipe could wait for ever.
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", problem.ErrFile, err)
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%w: %s is not a plain file", problem.ErrFile, file)
	}
	f, err := os.Open(file)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", problem.ErrFile, err)
	}
	return uint64(info.Size()), f.Close()
}

// hasRoom refuses a file for which quota or disk lack room; the disk has to hold twice what is needed.
func (o Options) hasRoom(what string, fileBytes, need uint64) error {
	refuse := func(where string, has uint64) error {
		return fmt.Errorf("%w: the %s of a file of %s take %s, %s %s; name a smaller file", problem.ErrDemoOptions,
			what, events.Bytes(fileBytes).Human(), events.Bytes(need).Human(), where, events.Bytes(has).Human())
	}
	if quota := uint64(o.Config.Quota); need > quota {
		return refuse("and the quota, which --quota raises, is", quota)
	}
	dir := o.Config.DataDir
	for _, err := os.Stat(dir); err != nil && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir) // What does not exist yet is made in the nearest one that does.
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("look for space on the disk: %w", err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free/2 < need {
		return refuse("twice, and the disk of "+o.Config.DataDir+" has", free)
	}
	return nil
}

// prepare sets up everything but the host: data, keys, chain, accounts. A demonstration is given the file with the
// data, or so many bytes that are made, or none, and says what its client pays.
func (e *engine) prepare(
	ctx context.Context, made int64, rules *bindings.SectorConfig,
	take func(ctx context.Context, file string) (pays events.Amount, err error),
) error {
	owner, err := e.dir.Owner()
	if err != nil {
		return err
	}
	key, err := node.AccountKey(e.Config, e.dir, owner, true, logrus.NewEntry(logrus.New()))
	if err != nil {
		return err
	}
	e.account = keys.AddressOf(key)
	file := e.File
	if file == "" && made > 0 {
		file = filepath.Join(e.dir.Root, "made.bin")
		if err := makeBytes(file, made); err != nil {
			return fmt.Errorf("make data: %w", err)
		}
		e.display.say("No FILE given: made %d MiB of seeded data, %s", made>>20, file)
	}
	pays, err := take(ctx, file)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", file, err)
	}
	began := time.Now()
	proving, err := node.DevelopmentKeys(ctx, e.Config.Prover, e.dir, func(step string) {
		e.display.say("Proving keys: %s", step)
	})
	if err != nil {
		return err
	}
	e.display.say("Proving keys: %d constraints, ready after %s, kept in %s (development keys: never for real money)",
		proving.Constraints(), time.Since(began).Round(time.Millisecond), e.Config.Prover.KeysDir)
	if e.local, err = node.LocalChain(ctx, e.Config, e.dir, proving, rules); err != nil {
		return err
	}
	if err := e.client.enter(ctx, e.local, pays); err != nil {
		return err
	}
	e.display.showsIn(e.client.token)
	if err := node.ProvideDevelopmentFunds(ctx, e.local, e.account); err != nil {
		return err
	}
	balance, err := e.client.account.BalanceOf(ctx, e.account)
	e.before = balance.Tokens
	e.display.say("Host: account %s, with %s", e.account, base(e.before))
	e.display.say("Before each line is this machine's time. Dates in it, and how long a request, a period or a day " +
		"lasts, are chain time, which has a pace of its own")
	return err
}
