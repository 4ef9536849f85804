package keys

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hostnode/hostnode/events"
)

func TestWhoSignedATextIsFound(t *testing.T) {
	key, err := parse([]byte(knownKey))
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("hostnode test\nchain: 1")
	signature, err := SignWith(key)(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.Clone(signature)
	if signer, err := SignerOf(text, signature); err != nil || signer.String() != knownAddress {
		t.Fatalf("signed by %s, %v", signer, err)
	}
	if !bytes.Equal(kept, signature) {
		t.Error("the signature was changed")
	}
	if signer, err := SignerOf(append(text, '0'), signature); err == nil && signer.String() == knownAddress {
		t.Error("it is for another text, too")
	}
}

func FuzzSignerOf(f *testing.F) {
	key, err := parse([]byte(knownKey))
	if err != nil {
		f.Fatal(err)
	}
	text := []byte("hostnode test")
	signature, err := SignWith(key)(f.Context(), text)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, signature)
	f.Add(text, signature[1:])
	f.Add(text, make([]byte, 65))
	f.Fuzz(func(t *testing.T, other, signature []byte) {
		signer, err := SignerOf(other, signature)
		switch {
		case err != nil && (!errors.Is(err, events.ErrMalformed) || signer != events.Address{}):
			t.Errorf("%s, %v", signer, err)
		case err == nil && signer.String() == knownAddress && !bytes.Equal(other, text):
			t.Errorf("a signature of %q from nothing", other)
		}
	})
}
