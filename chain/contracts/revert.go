package contracts

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
)

// maxRevertBytes is the longest revert data that is decoded. The longest of our contracts has 100
// bytes, and texts of other contracts are a line or two; anything longer comes from a node that is
// broken or hostile.
const maxRevertBytes = 4096

const (
	selectorBytes = 4
	wordBytes     = 32
)

// Names that DecodeRevert gives to the two errors of the language itself. A panic's name has its
// code: "Panic(0x11)" is an overflow, "Panic(0x01)" a failed assertion.
const (
	ErrorName   = "Error"
	PanicPrefix = "Panic("
)

// DecodeRevert names the error in the data of a revert: an error of the marketplace, of the sector
// provider or of the token by its name in Solidity ("Marketplace_SlotNotFree"), "Error" for a text,
// and "Panic(0x11)" with its code. It returns false for empty data, and for data that it does not
// know to the last byte; running out of gas inside a call also looks like an empty revert. It never
// panics, whatever the data. Safe for concurrent use.
func DecodeRevert(data []byte) (name string, ok bool) {
	name, _, ok = decode(data)
	if !ok {
		return "", false
	}
	return name, true
}

// DescribeRevert is the result of DecodeRevert for people, with the arguments:
// "ERC20InsufficientAllowance(spender=0x…, allowance=0, needed=5)". Unknown data is shown in hex,
// shortened. The text is always one line, however hostile the data.
func DescribeRevert(data []byte) string {
	name, arguments, ok := decode(data)
	switch {
	case !ok && len(data) == 0:
		return "no revert data"
	case !ok:
		const shown = 36 // selector and one word
		if len(data) > shown {
			return fmt.Sprintf("unknown revert 0x%s… (%d bytes)",
				hex.EncodeToString(data[:shown]), len(data))
		}
		return "unknown revert 0x" + hex.EncodeToString(data)
	case arguments == "":
		return name
	default:
		return name + "(" + arguments + ")"
	}
}

// Outcomes are the outcomes that a port knows, by the names of the errors that a contract reverts with.
type Outcomes map[string]error

// Of converts revert data into an outcome, or ErrReverted if there is none, with the contract's own
// error in the text.
func (o Outcomes) Of(data []byte) error {
	name, _ := DecodeRevert(data)
	return fmt.Errorf("%w: %s", cmp.Or(o[name], events.ErrReverted), DescribeRevert(data))
}

// OfTrial says what the revert of a trial means. A failed check of the language itself says
// nothing: in a trial the hash of the newest block is zero, on which the contract panics, and in a
// transaction it is not.
func (o Outcomes) OfTrial(_ common.Address, data []byte) (known bool, refusal error) {
	name, ok := DecodeRevert(data)
	if !ok || strings.HasPrefix(name, PanicPrefix) {
		return false, nil
	}
	return true, o.Of(data)
}

func decode(data []byte) (name, arguments string, ok bool) {
	if len(data) < selectorBytes || len(data) > maxRevertBytes {
		return "", "", false
	}
	body := data[selectorBytes:]
	switch selector := [selectorBytes]byte(data); selector {
	case [selectorBytes]byte{0x08, 0xc3, 0x79, 0xa0}: // Error(string)
		text, ok := unpack(reason(), body)
		if !ok {
			return "", "", false
		}
		return ErrorName, fmt.Sprintf("%q", text[0]), true
	case [selectorBytes]byte{0x4e, 0x48, 0x7b, 0x71}: // Panic(uint256)
		if len(body) != wordBytes {
			return "", "", false
		}
		return fmt.Sprintf("%s0x%02x)", PanicPrefix, new(big.Int).SetBytes(body)), "", true
	default:
		known, found := knownErrors()[selector]
		if !found || len(body) != wordBytes*len(known.Inputs) {
			return "", "", false
		}
		values, ok := unpack(known.Inputs, body)
		texts := make([]string, len(values))
		for i, value := range values {
			texts[i] = fmt.Sprintf("%s=%v", known.Inputs[i].Name, value)
		}
		return known.Name, strings.Join(texts, ", "), ok
	}
}

// reason are the arguments of Error(string).
var reason = sync.OnceValue(func() abi.Arguments {
	text, err := abi.NewType("string", "", nil)
	if err != nil {
		panic(err)
	}
	return abi.Arguments{{Type: text}}
})

// unpack decodes arguments, and refuses an encoding that no compiler produces, such as an address
// with non-zero padding.
func unpack(inputs abi.Arguments, body []byte) ([]any, bool) {
	values, err := inputs.Unpack(body)
	if err != nil {
		return nil, false
	}
	again, err := inputs.Pack(values...)
	return values, err == nil && bytes.Equal(again, body)
}

// knownErrors are all errors of our contracts by selector. If an ABI did not parse it would be
// empty; a test compares it with the full list.
var knownErrors = sync.OnceValue(func() map[[selectorBytes]byte]abi.Error {
	table := make(map[[selectorBytes]byte]abi.Error)
	for _, parsed := range parsedABIs() {
		for _, known := range parsed.Errors {
			table[[selectorBytes]byte(known.ID[:selectorBytes])] = known
		}
	}
	return table
})

// parsedABIs are those of the contracts that a host calls.
func parsedABIs() (parsed []*abi.ABI) {
	for _, parse := range []func() (*abi.ABI, error){
		bindings.MarketplaceMetaData.ParseABI,
		bindings.SectorProviderMetaData.ParseABI,
		bindings.TestTokenMetaData.ParseABI,
	} {
		if a, err := parse(); err == nil {
			parsed = append(parsed, a)
		}
	}
	return parsed
}
