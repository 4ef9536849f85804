package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
)

// ErrOtherMember: the directory belongs to another member of a host.
var ErrOtherMember = errors.New("data directory belongs to another member")

// memberFile names the member that the directory belongs to.
func (l Layout) memberFile() string { return l.join("member") }

// Member is the member of a host that the directory belongs to; empty: to none.
func (l Layout) Member() (events.Member, error) {
	text, err := os.ReadFile(l.memberFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read whose the data directory is: %w", err)
	}
	member, err := events.ParseMember(strings.TrimSpace(string(text)))
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrOwner, l.memberFile(), err)
	}
	return member, nil
}

// OwnMember stores that the directory belongs to a member, if it belongs to none yet. The ledger
// and the sales of a member are those of the data in its directory: ErrOtherMember.
func (d *Dir) OwnMember(name events.Member) error {
	is, err := d.Member()
	switch {
	case err != nil || is == name:
		return err
	case is != "":
		return fmt.Errorf("%w: %s is of %s; write cluster.member = %s, or use another data directory for %s",
			ErrOtherMember, d.Root, is, is, name)
	}
	if err := durable.Replace(d.memberFile(), []byte(string(name)+"\n")); err != nil {
		return fmt.Errorf("write whose the data directory is: %w", err)
	}
	return nil
}
