package eventserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/wire"
	"github.com/hostnode/hostnode/internal/durable"
)

// A users file has a line for each user: name, role and the hash of the
// password, separated by colons. The role of a host includes its account:
// host=0x…. Lines that begin with # are comments. Only its owner may read it.
const (
	// maxUsersBytes is the most bytes of a users file, some ten thousand users.
	maxUsersBytes = 1 << 20
	// maxName is the most bytes of a user's name.
	maxName = 128
)

// roles are what a user may do, by their names.
var roles = map[string]wire.Role{
	"auditor": wire.RoleAuditor, "host": wire.RoleHost, "operator": wire.RoleOperator, "admin": wire.RoleAdmin,
}

// Roles lists the names of the roles, the weakest first.
func Roles() []string { return []string{"auditor", "host", "operator", "admin"} }

// LoadUsers reads a users file. An error names the line.
func LoadUsers(path string) ([]wire.User, error) {
	text, err := config.ReadPrivate(path, maxUsersBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: the users file: %w; hostnode eventstore user makes it", config.ErrInvalid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the users: %w", err)
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
		role, account, _ := strings.Cut(parts[1], accountMark)
		user, err := newUser(parts[0], role, account)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		user.PasswordHash = parts[2]
		if slices.ContainsFunc(users, func(u wire.User) bool { return u.Name == parts[0] }) {
			return nil, fmt.Errorf("line %d: user %s is there twice", n, parts[0])
		}
		users = append(users, user)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return users, nil
}

// accountMark separates the role of a host from its account.
const accountMark = "="

// newUser is a user without a password yet.
func newUser(name, role, account string) (u wire.User, err error) {
	if err := checkName(name); err != nil {
		return u, err
	}
	u = wire.User{Name: name, Role: roles[role]}
	switch {
	case u.Role == wire.RoleNone:
		return u, fmt.Errorf("role %q, allowed: %s", role, strings.Join(Roles(), ", "))
	case u.Role == wire.RoleHost && account == "":
		return u, errors.New("a host writes the streams of one account; name it with --account 0x…")
	case u.Role != wire.RoleHost && account != "":
		return u, fmt.Errorf("the role %s has no account; that is for hosts", role)
	case u.Role != wire.RoleHost:
		return u, nil
	}
	if u.Account, err = events.ParseAddress(account); err != nil {
		return u, fmt.Errorf("the account of a host: %w", err)
	}
	if u.Account == (events.Address{}) {
		return u, errors.New("the account of a host cannot be zero")
	}
	return u, nil
}

func checkName(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsAny(name, ": \t#$\x00\n\r") {
		return errors.New("a user's name has 1 to 128 letters and none of : # $ and white space")
	}
	return nil
}

// SetUser adds a user to a users file, or changes the role and password of an
// existing one. The file is made if needed, and replaced atomically. account is
// that of a host, and empty for other roles.
func SetUser(path, name, role, account, password string) error {
	user, err := newUser(name, role, account)
	if err != nil {
		return fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	user.PasswordHash, err = wire.HashPassword(password)
	if err != nil {
		return fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	users, err := LoadUsers(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	users = slices.DeleteFunc(users, func(u wire.User) bool { return u.Name == name })
	users = append(users, user)
	var text strings.Builder
	text.WriteString("# name:role:hash; hostnode eventstore user writes it\n")
	for _, u := range users {
		role := u.Role.String()
		if u.Role == wire.RoleHost {
			role += accountMark + u.Account.String()
		}
		fmt.Fprintf(&text, "%s:%s:%s\n", u.Name, role, u.PasswordHash)
	}
	return durable.Replace(path, []byte(text.String()))
}
