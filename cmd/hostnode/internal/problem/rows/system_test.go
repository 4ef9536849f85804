package rows

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

// TestWhatTheSystemRefusesIsNoInternalError: a person has to know what to do.
func TestWhatTheSystemRefusesIsNoInternalError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, isFile := datadir.Open(file, time.Now())
	_, within := datadir.OpenExisting(file, time.Now())
	_, missing := config.Load(config.Sources{Environ: []string{"HOME=/home/me", "HOSTNODE_CONFIG=/none/hostnode.yaml"}})
	for code, errs := range map[string][]error{
		"not-a-directory":   {isFile, within},
		"config-missing":    {missing},
		"permission-denied": {fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES})},
		"too-many-files":    {fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "/x", Err: syscall.EMFILE})},
		"demo-host-ended":   {fmt.Errorf("%w: %w", problem.ErrDemoHostEnded, errors.New("signal: killed"))},
		"cluster-address":   {fmt.Errorf("%w 127.0.0.1:7946: in use", cluster.ErrListen)},
		"path-unusable": {
			&fs.PathError{Op: "mkdir", Path: "/proc/x", Err: syscall.ENOENT},
			fmt.Errorf("export: %w", &fs.PathError{Op: "open", Path: "/x", Err: syscall.EROFS}),
			&fs.PathError{Op: "read", Path: "/tmp", Err: syscall.EISDIR},
		},
		"demo-stuck": {fmt.Errorf("the chain stopped: %w", problem.ErrDemoStuck)},
	} {
		for _, err := range errs {
			if p := All().Explain(err); p.Code != code || p.Hint == "" {
				t.Errorf("%v is %s, want %s", err, p.Code, code)
			}
		}
	}
}
