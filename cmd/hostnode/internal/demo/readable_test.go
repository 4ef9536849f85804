package demo

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

func TestAFileThatCannotBeReadIsCalledSo(t *testing.T) {
	dir := t.TempDir()
	plain, others := filepath.Join(dir, "plain"), filepath.Join(dir, "others")
	for file, mode := range map[string]os.FileMode{plain: 0o600, others: 0} {
		if err := os.WriteFile(file, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	refused := []string{dir, filepath.Join(dir, "none")}
	if os.Geteuid() != 0 { // Root may read everything.
		refused = append(refused, others)
	}
	for _, file := range refused {
		if _, err := readable(file); !errors.Is(err, problem.ErrFile) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := readable(plain); err != nil {
		t.Error(err)
	}
}
