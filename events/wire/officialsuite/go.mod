// The official client at the version that the host uses, with what its tests need.
// A module of its own, so that their test libraries stay out of the host. Nothing
// here imports it, so do not tidy; to raise it:
//
//	go get -t github.com/EventStore/EventStore-Client-Go/v4/esdb@VERSION
module github.com/hostnode/hostnode/events/wire/officialsuite

go 1.26.0

require (
	github.com/EventStore/EventStore-Client-Go/v4 v4.2.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/net v0.30.0 // indirect
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/text v0.19.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20241007155032-5fefd90f89a9 // indirect
	google.golang.org/grpc v1.67.1 // indirect
	google.golang.org/protobuf v1.35.1 // indirect
)
