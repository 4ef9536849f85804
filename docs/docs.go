// Package docs has those of these pages that the program reads.
package docs

import _ "embed"

// Errors is errors.md: what is said of each error, and what to do about it.
//
//go:embed errors.md
var Errors string
