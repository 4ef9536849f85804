package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
)

// This file reads what people type about an offer, in a flag or in a field of a page.

// errNothing refuses a size, duration or amount of zero.
var errNothing = errors.New("it must be more than zero")

// ParseSize reads a size such as 10GiB that is more than zero.
func ParseSize(text string) (events.Bytes, error) {
	n, err := config.ParseBytes(text)
	if err == nil && n == 0 {
		err = errNothing
	}
	return n, err
}

// ParseDuration reads a duration in whole seconds; d stands for days.
func ParseDuration(text string) (time.Duration, error) {
	value, times := strings.TrimSpace(text), int64(1)
	if days, ok := strings.CutSuffix(value, "d"); ok {
		value, times = days+"h", 24
	}
	n, err := time.ParseDuration(value)
	const longest = 292 * 365 * 24 * time.Hour
	switch {
	case err != nil:
		return 0, errors.New("not a duration, write for example 12h or 30d")
	case n <= 0:
		return 0, errNothing
	case int64(n) > int64(longest)/times:
		return 0, errors.New("it must be less than 292 years")
	}
	if n = time.Duration(int64(n) * times); n%time.Second != 0 {
		return 0, errors.New("the market counts whole seconds")
	}
	return n, nil
}

// ParseTime reads a point in time; zero stands for never.
func ParseTime(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "never" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("not a time, write for example 2031-12-31, 2031-12-31T18:00:00Z, or never")
}
