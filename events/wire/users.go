package wire

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/bcrypt"

	"github.com/hostnode/hostnode/events"
)

// Role is what a caller may do. A stream's ACL can take rights away from
// operators, but gives nobody any.
type Role uint8

// The roles, each with what it may.
const (
	// RoleNone may nothing.
	RoleNone Role = iota
	// RoleAuditor reads everything, whatever the ACLs say, and writes nothing.
	RoleAuditor
	// RoleOperator reads what ACLs allow, and appends to and deletes streams
	// that are not the system's own. It is in no group.
	RoleOperator
	// RoleAdmin also writes system streams, including the metadata of streams.
	// It is in the group $admins, and not bound by ACLs.
	RoleAdmin
	// RoleHost is a hostnode that stores its events here (hosts.go): it appends to
	// the streams of its own account, sees no other account's, deletes nothing, and
	// is not bound by ACLs. It is in no group.
	RoleHost
)

func (r Role) valid() bool { return r <= RoleHost }

func (r Role) String() string {
	return events.NameOf(r, "role %d", "none", "auditor", "operator", "admin", "host")
}

// User may log in with a password.
type User struct {
	// Name has no colon, because of basic authentication, and no leading "$",
	// which marks groups.
	Name string
	// PasswordHash is what HashPassword made.
	PasswordHash string
	Role         Role
	// Account is the one whose streams a user of RoleHost writes; other roles have none.
	Account events.Address
}

// MaxPasswordBytes is bcrypt's limit: it ignores the rest.
const MaxPasswordBytes = 72

// MinPasswordRunes excludes passwords that could be guessed within the limit of
// failed logins.
const MinPasswordRunes = 8

// passwordCost is bcrypt's cost: some 50 ms a check.
const passwordCost = 10

// maxPasswordCost bounds how long checking a hash from elsewhere may take.
const maxPasswordCost = 12

// HashPassword returns what a User has in place of the password. It refuses a
// password that is too short to be safe, or longer than bcrypt reads.
func HashPassword(password string) (string, error) {
	switch {
	case utf8.RuneCountInString(password) < MinPasswordRunes:
		return "", fmt.Errorf("password of %d characters, want %d or more",
			utf8.RuneCountInString(password), MinPasswordRunes)
	case len(password) > MaxPasswordBytes:
		return "", fmt.Errorf("password of %d bytes, want %d or less", len(password), MaxPasswordBytes)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), passwordCost)
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return string(hash), nil
}

// check says what is wrong with a user.
func (u User) check() error {
	switch {
	case u.Name == "" || len(u.Name) > maxUserName:
		return fmt.Errorf("user name of %d bytes, want 1 to %d", len(u.Name), maxUserName)
	case strings.HasPrefix(u.Name, "$") || strings.ContainsAny(u.Name, ":\x00") || !utf8.ValidString(u.Name):
		return fmt.Errorf("user name %q: want UTF-8 without colons that does not begin with $", u.Name)
	case !u.Role.valid():
		return fmt.Errorf("user %q: unknown role %d", u.Name, u.Role)
	}
	switch has := u.Account != (events.Address{}); {
	case u.Role == RoleHost && !has:
		return fmt.Errorf("user %q: a host has an account; it is missing", u.Name)
	case u.Role != RoleHost && has:
		return fmt.Errorf("user %q: only hosts have an account, and this is of role %s", u.Name, u.Role)
	}
	cost, err := bcrypt.Cost([]byte(u.PasswordHash))
	if err != nil {
		return fmt.Errorf("user %q: password hash: %w", u.Name, err)
	}
	if cost > maxPasswordCost {
		return fmt.Errorf("user %q: a check of this password hash costs 2^%d rounds, the limit is 2^%d",
			u.Name, cost, maxPasswordCost)
	}
	if bcrypt.CompareHashAndPassword([]byte(u.PasswordHash), nil) == nil {
		return fmt.Errorf("user %q: %w", u.Name, errEmptyPassword)
	}
	return nil
}

const maxUserName = 128

var errEmptyPassword = errors.New("the password is empty")
