package cli

import (
	"fmt"
	"os"
	"os/user"
	"strings"
	"syscall"
)

// as is what the user of an environment types before a command that works in another user's directory; nothing, in
// one of their own.
func as(environ []string, dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return ""
	}
	owner, err := user.LookupId(fmt.Sprint(stat.Uid))
	if err != nil || owner.Username == typist(environ) {
		return ""
	}
	return "sudo -u " + owner.Username + " "
}

// typist is the name of the user who types commands, also while sudo runs one as another user.
func typist(environ []string) string {
	for _, v := range environ {
		if name, is := strings.CutPrefix(v, "SUDO_USER="); is && name != "" {
			return name
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
