package codexapi

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// This file is how Codex writes numbers, and the things that it shows.

// errRange is what Codex says of a number that is too large, or negative.
var errRange = refuse(http.StatusBadRequest, "Parsed integer outside of valid range")

// count is a number of 64 bits. It is written as a JSON number and, above 2^63-1, as a string; it is read from a number
// or a string of decimal digits, of which none mean 0. A negative one is read, too, so that its refusal can say more.
type count struct {
	n        uint64
	negative bool
}

// MarshalJSON implements json.Marshaler.
func (c count) MarshalJSON() ([]byte, error) {
	if c.n > math.MaxInt64 {
		return json.Marshal(strconv.FormatUint(c.n, 10))
	}
	return strconv.AppendUint(nil, c.n, 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *count) UnmarshalJSON(b []byte) error {
	*c = count{}
	digits, quoted, err := numeral(b)
	if err != nil || digits == "" {
		return err
	}
	if rest, minus := strings.CutPrefix(digits, "-"); minus && !quoted {
		c.negative, digits = true, rest
	}
	if c.n, err = strconv.ParseUint(digits, 10, 64); err != nil {
		return errRange
	}
	return nil
}

// numeral is the text of a number or of a string; null is no text.
func numeral(b []byte) (digits string, quoted bool, err error) {
	switch {
	case string(b) == "null":
		return "", false, nil
	case len(b) > 0 && b[0] == '"':
		err = json.Unmarshal(b, &digits)
		return digits, true, err
	}
	return string(b), false, nil
}

// amount is a number of 256 bits. It is written as a string of decimal digits; it is read from such a string, one that
// begins with 0x, 0o or 0b, or a number.
type amount struct{ events.Amount }

// UnmarshalJSON implements json.Unmarshaler.
func (a *amount) UnmarshalJSON(b []byte) error {
	const longest = 260 // 0b and 256 digits, with some room
	*a = amount{}
	digits, _, err := numeral(b)
	if err != nil || digits == "" {
		return err
	}
	base := 10
	if len(digits) > 2 {
		if other := map[string]int{"0x": 16, "0o": 8, "0b": 2}[strings.ToLower(digits[:2])]; other != 0 {
			base, digits = other, digits[2:]
		}
	}
	n, ok := new(big.Int), len(digits) <= longest && strings.Trim(strings.ToLower(digits), "0123456789abcdef") == ""
	if ok {
		n, ok = n.SetString(digits, base)
	}
	if !ok {
		return fmt.Errorf("%.80q is no amount", digits)
	}
	a.Amount, err = events.AmountFromBig(n)
	return err
}

// seconds are whole seconds.
func seconds(d time.Duration) count { return count{n: uint64(max(d, 0) / time.Second)} }

// moment is a point in time in seconds since 1970; 0: none.
func moment(t time.Time) count {
	if t.IsZero() {
		return count{}
	}
	return count{n: uint64(max(t.Unix(), 0))}
}

type request struct {
	ID      string  `json:"id"`
	Client  string  `json:"client"`
	Ask     ask     `json:"ask"`
	Content content `json:"content"`
	Expiry  count   `json:"expiry"`
	Nonce   string  `json:"nonce"`
}

type ask struct {
	ProofProbability      events.Amount `json:"proofProbability"`
	PricePerBytePerSecond events.Amount `json:"pricePerBytePerSecond"`
	CollateralPerByte     events.Amount `json:"collateralPerByte"`
	Slots                 count         `json:"slots"`
	SlotSize              count         `json:"slotSize"`
	Duration              count         `json:"duration"`
	MaxSlotLoss           count         `json:"maxSlotLoss"`
}

type content struct {
	CID string `json:"cid"`
}

func requestOf(r events.Request) request {
	cid := ""
	if c, err := dataset.CIDFromBytes([]byte(r.Content.CID)); err == nil { // Else it is not of this network.
		cid = c.String()
	}
	return request{
		ID: r.ID.String(), Client: r.Client.String(), Content: content{cid}, Expiry: seconds(r.Expiry),
		Nonce: events.Hash(r.Nonce).String(),
		Ask: ask{
			ProofProbability: r.Ask.ProofProbability, PricePerBytePerSecond: r.Ask.PricePerBytePerSecond,
			CollateralPerByte: r.Ask.CollateralPerByte, Slots: count{n: r.Ask.Slots},
			SlotSize: count{n: uint64(r.Ask.SlotSize)}, Duration: seconds(r.Ask.Duration),
			MaxSlotLoss: count{n: r.Ask.MaxSlotLoss},
		},
	}
}

// item is a dataset with its name.
type item struct {
	CID      string   `json:"cid"`
	Manifest manifest `json:"manifest"`
}

type manifest struct {
	Tree      string  `json:"treeCid"`
	Size      count   `json:"datasetSize"`
	BlockSize count   `json:"blockSize"`
	Filename  *string `json:"filename"`
	MimeType  *string `json:"mimetype"`
	Protected bool    `json:"protected"`
}

func itemOf(cid dataset.CID, m dataset.Manifest) item {
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return item{cid.String(), manifest{
		Tree: m.Tree.String(), Size: count{n: m.Size}, BlockSize: count{n: dataset.BlockSize},
		Filename: orNull(m.Filename), MimeType: orNull(m.MimeType), Protected: m.Erasure != nil,
	}}
}
