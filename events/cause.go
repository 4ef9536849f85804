package events

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// CauseKind says what a cause names.
type CauseKind uint8

// The kinds of causes. Every event of a sale, the ledger, the queue and the
// market has a cause (Metadata.CauseKey) of one of these forms:
//
//	operator, start, begin, worker, look, take, wake,
//	  chain, quota, scrub,
//	  request, examined, packed, broker                CauseCommand
//	look back: REASON                                  CauseCommand
//	orphan:SLOT                                        CauseCommand
//	block:NUMBER                                       CauseBlock
//	log:BLOCKHASH:INDEX                                CauseLog
//	market@N                                           CauseMarket
//	sale:SLOT:ATTEMPT:reserve|store|settle             CauseSale
//	work:REQUEST:INDEX                                 CauseWork
//	reserve-capacity|reserve-slot|download|prove-initial|extend|free|
//	  delete-data|settle:ATTEMPT, fill:ATTEMPT:CHALLENGE,
//	  submit-proof:PERIOD:CHALLENGE, read-collateral:PERIOD,
//	  repair-whole:ATTEMPT, repair:ATTEMPT:FOUND,
//	  mark:SLOT:PERIOD                                 CauseEffect
//	sector:STEP:NUMBER:ATTEMPT, sector:Wait:NUMBER:END CauseSector
//
// Events of a host's stream and of transactions have none: a start is caused by
// nobody, and what led to a transaction stands in its key.
const (
	// CauseCommand is a command that no event stands behind: of the operator, or
	// of an actor on its own account.
	CauseCommand CauseKind = iota
	// CauseBlock is what a block of the chain changed: time passed, or a state.
	CauseBlock
	// CauseLog is a log of the contract.
	CauseLog
	// CauseMarket is the N-th event of the market's stream, counted from 1.
	CauseMarket
	// CauseSale is what an attempt asked of the ledger.
	CauseSale
	// CauseWork is the work on a slot that was taken from the queue.
	CauseWork
	// CauseEffect is an effect of the sale itself, or of a validator, by its key.
	CauseEffect
	// CauseSector is a step of a sector, by its key: in the stream of the sector, and in
	// the ledger that it asked. END is when a pause is over, in nanoseconds.
	CauseSector
)

// Cause is a cause taken apart; which fields are set depends on the kind.
type Cause struct {
	Kind CauseKind
	// What is the word before the first colon, of a CauseSale the last one, of a
	// CauseSector the step.
	What string
	// Number is the block, the index of the log, the N of the market, the index
	// of the slot, how often damage had been found, or the sector's.
	Number uint64
	// Attempt is that of the sale, or of the sector's step; 0: the effect belongs to a
	// period, or the step is a pause.
	Attempt uint32
	// End is when a sector's pause is over, in nanoseconds since 1970.
	End uint64
	// Period is that of the proof or of the reading.
	Period uint64
	// Slot, Request, Hash and Challenge are what is named.
	Slot      SlotID
	Request   RequestID
	Hash      Hash
	Challenge Challenge
}

// causeCommands are the causes that name nothing else. "chain" stands before
// what the follower writes itself: how far it has read, and what was taken back;
// "quota" before what the ledger does to come near to it; "scrub" before the damage that a
// look at all stored data found, "withdrawn" before what the contract of sectors has paid. "request", "examined",
// "packed" and "broker" stand before what became of CARs, pieces and aggregates.
var causeCommands = map[string]bool{
	"operator": true, "start": true, "begin": true, "worker": true, "look": true, "take": true, "wake": true,
	"chain": true, "quota": true, "scrub": true, "withdrawn": true,
	"request": true, "examined": true, "packed": true, "broker": true,
}

// LookBack is the What of a cause of slots that are looked at again.
const LookBack = "look back"

// ParseCause takes a cause apart. One that has none of the forms is
// ErrMalformed.
func ParseCause(text string) (Cause, error) {
	if causeCommands[text] {
		return Cause{Kind: CauseCommand, What: text}, nil
	}
	if strings.HasPrefix(text, LookBack+": ") {
		return Cause{Kind: CauseCommand, What: LookBack}, nil
	}
	c := Cause{}
	var err error
	if count, ok := strings.CutPrefix(text, "market@"); ok {
		c.Kind, c.What = CauseMarket, "market"
		c.Number, err = causeNumber(count)
		return c, causeError(text, err)
	}
	parts := strings.Split(text, ":")
	c.What = parts[0]
	form, known := causeForms[c.What]
	if !known || len(parts) != 1+len(form.rest) {
		return Cause{}, causeError(text, ErrMalformed)
	}
	c.Kind = form.kind
	for i, read := range form.rest {
		if err = read(&c, parts[1+i]); err != nil {
			break
		}
	}
	return c, causeError(text, err)
}

func causeError(text string, err error) error {
	if err != nil {
		return fmt.Errorf("%w: no cause has the form %q", ErrMalformed, clip(text))
	}
	return nil
}

// causeNumber reads a number as it is written: no sign, no leading zeros.
func causeNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err == nil && strconv.FormatUint(n, 10) != text {
		err = ErrMalformed
	}
	return n, err
}

// causeOrdinal reads a number from 1.
func causeOrdinal(text string) (uint64, error) {
	n, err := causeNumber(text)
	if err == nil && n == 0 {
		err = ErrMalformed
	}
	return n, err
}

// causeForm is what follows the first word.
type causeForm struct {
	kind CauseKind
	rest []causePart
}

// causePart reads what stands between two colons.
type causePart func(c *Cause, text string) error

// partOf reads a field of a cause.
func partOf[T any](field func(*Cause) *T, parse func(string) (T, error)) causePart {
	return func(c *Cause, text string) (err error) {
		*field(c), err = parse(text)
		return err
	}
}

var (
	causeCount     = partOf(func(c *Cause) *uint64 { return &c.Number }, causeNumber)
	causeEnd       = partOf(func(c *Cause) *uint64 { return &c.End }, causeNumber)
	causePeriod    = partOf(func(c *Cause) *uint64 { return &c.Period }, causeNumber)
	causeAttempt   = partOf(func(c *Cause) *uint32 { return &c.Attempt }, parseAttempt)
	causeSlot      = partOf(func(c *Cause) *SlotID { return &c.Slot }, ParseSlotID)
	causeRequest   = partOf(func(c *Cause) *RequestID { return &c.Request }, ParseRequestID)
	causeHash      = partOf(func(c *Cause) *Hash { return &c.Hash }, ParseHash)
	causeChallenge = partOf(func(c *Cause) *Challenge { return &c.Challenge }, ParseChallenge)
)

var causeForms = map[string]causeForm{
	"block":  {CauseBlock, []causePart{causeCount}},
	"log":    {CauseLog, []causePart{causeHash, causeCount}},
	"orphan": {CauseCommand, []causePart{causeSlot}}, // A reservation without a sale is given back.
	"work":   {CauseWork, []causePart{causeRequest, causeCount}},
	"sale": {CauseSale, []causePart{causeSlot, causeAttempt, func(c *Cause, text string) error {
		if c.What = text; c.What != "reserve" && c.What != "store" && c.What != "settle" {
			return ErrMalformed
		}
		return nil
	}}},
	sectorCause: {CauseSector, []causePart{
		func(c *Cause, text string) error {
			if c.What = text; !sectorStep.MatchString(c.What) {
				return ErrMalformed
			}
			return nil
		},
		partOf(func(c *Cause) *uint64 { return &c.Number }, causeOrdinal),
		func(c *Cause, text string) error {
			if c.What == sectorPause {
				return causeEnd(c, text)
			}
			return causeAttempt(c, text)
		},
	}},
	"reserve-capacity": {CauseEffect, []causePart{causeAttempt}},
	"reserve-slot":     {CauseEffect, []causePart{causeAttempt}},
	"download":         {CauseEffect, []causePart{causeAttempt}},
	"prove-initial":    {CauseEffect, []causePart{causeAttempt}},
	"extend":           {CauseEffect, []causePart{causeAttempt}},
	"repair-whole":     {CauseEffect, []causePart{causeAttempt}},
	"free":             {CauseEffect, []causePart{causeAttempt}},
	"delete-data":      {CauseEffect, []causePart{causeAttempt}},
	"settle":           {CauseEffect, []causePart{causeAttempt}},
	"read-collateral":  {CauseEffect, []causePart{causePeriod}},
	"mark":             {CauseEffect, []causePart{causeSlot, causePeriod}},
	"repair":           {CauseEffect, []causePart{causeAttempt, causeCount}},
	"fill":             {CauseEffect, []causePart{causeAttempt, causeChallenge}},
	"submit-proof":     {CauseEffect, []causePart{causePeriod, causeChallenge}},
}

// MarkCause is the cause of what is recorded of a marking.
func MarkCause(slot SlotID, period uint64) string { return fmt.Sprintf("mark:%s:%d", slot, period) }

const (
	sectorCause = "sector"
	// sectorPause is the step that waits until a pause is over.
	sectorPause = "Wait"
)

// sectorStep is the form of the name of a step; which there are, sectors know.
var sectorStep = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{1,31}$`)

// SectorCause is the cause of what follows from a step of a sector, by the key of that
// step: in its stream, and in the ledger.
func SectorCause(key string) string { return sectorCause + ":" + key }

// parseAttempt reads the number of an attempt, from 1.
func parseAttempt(text string) (uint32, error) {
	n, err := causeOrdinal(text)
	if n > math.MaxUint32 {
		err = ErrMalformed
	}
	return uint32(n), err
}
