package events

import (
	"fmt"
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
//	  chain, quota, scrub                              CauseCommand
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
// look at all stored data found, "withdrawn" before what the contract of sectors has paid.
var causeCommands = map[string]bool{
	"operator": true, "start": true, "begin": true, "worker": true, "look": true, "take": true, "wake": true,
	"chain": true, "quota": true, "scrub": true, "withdrawn": true,
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
	parse, known := causeForms[c.What]
	if !known || len(parts) != parse.parts {
		return Cause{}, causeError(text, ErrMalformed)
	}
	c.Kind = parse.kind
	err = parse.rest(&c, parts[1:])
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

// causeForm is what follows the first word.
type causeForm struct {
	kind  CauseKind
	parts int // with the first
	rest  func(*Cause, []string) error
}

var causeForms = map[string]causeForm{
	"block": {CauseBlock, 2, func(c *Cause, p []string) (err error) {
		c.Number, err = causeNumber(p[0])
		return err
	}},
	"log": {CauseLog, 3, func(c *Cause, p []string) (err error) {
		if c.Hash, err = ParseHash(p[0]); err != nil {
			return err
		}
		c.Number, err = causeNumber(p[1])
		return err
	}},
	"orphan": {CauseCommand, 2, func(c *Cause, p []string) (err error) { // A reservation without a sale is given back.
		c.Slot, err = ParseSlotID(p[0])
		return err
	}},
	"work": {CauseWork, 3, func(c *Cause, p []string) (err error) {
		if c.Request, err = ParseRequestID(p[0]); err != nil {
			return err
		}
		c.Number, err = causeNumber(p[1])
		return err
	}},
	"sale": {CauseSale, 4, func(c *Cause, p []string) (err error) {
		if c.Slot, err = ParseSlotID(p[0]); err != nil {
			return err
		}
		if c.What = p[2]; c.What != "reserve" && c.What != "store" && c.What != "settle" {
			return ErrMalformed
		}
		return causeAttempt(c, p[1:])
	}},
	sectorCause: {CauseSector, 4, func(c *Cause, p []string) (err error) {
		if c.What = p[0]; !sectorStep.MatchString(c.What) {
			return ErrMalformed
		}
		if c.Number, err = causeNumber(p[1]); err != nil || c.Number == 0 {
			return ErrMalformed
		}
		if c.What == sectorPause {
			c.End, err = causeNumber(p[2])
			return err
		}
		return causeAttempt(c, p[2:])
	}},
	"reserve-capacity": {CauseEffect, 2, causeAttempt},
	"reserve-slot":     {CauseEffect, 2, causeAttempt},
	"download":         {CauseEffect, 2, causeAttempt},
	"prove-initial":    {CauseEffect, 2, causeAttempt},
	"extend":           {CauseEffect, 2, causeAttempt},
	"repair-whole":     {CauseEffect, 2, causeAttempt},
	"free":             {CauseEffect, 2, causeAttempt},
	"delete-data":      {CauseEffect, 2, causeAttempt},
	"settle":           {CauseEffect, 2, causeAttempt},
	"read-collateral": {CauseEffect, 2, func(c *Cause, p []string) (err error) {
		c.Period, err = causeNumber(p[0])
		return err
	}},
	"mark": {CauseEffect, 3, func(c *Cause, p []string) (err error) {
		if c.Slot, err = ParseSlotID(p[0]); err == nil {
			c.Period, err = causeNumber(p[1])
		}
		return err
	}},
	"repair": {CauseEffect, 3, func(c *Cause, p []string) (err error) {
		if err = causeAttempt(c, p); err == nil {
			c.Number, err = causeNumber(p[1])
		}
		return err
	}},
	"fill": {CauseEffect, 3, func(c *Cause, p []string) (err error) {
		if err = causeAttempt(c, p); err == nil {
			c.Challenge, err = ParseChallenge(p[1])
		}
		return err
	}},
	"submit-proof": {CauseEffect, 3, func(c *Cause, p []string) (err error) {
		if c.Period, err = causeNumber(p[0]); err == nil {
			c.Challenge, err = ParseChallenge(p[1])
		}
		return err
	}},
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

func causeAttempt(c *Cause, p []string) error {
	n, err := strconv.ParseUint(p[0], 10, 32)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != p[0] {
		return ErrMalformed
	}
	c.Attempt = uint32(n)
	return nil
}
