package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// AccountAddress is account.address as an address; zero: it is the key's.
func (c Config) AccountAddress() events.Address {
	return events.Must(optional(c.Account.Address, events.ParseAddress))
}

// checkAddress checks what a process knows of the account.
func (c Config) checkAddress() error {
	address, err := optional(c.Account.Address, events.ParseAddress)
	switch {
	case err != nil || c.Account.Address != "" && address.Zero():
		return refuse("account.address", c.Account.Address, "not an address; write 0x and 40 hex digits, and not the "+
			"zero address")
	case c.Account.Signer != "" && address.Zero():
		return refuse("account.address", "", "with account.signer this process has no key; write the address of the "+
			"account that the signer signs for, 0x and 40 hex digits")
	case !c.Account.Transactions && address.Zero():
		return refuse("account.address", "", "with account.transactions = false this member has no key; write the "+
			"address of the host's account, 0x and 40 hex digits")
	}
	return nil
}

// KeyPassword reads the password of the key file; empty: it needs none.
func (c Config) KeyPassword() (string, error) {
	if c.Account.PasswordFile == "" {
		return "", nil
	}
	return ReadPassword("account.passwordFile", c.Account.PasswordFile)
}

// ReadPassword reads the file with a password that a setting names.
func ReadPassword(setting, path string) (string, error) {
	const most = 4096
	text, err := ReadPrivate(path, most)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrInvalid, setting, err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" {
		return "", fmt.Errorf("%w: %s: %s is empty", ErrInvalid, setting, path)
	}
	return password, nil
}

func (c Config) checkSigner() error {
	at := c.Account.Signer
	file := c.Account.PasswordFile
	if file != "" && !filepath.IsAbs(file) {
		return refuse("account.passwordFile", file, "write an absolute path")
	}
	if at == "" {
		return nil
	}
	switch {
	case file != "":
		return refuse("account.passwordFile", file, "account.signer is set too, which has the key: remove one of them")
	case c.Account.KeyFile != "":
		return refuse("account.keyFile", c.Account.KeyFile, "account.signer is set too; either a key file signs or a "+
			"signer: remove one of them")
	case !c.Account.Transactions:
		return refuse("account.signer", at, "with account.transactions = false this member signs nothing; remove one "+
			"of them")
	}
	if err := c.checkAddress(); err != nil {
		return err
	}
	if !strings.Contains(at, "://") {
		if !filepath.IsAbs(at) {
			return refuse("account.signer", at, "write a URL such as http://127.0.0.1:8550, or the absolute path of "+
				"an IPC socket")
		}
		return nil
	}
	return checkURL("account.signer", at, "http://127.0.0.1:8550, or the absolute path of an IPC socket", "")
}
