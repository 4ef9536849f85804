package api

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// maxSeconds is the longest duration in whole seconds that the ledger counts.
const maxSeconds = uint64(math.MaxInt64 / time.Second)

// DrawID returns a random id for a new availability.
func DrawID() events.AvailabilityID {
	var id events.AvailabilityID
	// It never fails (crypto/rand).
	_, _ = rand.Read(id[:])
	return id
}

// command translates an offer. Its errors name the field.
func (o Offer) command(at time.Time) (capacity.Create, error) {
	c := capacity.Create{At: at, ID: DrawID()}
	if o.ID != "" {
		id, err := events.ParseAvailabilityID(o.ID)
		if err != nil {
			return c, fmt.Errorf("%w: id: %w", problem.ErrBadRequest, err)
		}
		c.ID = id
	}
	price, err1 := amount("minPricePerBytePerSecond", o.MinPrice)
	collateral, err2 := amount("totalCollateral", o.Collateral)
	duration, err3 := seconds(o.DurationSeconds)
	c.Now = capacity.Offer{
		Size: o.Size, Duration: duration, MinPrice: price, Collateral: collateral,
		Enabled: !o.Disabled, Until: o.Until,
	}
	return c, cmp.Or(err1, err2, err3)
}

// command translates changes. Its errors name the field.
func (c Changes) command(at time.Time, id events.AvailabilityID) (capacity.Update, error) {
	u := capacity.Update{At: at, ID: id, Size: c.Size, Enabled: c.Enabled, Until: c.Until}
	if c.NoEnd {
		if c.Until != nil {
			return u, fmt.Errorf("%w: until and noEnd contradict each other", problem.ErrBadRequest)
		}
		u.Until = &time.Time{}
	}
	if c.DurationSeconds != nil {
		d, err := seconds(*c.DurationSeconds)
		if err != nil {
			return u, err
		}
		u.Duration = &d
	}
	for _, f := range []struct {
		name string
		text *string
		into **events.Amount
	}{{"minPricePerBytePerSecond", c.MinPrice, &u.MinPrice}, {"totalCollateral", c.Collateral, &u.Collateral}} {
		if f.text == nil {
			continue
		}
		a, err := amount(f.name, *f.text)
		if err != nil {
			return u, err
		}
		*f.into = &a
	}
	return u, nil
}

func amount(name, text string) (events.Amount, error) {
	a, err := events.ParseAmount(text)
	if err != nil {
		return a, fmt.Errorf("%w: %s: %w", problem.ErrBadRequest, name, err)
	}
	return a, nil
}

func seconds(n uint64) (time.Duration, error) {
	if n > maxSeconds {
		return 0, fmt.Errorf("%w: durationSeconds: %d is more than %d (292 years)",
			problem.ErrBadRequest, n, maxSeconds)
	}
	return time.Duration(n) * time.Second, nil
}

// minPrefix is the least number of hex digits that may stand for an id.
const minPrefix = 4

// resolve returns the only id that begins with a text.
func resolve(what, text string, unknown error, ids []string) (string, error) {
	const longest = 66
	digits := strings.TrimPrefix(prefixOf(text), "0x")
	if len(text) > longest || strings.Trim(digits, "0123456789abcdef") != "" || len(digits) < minPrefix {
		return "", fmt.Errorf("%w: %q is no %s; give it as 0x and hex digits, at least the first %d",
			problem.ErrBadRequest, events.Clip(text, longest), what, minPrefix)
	}
	found, begin := "", "0x"+digits
	for _, id := range ids {
		if !strings.HasPrefix(id, begin) || id == found {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("%w: %s 0x%s is the beginning of %.14s and %.14s, at least",
				problem.ErrAmbiguous, what, digits, found, id)
		}
		found = id
	}
	if found == "" {
		return "", fmt.Errorf("%w: %s 0x%s", unknown, what, digits)
	}
	return found, nil
}

// prefixOf is the beginning of an id as ids are written.
func prefixOf(text string) string {
	return "0x" + strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "0x")
}
