package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// ErrOtherUser: the directory belongs to another user than the one who would write to it.
var ErrOtherUser = errors.New("data directory belongs to another user")

// CheckUser refuses what root would write in another user's directory, because the host, which runs as that user,
// could not read it. The system itself refuses what others would write.
func (l Layout) CheckUser() error {
	info, err := os.Stat(l.formatFile()) // By who has used it: root may have, in a directory that another user made.
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(l.Root)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look whose the data directory is: %w", err)
	}
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is || !spoils(os.Geteuid(), int(stat.Uid)) {
		return nil
	}
	name := "'#" + strconv.Itoa(int(stat.Uid)) + "'" // As sudo knows a user without a name.
	if u, err := user.LookupId(strconv.Itoa(int(stat.Uid))); err == nil {
		name = cmp.Or(u.Username, name)
	}
	return fmt.Errorf("%w: %s is %s's, who could not read what root writes there; run the same command with "+
		"sudo -u %s before it", ErrOtherUser, l.Root, name, name)
}

// spoils reports whether a user who may write anywhere works in the directory of another one.
func spoils(uid, owner int) bool { return uid == 0 && owner != 0 }
