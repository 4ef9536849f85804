package keys

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/uuid"

	"github.com/hostnode/hostnode/events"
)

// This file reads and writes encrypted keys, in the form of go-ethereum and of most wallets: "Web3 Secret Storage",
// version 3.

// Bounds of what a keystore may ask for, which costs our memory and time.
const (
	maxScrypt       = 1 << 23 // n times r, in units of 128 bytes; go-ethereum's is 2^18 times 8, 256 MiB
	maxScryptP      = 16
	maxRounds       = 1 << 24 // of PBKDF2
	derived, vector = 32, 16  // bytes
)

// Encrypted reports whether a key file's text is a keystore.
func Encrypted(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

// form is what is read of a keystore before go-ethereum decrypts it, which panics on some that are damaged.
type form struct {
	Address string              `json:"address"`
	Crypto  keystore.CryptoJSON `json:"crypto"`
	Version int                 `json:"version"`
}

// readForm checks what does not need the password. Its errors name no part of the text.
func readForm(text []byte) (f form, err error) {
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("%w: it is neither 64 hex digits nor a keystore in JSON", ErrMalformed)
	}
	if f.Version != 3 {
		return f, fmt.Errorf("%w: a keystore must be of version 3", ErrMalformed)
	}
	number := func(name string, most float64) bool {
		n, is := f.Crypto.KDFParams[name].(float64)
		return is && n >= 1 && n <= most && n == float64(int(n))
	}
	iv, err := hex.DecodeString(f.Crypto.CipherParams.IV)
	_, salted := f.Crypto.KDFParams["salt"].(string)
	fits := err == nil && len(iv) == vector && salted && f.Crypto.KDFParams["dklen"] == float64(derived)
	switch f.Crypto.KDF {
	case "scrypt":
		r, _ := f.Crypto.KDFParams["r"].(float64)
		fits = fits && number("r", maxScrypt) && number("n", maxScrypt/r) && number("p", maxScryptP)
	case "pbkdf2":
		_, named := f.Crypto.KDFParams["prf"].(string)
		fits = fits && named && number("c", maxRounds)
	default:
		fits = false
	}
	if !fits {
		return f, fmt.Errorf("%w: the keystore is damaged, or of a kind that is not known", ErrMalformed)
	}
	return f, nil
}

// address is the one that a keystore names.
func (f form) address() (events.Address, error) {
	raw, err := hex.DecodeString(f.Address)
	if err != nil || len(raw) != len(events.Address{}) {
		return events.Address{}, fmt.Errorf("%w: the keystore does not name its address; hostnode key import makes "+
			"one that does", ErrMalformed)
	}
	return events.Address(raw), nil
}

// decrypt is the key of a keystore. Without an address it is taken as it is.
func decrypt(text []byte, password string) (*ecdsa.PrivateKey, error) {
	f, err := readForm(text)
	if err != nil {
		return nil, err
	}
	if password == "" {
		return nil, fmt.Errorf("%w: the key is encrypted; name the file with its password in account.passwordFile "+
			"(--account-password-file)", ErrPassword)
	}
	raw, err := keystore.DecryptDataV3(f.Crypto, password)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPassword, err)
	}
	key, err := crypto.ToECDSA(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: the number is zero or not below the order of the curve", ErrMalformed)
	}
	if f.Address != "" {
		if named, err := f.address(); err != nil || named != AddressOf(key) {
			return nil, fmt.Errorf("%w: the keystore is not that of the address which it names", ErrMalformed)
		}
	}
	return key, nil
}

// encrypt writes a keystore. The cost is keystore.StandardScryptN, or less in tests.
func encrypt(key *ecdsa.PrivateKey, password string, cost int) ([]byte, error) {
	id, err := uuid.NewRandom() // Other programs want one.
	if err != nil {
		return nil, fmt.Errorf("encrypt the account key: %w", err)
	}
	text, err := keystore.EncryptKey(&keystore.Key{
		Id: id, Address: crypto.PubkeyToAddress(key.PublicKey), PrivateKey: key,
	}, password, cost, keystore.StandardScryptP)
	if err != nil {
		return nil, fmt.Errorf("encrypt the account key: %w", err)
	}
	return append(text, '\n'), nil
}
