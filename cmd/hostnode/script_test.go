package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/eventserver"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// scriptAccount owns the key that scripts import.
const (
	scriptKey     = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
	scriptAccount = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hostnode": func() { os.Exit(realMain()) }})
}

// TestCommandsSayWhatTheManualSays runs the scripts in testdata/script, with -short without the long ones. Besides the
// usual commands they have
//
//	exits CODE COMMAND...   the command ends with this exit code
//	record [-data=DIR] STREAM FILE  appends the events of a JSONL file to the data directory
//	hold                    takes the data directory, as a host does that is starting
//	serve                   answers on the socket, as a running host does
//	host [sectors|SLOT [rotten]]  runs a host on a market on which nothing happens, with sectors, or with that slot on
//	                        its disk, sound or damaged
//	kill-host               kills it
//	truncate FILE -BYTES    cuts the end of a file off
//	eventserver NAME [auditor]  serves an empty event store; NAME has its URL,
//	                            NAME_ADDRESS host and port; everybody is operator, or auditor
//	flip FILE OFFSET        damages a byte, counted from the end when negative
func TestCommandsSayWhatTheManualSays(t *testing.T) {
	runScripts(t, "testdata/script")
	if !testing.Short() {
		runScripts(t, "testdata/script/long")
	}
}

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("DATA", filepath.Join(env.WorkDir, "data"))
			env.Setenv("HOSTNODE_DATA_DIR", filepath.Join(env.WorkDir, "data"))
			env.Setenv("ACCOUNT", scriptAccount)
			histories, err := filepath.Abs("../../events/sale/testdata/history")
			if err != nil {
				return err
			}
			env.Setenv("HISTORIES", histories)
			return os.WriteFile(filepath.Join(env.WorkDir, "key.txt"), []byte("0x"+scriptKey+"\n"), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "record": record, "hold": hold, "serve": serve, "flip": flip,
			"truncate": truncate, "eventserver": eventServer, "host": host, "kill-host": kill,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func record(ts *testscript.TestScript, neg bool, args []string) {
	root := ts.Getenv("DATA")
	if len(args) > 0 && strings.HasPrefix(args[0], "-data=") {
		root = ts.MkAbs(strings.TrimPrefix(args[0], "-data="))
		args = args[1:]
	}
	if neg || len(args) != 2 {
		ts.Fatalf("usage: record [-data=DIR] STREAM FILE")
	}
	dir, err := datadir.Open(root, time.Now())
	ts.Check(err)
	defer func() { ts.Check(dir.Close()) }()
	store, _, err := embedded.Open(dir.Events(), embedded.Config{})
	ts.Check(err)
	defer func() { ts.Check(store.Close()) }()
	f, err := os.Open(ts.MkAbs(args[1]))
	ts.Check(err)
	defer f.Close()
	var batch []events.NewEvent
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Type    string          `json:"type"`
			Version uint32          `json:"version"`
			Data    json.RawMessage `json:"data"`
		}
		ts.Check(json.Unmarshal(lines.Bytes(), &e))
		batch = append(batch, events.NewEvent{
			ID: events.NewEventID(args[0], "script", len(batch)), Type: e.Type, Data: e.Data,
			Meta: events.Metadata{Version: e.Version},
		})
	}
	ts.Check(lines.Err())
	_, err = store.Append(context.Background(), args[0], events.Any(), batch)
	ts.Check(err)
}

func hold(ts *testscript.TestScript, _ bool, _ []string) {
	dir, err := datadir.Open(ts.Getenv("DATA"), time.Now())
	ts.Check(err)
	ts.Defer(func() { ts.Check(dir.Close()) })
}

func serve(ts *testscript.TestScript, _ bool, _ []string) {
	account, err := events.ParseAddress(scriptAccount)
	ts.Check(err)
	b, err := api.OpenOffline(context.Background(), api.OfflineConfig{
		Source: api.Source{DataDir: ts.Getenv("DATA"), Account: account, Machines: machines.API()}, Quota: 20 << 30,
		Create: true,
	})
	ts.Check(err)
	socket, err := datadir.At(ts.Getenv("DATA")).SocketPath("hostnode.sock")
	ts.Check(err)
	server, err := api.Listen(socket, b, logrus.NewEntry(logrus.New()))
	ts.Check(err)
	ts.Defer(func() { ts.Check(errors.Join(server.Close(), b.Close())) })
}

func truncate(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: truncate FILE -BYTES")
	}
	path := ts.MkAbs(args[0])
	less, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, info.Size()+less))
}

func eventServer(ts *testscript.TestScript, _ bool, args []string) {
	role := wire.RoleOperator
	switch {
	case len(args) == 2 && args[1] == "auditor":
		role = wire.RoleAuditor
	case len(args) != 1:
		ts.Fatalf("usage: eventserver NAME [auditor]")
	}
	store := storetest.NewMemory()
	server, err := eventserver.Start(store, eventserver.Options{
		Listen: []string{"127.0.0.1:0"}, Anonymous: role,
	}, logrus.NewEntry(logrus.New()))
	ts.Check(err)
	ts.Defer(func() { ts.Check(errors.Join(server.Close(), store.Close())) })
	ts.Setenv(args[0], server.ConnectionStrings(false))
	ts.Setenv(args[0]+"_ADDRESS", server.Addresses()[0])
}

func flip(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: flip FILE OFFSET")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) != 1 {
		ts.Fatalf("%s is %d files: %v", args[0], len(files), files)
	}
	bytes, err := os.ReadFile(files[0])
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	if at < 0 {
		at += len(bytes)
	}
	if at < 0 || at >= len(bytes) {
		ts.Fatalf("%s has %d bytes", files[0], len(bytes))
	}
	bytes[at] ^= 0xff
	ts.Check(os.WriteFile(files[0], bytes, 0o600))
}
