package signer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/core/types"
)

// believed is what the signer returned, if it is exactly what was asked and signed by the account.
func (s *Signer) believed(asked *types.Transaction, raw []byte) (*types.Transaction, error) {
	var got types.Transaction
	if err := got.UnmarshalBinary(raw); err != nil {
		return nil, fmt.Errorf("%w: it is no transaction: %w", ErrWrong, err)
	}
	if differs := differences(asked, &got); len(differs) > 0 {
		return nil, fmt.Errorf("%w: it signed another transaction than it was asked: %s", ErrWrong,
			strings.Join(differs, ", "))
	}
	by := types.LatestSignerForChainID(asked.ChainId())
	// The hash that is signed has everything in it, whatever differences looks at.
	if by.Hash(asked) != by.Hash(&got) {
		return nil, fmt.Errorf("%w: it signed another transaction than it was asked", ErrWrong)
	}
	from, err := types.Sender(by, &got)
	if err != nil {
		return nil, fmt.Errorf("%w: the signature is invalid: %w", ErrWrong, err)
	}
	if from != s.account {
		return nil, fmt.Errorf("%w: it signed for %s, not for %s", ErrWrong, from, s.account)
	}
	return &got, nil
}

// differences names what is not as it was asked.
func differences(asked, got *types.Transaction) (all []string) {
	if asked.Type() != got.Type() {
		return []string{fmt.Sprintf("its type is %d instead of %d", got.Type(), asked.Type())}
	}
	number := func(what string, is, was *big.Int) {
		if is.Cmp(was) != 0 {
			all = append(all, fmt.Sprintf("its %s is %s instead of %s", what, is, was))
		}
	}
	number("chain id", got.ChainId(), asked.ChainId())
	number("nonce", new(big.Int).SetUint64(got.Nonce()), new(big.Int).SetUint64(asked.Nonce()))
	number("gas limit", new(big.Int).SetUint64(got.Gas()), new(big.Int).SetUint64(asked.Gas()))
	number("price per gas", got.GasFeeCap(), asked.GasFeeCap())
	number("tip per gas", got.GasTipCap(), asked.GasTipCap())
	number("value", got.Value(), asked.Value())
	switch is, was := got.To(), asked.To(); {
	case is == nil || was == nil:
		if is != was {
			all = append(all, "it has another receiver")
		}
	case *is != *was:
		all = append(all, fmt.Sprintf("its receiver is %s instead of %s", is, was))
	}
	if !bytes.Equal(got.Data(), asked.Data()) {
		all = append(all, "its data is another")
	}
	if len(got.AccessList()) != len(asked.AccessList()) {
		all = append(all, "its access list is another")
	}
	return all
}

// undecodable says that an answer came and is not what the call returns.
func undecodable(err error) bool {
	_, isType := errors.AsType[*json.UnmarshalTypeError](err)
	_, isSyntax := errors.AsType[*json.SyntaxError](err)
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	return isType || isSyntax || tooLong
}
