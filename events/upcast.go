package events

// Upcaster turns an event's stored data of one schema version into that of the
// next. It is pure, never changes the bytes it is given, and refuses what it
// does not understand. Once released, it never changes.
type Upcaster func(data []byte) ([]byte, error)
