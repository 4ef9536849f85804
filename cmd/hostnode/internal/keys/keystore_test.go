package keys

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"
)

// The examples of the definition of version 3, which name no address.
const (
	published         = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d"
	publishedPassword = "testpassword"
	publishedPBKDF2   = `{"crypto": {"cipher": "aes-128-ctr",
		"cipherparams": {"iv": "6087dab2f9fdbbfaddc31a909735c1e6"},
		"ciphertext": "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46", "kdf": "pbkdf2",
		"kdfparams": {"c": 262144, "dklen": 32, "prf": "hmac-sha256",
			"salt": "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd"},
		"mac": "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2"},
		"id": "3198bc9c-6672-5ab3-d995-4942343ae5b6", "version": 3}`
	publishedScrypt = `{"crypto": {"cipher": "aes-128-ctr",
		"cipherparams": {"iv": "83dbcc02d8ccb40e466191a123791e0e"},
		"ciphertext": "d172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c", "kdf": "scrypt",
		"kdfparams": {"dklen": 32, "n": 262144, "r": 1, "p": 8,
			"salt": "ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19"},
		"mac": "2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097"},
		"id": "3198bc9c-6672-5ab3-d995-4942343ae5b6", "version": 3}`
)

// sealed is a keystore of the known key that opens quickly.
func sealed(t testing.TB, password string) string {
	t.Helper()
	key, err := parse([]byte(knownKey))
	if err != nil {
		t.Fatal(err)
	}
	text, err := encrypt(key, password, 2)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPublishedKeystoresAreRead(t *testing.T) {
	for _, text := range []string{publishedPBKDF2, publishedScrypt} {
		key, err := decrypt([]byte(text), publishedPassword)
		if err != nil || hex.EncodeToString(crypto.FromECDSA(key)) != published {
			t.Errorf("%v of %s", err, text)
		}
	}
}

func TestAKeystoreIsInstalledAndOpensWithItsPasswordAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account.key")
	asked := 0
	address, err := Import(path, strings.NewReader(sealed(t, "from elsewhere")), func(encrypted bool) (string, error) {
		if asked++; !encrypted {
			t.Error("it is said to be plain")
		}
		return "from elsewhere", nil
	}, anybody)
	if err != nil || address.String() != knownAddress || asked != 1 {
		t.Fatalf("%s, %v, asked %d times", address, err, asked)
	}
	text, err := os.ReadFile(path)
	if err != nil || !Encrypted(text) || strings.Contains(string(text), knownKey) {
		t.Fatalf("%v: %s", err, text)
	}
	if got, err := Address(path); err != nil || got != address {
		t.Errorf("without the password: %s, %v", got, err)
	}
	if key, err := Load(path, "from elsewhere"); err != nil || AddressOf(key) != address {
		t.Errorf("with the password: %v", err)
	}
	for _, other := range []string{"", "guessed"} {
		if _, err := decrypt([]byte(sealed(t, "p")), other); !errors.Is(err, ErrPassword) {
			t.Errorf("with %q: %v", other, err)
		}
	}
}

func TestAPlainKeyTakesNoPassword(t *testing.T) {
	path := filepath.Join(t.TempDir(), "account.key")
	address, err := Create(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, "some"); !errors.Is(err, ErrPassword) {
		t.Errorf("loaded: %v", err)
	}
	if got, err := Address(path); err != nil || got != address {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAKeystoreThatCannotBeIsRefused(t *testing.T) {
	good := sealed(t, "p")
	for name, change := range map[string][2]string{
		"another version":   {`"version":3`, `"version":1`},
		"another account's": {knownAddress[2:], strings.Repeat("ab", 20)},
		"no cost":           {`"n":2`, `"m":2`},
		"half a cost":       {`"n":2`, `"n":2.5`},
		"all memory":        {`"n":2`, `"n":1073741824`},
		"a word as cost":    {`"n":2`, `"n":"2"`},
		"a short key":       {`"dklen":32`, `"dklen":16`},
		"no salt":           {`"salt"`, `"pepper"`},
		"a short vector":    {`"iv":"`, `"iv":"00`},
		"another function":  {`"kdf":"scrypt"`, `"kdf":"md5"`},
		"damaged":           {`{"address"`, `{address`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Fatalf("%s: %s is not in %s", name, change[0], good)
		}
		if _, err := decrypt([]byte(text), "p"); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "account.key")
	if err := os.WriteFile(path, []byte(publishedPBKDF2), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Address(path); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "does not name its address") {
		t.Errorf("without an address: %v", err)
	}
}

func FuzzReadForm(f *testing.F) {
	for _, text := range []string{publishedPBKDF2, publishedScrypt, sealed(f, "p"), "{}", `{"version":3,"crypto":{}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := readForm(text)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		const quick = 1 << 10
		for _, name := range []string{"n", "r", "p", "c"} {
			if n, is := read.Crypto.KDFParams[name].(float64); is && n > quick {
				return
			}
		}
		if key, err := decrypt(text, "p"); (err == nil) == (key == nil) {
			t.Fatalf("%v without a key, or both", err)
		}
	})
}
