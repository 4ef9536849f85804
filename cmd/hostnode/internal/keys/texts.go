package keys

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"fmt"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/events"
)

// Sign signs a text as personal_sign does (EIP-191). What is hashed begins with a byte with which no transaction
// begins, and each of our texts begins with its purpose; so a signature cannot be mistaken for that of a transaction or
// of another text. An error comes without a signature. It is safe for concurrent use.
type Sign func(ctx context.Context, text []byte) ([]byte, error)

// lowestV is what personal_sign adds to the last byte of a signature, which is 0 or 1.
const lowestV = 27

// SignWith signs with a key of this process. There is no Sign for an outside signer: chain/signer asks for signatures
// of transactions only.
func SignWith(key *ecdsa.PrivateKey) Sign {
	return func(_ context.Context, text []byte) ([]byte, error) {
		signature, err := crypto.Sign(accounts.TextHash(text), key)
		if err == nil {
			signature[crypto.RecoveryIDOffset] += lowestV
		}
		return signature, err
	}
}

// SignerOf is the account that signed a text. The answer for a signature of another text is an error, or an account
// that nobody has.
func SignerOf(text, signature []byte) (events.Address, error) {
	if len(signature) != crypto.SignatureLength {
		return events.Address{}, fmt.Errorf("a signature of %d bytes, want %d: %w",
			len(signature), crypto.SignatureLength, events.ErrMalformed)
	}
	signature = bytes.Clone(signature)
	signature[crypto.RecoveryIDOffset] -= lowestV
	key, err := crypto.SigToPub(accounts.TextHash(text), signature)
	if err != nil {
		return events.Address{}, fmt.Errorf("recover who signed: %w: %w", err, events.ErrMalformed)
	}
	return events.Address(crypto.PubkeyToAddress(*key)), nil
}
