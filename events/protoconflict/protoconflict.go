// Package protoconflict lets a binary hold the generated code of EventStoreDB's
// client and of the actor library's cluster: both register a file called
// gossip.proto, and protobuf ends the process when it sees the second. Their
// messages have different names, so the second may be ignored.
//
// Every package that imports either imports this one blank. It imports nothing
// but os, so that Go initialises it before protobuf's registry. It changes nothing
// when the operator has set the variable.
package protoconflict

import "os"

const variable = "GOLANG_PROTOBUF_REGISTRATION_CONFLICT"

// The value must be there before protobuf's registry is, so it can only be set
// here.
//
//nolint:gochecknoinits // see above
func init() {
	if os.Getenv(variable) == "" {
		_ = os.Setenv(variable, "ignore") // Cannot fail: the name has no "=" or NUL.
	}
}
