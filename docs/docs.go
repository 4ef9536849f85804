// Package docs has those of these pages that the program reads.
package docs

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"sync"
)

// Errors is errors.md: what is said of each error, and what to do about it.
//
//go:embed errors.md
var Errors string

// OpenAPI is openapi.json, the document of the API.
//
//go:embed openapi.json
var OpenAPI string

// OpenAPIHash is the SHA-256 of that, as hex.
var OpenAPIHash = sync.OnceValue(func() string {
	hash := sha256.Sum256([]byte(OpenAPI))
	return hex.EncodeToString(hash[:])
})
