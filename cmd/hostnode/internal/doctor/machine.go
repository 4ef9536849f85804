package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/storage"
)

// This file measures the machine: the host on it, files, ports, disk and processor.

// host is what a running host says of itself.
type host struct {
	Running   bool
	Reason    string
	Obstacles []api.Obstacle
	// Collateral is what the availabilities may still put at stake.
	Collateral events.Amount
}

func (e *exam) measureHost(ctx context.Context) (h host, err error) {
	client := api.NewClient(e.dir.Socket())
	defer client.Close()
	if err := client.Ping(ctx); errors.Is(err, problem.ErrNotRunning) {
		return h, nil
	} else if err != nil {
		return h, err
	}
	s, err := api.ShowStatus.Ask(ctx, client, api.Then{})
	if err != nil {
		return h, err
	}
	h = host{Running: true, Reason: s.Reason, Obstacles: append(s.Readiness, s.Warnings...)}
	for _, a := range s.Ledger.Availabilities {
		left, err := events.ParseAmount(a.Remaining)
		if err == nil && a.Enabled {
			h.Collateral = h.Collateral.AddSaturating(left)
		}
	}
	return h, nil
}

// files are those that only their owner may read.
type files struct {
	Root      string      // the data directory
	Directory fs.FileMode // 0: it does not exist yet
	Wrong     []error     // about the files
}

// maxSecret is the most bytes of a file with a secret: tokens have some hundreds each.
const maxSecret = 16 << 20

// measureFiles opens all that is secret, but the account's key, which measureAccount does.
func (e *exam) measureFiles(context.Context) (f files, err error) {
	c := e.Config
	f.Root = e.dir.Root
	info, err := os.Stat(f.Root)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else if err == nil {
		f.Directory = info.Mode()
	}
	for _, own := range []string{e.dir.Tokens(), filepath.Join(f.Root, "settings.key")} {
		if _, err := config.ReadPrivate(own, maxSecret); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.Wrong = append(f.Wrong, err)
		}
	}
	for setting, path := range map[string]string{
		"alerts.keyFile": c.Alerts.KeyFile, "api.keyFile": c.API.KeyFile, "serveEvents.keyFile": c.ServeEvents.KeyFile,
		"eventStore.passwordFile": c.EventStore.PasswordFile, "cluster.tls.keyFile": c.Cluster.TLS.KeyFile,
		"account.passwordFile": c.Account.PasswordFile, "cluster.etcd.keyFile": c.Cluster.Etcd.KeyFile,
		"sectors.remote.tokenFile":             c.Sectors.Remote.TokenFile,
		"aggregation.broker.tokenFile":         c.Aggregation.Broker.TokenFile,
		"aggregation.broker.callbackTokenFile": c.Aggregation.Broker.CallbackTokenFile,
	} {
		if path == "" {
			continue
		}
		if _, err := config.ReadPrivate(path, maxSecret); err != nil {
			f.Wrong = append(f.Wrong, fmt.Errorf("%s: %w", setting, err))
		}
	}
	return f, err
}

// port is an address at which a host listens by its settings.
type port struct {
	Setting, Address string
	// Running: a host runs here. Error says why nobody else can listen there; empty: it is free.
	Running bool
	Error   string
}

func (e *exam) measurePorts(ctx context.Context, running bool) (all []port) {
	c := e.Config
	all = []port{
		{Setting: "api.listen", Address: c.API.Listen},
		{Setting: "serveEvents.listen", Address: c.ServeEvents.Listen},
		{Setting: "cluster.listen", Address: c.Cluster.Listen},
		{Setting: "sectors.remote.callbackListen", Address: c.Sectors.Remote.CallbackListen},
		{Setting: "nodes.probe.listen", Address: c.Nodes.Probe.Listen},
		{Setting: "aggregation.broker.listen", Address: c.Aggregation.Broker.Listen},
	}
	if c.Devchain.HTTPPort > 0 && c.Embedded() {
		all = append(all, port{Setting: "devchain.httpPort", Address: fmt.Sprintf("127.0.0.1:%d", c.Devchain.HTTPPort)})
	}
	if c.Devchain.WSPort > 0 && c.Embedded() {
		all = append(all, port{Setting: "devchain.wsPort", Address: fmt.Sprintf("127.0.0.1:%d", c.Devchain.WSPort)})
	}
	all = slices.DeleteFunc(all, func(p port) bool { return p.Address == "" })
	for i := range all {
		all[i].Running = running
		if l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", all[i].Address); err != nil {
			all[i].Error = err.Error()
		} else {
			_ = l.Close()
		}
	}
	return all
}

// space is the room of the data directory's file system.
type space struct{ Free, Used, Quota, KeepFree events.Bytes }

func (e *exam) measureSpace(ctx context.Context) (s space, err error) {
	s.Quota, s.KeepFree = e.Config.Quota, e.Config.Storage.KeepFree
	if s.Free, err = storage.Free(e.there()); err != nil {
		return s, err
	}
	for _, dir := range []string{e.dir.Slots(), cmp.Or(e.Config.Sectors.Directory, e.dir.Sectors()), e.dir.Pieces()} {
		err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return ctx.Err() // What a host removes meanwhile is not used.
			}
			if info, err := entry.Info(); err == nil {
				s.Used += events.Bytes(info.Size())
			}
			return ctx.Err()
		})
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// there is the data directory or, before the first start, where it would be made.
func (e *exam) there() string {
	dir := e.dir.Root
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

const (
	// testFile is the size of the file that is written.
	testFile = 64 << 20
	// testChunk is written, read or hashed at a time.
	testChunk = 1 << 20
	// testSyncs is how many small writes are made safe.
	testSyncs = 16
)

// disk is how fast the disk is.
type disk struct {
	// Size is that of the file; 0: there was no room for it.
	Size        events.Bytes
	Wrote, Read time.Duration // including what makes it safe
	Sync        time.Duration // of a small write
	Scrub       events.Bytes  // per second, by the settings
}

func (e *exam) measureDisk(ctx context.Context) (d disk, err error) {
	d.Scrub = e.Config.Storage.ScrubBytesPerSecond
	free, err := storage.Free(e.there())
	if err != nil || free < 2*testFile {
		return d, err
	}
	f, err := os.CreateTemp(e.there(), ".hostnode-doctor-*")
	if err != nil {
		return d, fmt.Errorf("write into the data directory: %w", err)
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil { // It lives on without a name until it is closed.
		return d, fmt.Errorf("remove the test file: %w", err)
	}
	chunk := make([]byte, testChunk)
	_, _ = rand.Read(chunk) // Never fails; a file system may compress zeros.
	began := time.Now()
	for range testSyncs {
		if _, err := f.WriteAt(chunk[:4<<10], 0); err != nil {
			return d, fmt.Errorf("write the test file: %w", err)
		}
		if err := errors.Join(f.Sync(), ctx.Err()); err != nil {
			return d, fmt.Errorf("write the test file: %w", err)
		}
	}
	d.Sync, began = time.Since(began)/testSyncs, time.Now()
	for d.Size < testFile {
		n, err := f.WriteAt(chunk, int64(d.Size))
		if err = errors.Join(err, ctx.Err()); err != nil {
			return d, fmt.Errorf("write the test file: %w", err)
		}
		d.Size += events.Bytes(n)
	}
	if err := f.Sync(); err != nil {
		return d, fmt.Errorf("write the test file: %w", err)
	}
	d.Wrote = time.Since(began)
	forget(f)
	began = time.Now()
	for {
		_, err := f.Read(chunk)
		if errors.Is(err, io.EOF) {
			d.Read = time.Since(began)
			return d, nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return d, fmt.Errorf("read the test file: %w", err)
		}
	}
}

// hashing is how fast slots are hashed.
type hashing struct {
	Size             events.Bytes
	Poseidon, SHA256 time.Duration
	Within           time.Duration // the shortest time for a sale; 0: not known
	Scrub            events.Bytes  // per second, by the settings
}

// hashBlocks is how many blocks are hashed: enough to keep all processors busy.
const hashBlocks = 16

func (e *exam) measureHashing(ctx context.Context, m market) (h hashing, err error) {
	h.Scrub = e.Config.Storage.ScrubBytesPerSecond
	if m.Known {
		h.Within = cmp.Or(e.Config.Sales.MinFill, 2*m.Terms.Proofs.Period)
	}
	blocks := make([][]byte, hashBlocks)
	for i := range blocks {
		blocks[i] = make([]byte, merkle.BlockSize)
		_, _ = rand.Read(blocks[i]) // Never fails.
	}
	h.Size = hashBlocks * merkle.BlockSize
	began := time.Now()
	if _, err := merkle.HashBlocks(ctx, blocks); err != nil {
		return h, err
	}
	h.Poseidon, began = time.Since(began), time.Now()
	for _, b := range blocks {
		sha256.Sum256(b)
	}
	h.SHA256 = time.Since(began)
	return h, nil
}
