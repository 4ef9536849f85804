module github.com/hostnode/hostnode/bench/downtime

go 1.26.0

require (
	github.com/hostnode/hostnode v0.0.0-00010101000000-000000000000
	github.com/lib/pq v1.12.3
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/holiman/uint256 v1.3.2 // indirect
	golang.org/x/crypto v0.57.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/hostnode/hostnode => ../..
