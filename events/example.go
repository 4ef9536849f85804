package events

import "google.golang.org/protobuf/proto"

// What the examples of codec tables are about.
const (
	ExampleID      = "0xabababababababababababababababababababababababababababababababab"
	ExampleAddress = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
)

// EntryOf is an entry in its first version, checked by the schema of its message.
func EntryOf(name string, example proto.Message) Entry {
	return Entry{Name: name, Version: 1, Example: example, Check: CheckMessage}
}
