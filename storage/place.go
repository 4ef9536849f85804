package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
)

// IdentityName is the file by which a directory is recognised.
const IdentityName = "IDENTITY"

// Place is a directory that may be on a disk of its own, which can be away: not mounted, unplugged,
// or moved. Then another directory has its name, such as an empty mount point, or none. Nothing may
// be concluded from what is missing there, and nothing may be written to it. So a directory has a
// random identity in a file, which is remembered outside of it, and compared before anything is
// done. It is safe for concurrent use. A nil Place is always there.
type Place struct {
	// Dir is the directory.
	Dir string
	// Memory is the file, on another disk, that remembers the identity.
	Memory string
	// Expected says that the directory was used by a version that gave it no identity: it is not made
	// anew then, but recognised by its file FORMAT.
	Expected bool
	// Lost: the operator knows that what was in the directory is gone, and wants another one.
	Lost bool

	mu sync.Mutex
	id string // empty: it is not known yet
}

// Here returns events.ErrDiskAway unless the directory is the one that it was. The first call makes
// one that was never there.
func (p *Place) Here() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	has, err := identities(filepath.Join(p.Dir, IdentityName))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", events.ErrDiskAway, err)
	case p.id == "":
		return p.recognise(has)
	case !slices.Contains(has, p.id):
		return fmt.Errorf("%w: %s is another directory than it was", events.ErrDiskAway, p.Dir)
	}
	return nil
}

// Unless returns events.ErrDiskAway in place of an error of something in the directory, if the
// directory is away: nothing is damaged or missing then. It returns nil and all other errors as they
// are.
func (p *Place) Unless(err error) error {
	if err == nil || errors.Is(err, events.ErrDiskAway) {
		return err
	}
	if away := p.Here(); errors.Is(away, events.ErrDiskAway) {
		return fmt.Errorf("%w (%v)", away, err) //nolint:errorlint // It is no verdict then.
	}
	return err
}

// recognise finds out whether a directory with these identities is the one that is remembered.
func (p *Place) recognise(has []string) error {
	remembered, err := identities(p.Memory)
	if err != nil {
		return fmt.Errorf("read which directory %s is: %w", p.Dir, err)
	}
	for _, id := range remembered {
		if slices.Contains(has, id) {
			p.id = id
			return nil
		}
	}
	_, noFormat := os.Stat(filepath.Join(p.Dir, formatName))
	switch {
	case p.Lost:
	case len(remembered) > 0:
		return fmt.Errorf("%w: %s is another directory than %s remembers", events.ErrDiskAway, p.Dir, p.Memory)
	case p.Expected && noFormat != nil:
		return fmt.Errorf("%w: nothing of what was stored in %s is there", events.ErrDiskAway, p.Dir)
	}
	if len(has) == 0 {
		stored, _ := os.ReadDir(p.Dir)
		if has, err = p.name(); err != nil && len(stored) > 0 {
			return nil // A full disk still has what must be proven; the next call tries again.
		}
	}
	if err == nil {
		err = durable.Replace(p.Memory, []byte(has[0]+"\n"+has[0]+"\n"))
	}
	if err != nil {
		return fmt.Errorf("give %s an identity: %w", p.Dir, FullDisk(err))
	}
	p.id = has[0]
	return nil
}

// name makes the directory if need be, and gives it an identity.
func (p *Place) name() ([]string, error) {
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := durable.Sync(filepath.Dir(p.Dir)); err != nil {
		return nil, err
	}
	id := rand.Text()
	// Twice, so that one damaged byte does not make a stranger of the directory.
	return []string{id}, durable.Replace(filepath.Join(p.Dir, IdentityName), []byte(id+"\n"+id+"\n"))
}

// identities reads a file of identities; none if it is not there.
func identities(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}
