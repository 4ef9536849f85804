package dataset

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
	"strings"
)

// alphabet58 is the Bitcoin alphabet: digits and letters without 0, O, I, l.
const alphabet58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// maxText58 limits the text that decode58 reads, in characters: its time is quadratic. A content
// identifier has at most 56.
const maxText58 = 128

var errBase58 = errors.New("not base58")

// encode58 writes b as a number in base 58; each leading zero byte becomes a 1.
func encode58(b []byte) string {
	zeros := len(b) - len(bytes.TrimLeft(b, "\x00"))
	n, base, digit := new(big.Int).SetBytes(b), big.NewInt(58), new(big.Int)
	var text []byte
	for n.Sign() > 0 {
		n.DivMod(n, base, digit)
		text = append(text, alphabet58[digit.Int64()])
	}
	text = append(text, bytes.Repeat([]byte{'1'}, zeros)...)
	slices.Reverse(text)
	return string(text)
}

// decode58 is the inverse of encode58.
func decode58(text string) ([]byte, error) {
	if len(text) > maxText58 {
		return nil, errBase58
	}
	zeros := len(text) - len(strings.TrimLeft(text, "1"))
	n, base := new(big.Int), big.NewInt(58)
	for i := zeros; i < len(text); i++ {
		digit := strings.IndexByte(alphabet58, text[i])
		if digit < 0 {
			return nil, errBase58
		}
		n.Mul(n, base)
		n.Add(n, big.NewInt(int64(digit)))
	}
	return append(make([]byte, zeros), n.Bytes()...), nil
}
