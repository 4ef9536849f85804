package eventserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events/wire"
)

// A users file has a line for each user: name, role and the hash of the
// password, with colons between. Lines that begin with # are comments. Only its
// owner may read it.
const (
	// maxUsersBytes is the most bytes of a users file, some ten thousand users.
	maxUsersBytes = 1 << 20
	// maxName is the most bytes of a user's name.
	maxName = 128
	private = fs.FileMode(0o600)
)

// roles are the names of what a user may do.
var roles = map[string]wire.Role{
	"auditor": wire.RoleAuditor, "operator": wire.RoleOperator, "admin": wire.RoleAdmin,
}

// Roles lists the names of the roles, the weakest first.
func Roles() []string { return []string{"auditor", "operator", "admin"} }

// LoadUsers reads a users file. What is wrong with a line is said with its number.
func LoadUsers(path string) ([]wire.User, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: the users file: %w; hostnode eventstore user makes it", config.ErrInvalid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the users: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the users: %w", err)
	}
	if m := info.Mode(); !m.IsRegular() || m.Perm()&^private != 0 {
		return nil, fmt.Errorf("%w: %s must be a plain file that only its owner can read; run: chmod 600 %s",
			config.ErrInvalid, path, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxUsersBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the users: %w", err)
	}
	if len(text) > maxUsersBytes {
		return nil, fmt.Errorf("%w: %s is larger than %d bytes", config.ErrInvalid, path, maxUsersBytes)
	}
	users, err := parseUsers(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %w", config.ErrInvalid, path, err)
	}
	return users, nil
}

func parseUsers(text []byte) ([]wire.User, error) {
	var users []wire.User
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("line %d: want name:role:hash", n)
		}
		if err := checkName(parts[0]); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		role, ok := roles[parts[1]]
		if !ok {
			return nil, fmt.Errorf("line %d: role %q, allowed: %s", n, parts[1], strings.Join(Roles(), ", "))
		}
		if slices.ContainsFunc(users, func(u wire.User) bool { return u.Name == parts[0] }) {
			return nil, fmt.Errorf("line %d: user %s is there twice", n, parts[0])
		}
		users = append(users, wire.User{Name: parts[0], Role: role, PasswordHash: parts[2]})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return users, nil
}

func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsAny(name, ": \t#$\x00\n\r") {
		return errors.New("a user's name has 1 to 128 letters and none of : # $ and white space")
	}
	return nil
}

// SetUser adds a user to a users file, or gives the one that is there another
// role and password. The file is made if needed, and replaced in one step.
func SetUser(path, name, role, password string) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	if _, ok := roles[role]; !ok {
		return fmt.Errorf("%w: role %q, allowed: %s", config.ErrInvalid, role, strings.Join(Roles(), ", "))
	}
	hash, err := wire.HashPassword(password)
	if err != nil {
		return fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	users, err := LoadUsers(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	users = slices.DeleteFunc(users, func(u wire.User) bool { return u.Name == name })
	users = append(users, wire.User{Name: name, Role: roles[role], PasswordHash: hash})
	var text strings.Builder
	text.WriteString("# name:role:hash; hostnode eventstore user writes it\n")
	for _, u := range users {
		fmt.Fprintf(&text, "%s:%s:%s\n", u.Name, roleName(u.Role), u.PasswordHash)
	}
	return replace(path, text.String())
}

func roleName(role wire.Role) string {
	for name, r := range roles {
		if r == role {
			return name
		}
	}
	panic("eventserver: role without a name")
}

// replace writes a private file so that it is never seen half written.
func replace(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // Its mode is 0600.
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // Nothing is there any more when all went well.
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
