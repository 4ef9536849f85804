package api

import (
	"fmt"
	"strings"
)

// ErrorsPage is docs/errors.md.
func ErrorsPage() string {
	var out strings.Builder
	out.WriteString("# Errors\n\nWhat `hostnode` may answer. The code is stable; the API answers with the status " +
		"and the\ncode as `application/problem+json`, commands print the message and the hint. This page is\n" +
		"generated from the table in `cmd/hostnode/internal/api/problemtable.go`.\n")
	for _, k := range kinds {
		fmt.Fprintf(&out, "\n## %s\n\n%s Status %d.\n\nWhat to do: %s\n", k.code, k.title, k.status, k.hint)
	}
	return out.String()
}
