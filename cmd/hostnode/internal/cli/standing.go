package cli

import (
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
)

// Headline is the state of the host in capitals.
func Headline(p *Printer, s api.Status) string {
	switch {
	case !s.AsOf.Recorded.IsZero():
		return p.Colour(Yellow, "THE PAST")
	case s.Dry:
		return p.Colour(Yellow, "DRY RUN")
	case s.Elsewhere:
		return p.Colour(Yellow, "NOT HERE")
	}
	return Standing(p, s.Standing)
}

// Standing names what a host, or a member, does of what it is there for.
func Standing(p *Printer, s api.Standing) string {
	if s.Purpose != "" {
		word, colour := strings.ToUpper(s.Purpose), Green
		if s.NotProving {
			word, colour = "NOT "+word, Red
		}
		return p.Colour(colour, word)
	}
	word, colour := "NOT SELLING", Yellow
	switch {
	case s.Selling:
		word, colour = "SELLING", Green
	case s.SellingUnknown:
		word = "NOT KNOWN WHETHER SELLING"
	}
	if s.NotProving {
		word, colour = word+", NOT PROVING", Red
	}
	return p.Colour(colour, word)
}
