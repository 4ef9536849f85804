package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// answer is what a broker says, and what it waits for.
type answer struct {
	events.DealReport
	awaits string
}

const (
	// awaitsSignature is the one thing that a broker may wait for.
	awaitsSignature = "signature"
	// maxText limits a text, in bytes: reasons are recorded, and all others have less.
	maxText = 1 << 10
)

// decode reads an answer bit by bit, so that a long list of bad pieces is given up at the first one that is too many,
// or is no piece.
func decode(from io.Reader, pieces int) (answer, error) {
	d := json.NewDecoder(from)
	a, err := object(d, pieces)
	if err == nil {
		switch _, err = d.Token(); {
		case errors.Is(err, io.EOF):
			return a, nil
		case err == nil:
			err = noBroker("there is more behind its answer")
		}
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = noBroker("its answer is no JSON: %v", err)
	}
	if !errors.Is(err, events.ErrBrokerLies) && !errors.Is(err, events.ErrBrokerAway) {
		err = away(err) // It was cut off.
	}
	return answer{}, err
}

func object(d *json.Decoder, pieces int) (a answer, err error) {
	if err = delimiter(d, '{'); err != nil {
		return a, err
	}
	fields := map[string]*string{
		"aggregate": &a.Aggregate, "status": (*string)(&a.Status), "deal": &a.Deal, "reason": &a.Reason,
		"awaits": &a.awaits,
	}
	read := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return a, err
		}
		name, _ := token.(string)
		switch field := fields[name]; {
		case read[name]:
			return a, noBroker("its answer has %q twice", name)
		case field != nil:
			*field, err = text(d, name)
		case name == "bad":
			a.Bad, err = list(d, pieces)
		default:
			return a, noBroker("its answer has the unknown field %q", clip(name))
		}
		if err != nil {
			return a, err
		}
		read[name] = true
	}
	return a, delimiter(d, '}')
}

func delimiter(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		return noBroker("its answer has %q, want %s", clip(fmt.Sprint(token)), want)
	}
	return err
}

func text(d *json.Decoder, name string) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	text, ok := token.(string)
	switch {
	case !ok:
		return "", noBroker("its answer has a %s that is no text", name)
	case len(text) > maxText:
		return "", lie("its %s has %d bytes, at most %d", name, len(text), maxText)
	}
	return text, nil
}

// list reads piece CIDs, of which there are as many as the aggregate has pieces, at most.
func list(d *json.Decoder, pieces int) (all []string, err error) {
	if err := delimiter(d, '['); err != nil {
		return nil, err
	}
	for d.More() {
		cid, err := text(d, "bad piece")
		if err != nil {
			return nil, err
		}
		if _, err := commd.ParseCID(cid); err != nil {
			return nil, lie("a bad piece: %v", err)
		}
		if len(all) == pieces {
			return nil, lie("more bad pieces than the %d of the aggregate", pieces)
		}
		all = append(all, cid)
	}
	return all, delimiter(d, ']')
}

// dealForm is how a broker may call a deal: on one line, and without what could be mistaken for more of a signed text.
var dealForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{0,128}$`)

// check compares what is said with what can be said of this offer.
func (a answer) check(offer events.AggregateOffer) error {
	switch {
	case a.Aggregate != offer.Aggregate:
		return lie("it was asked about %s, and answered about %.100q", offer.Aggregate, a.Aggregate)
	case !a.Status.Known():
		return lie("there is no status %.100q", a.Status)
	case !dealForm.MatchString(a.Deal):
		return lie("the deal is called %.200q, want %s", a.Deal, dealForm)
	case len(a.Bad) > 0 && a.Status != events.DealRejected:
		return lie("it names bad pieces of what is %s", a.Status)
	case strings.ContainsFunc(a.Reason, unicode.IsControl):
		return lie("the reason %.200q has control characters, want one line", a.Reason)
	case a.awaits == "":
		return nil
	case a.awaits != awaitsSignature || a.Status != events.DealPending || a.Deal == "":
		return lie("it waits for the %.100q of the deal %q, which is %s", a.awaits, a.Deal, a.Status)
	}
	return nil
}
