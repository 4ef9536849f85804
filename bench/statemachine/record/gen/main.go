// Command gen writes how records are encoded.
package main

import (
	"log"

	cbg "github.com/whyrusleeping/cbor-gen"

	"github.com/hostnode/hostnode/bench/statemachine/record"
)

func main() {
	if err := cbg.WriteMapEncodersToFile("cbor_gen.go", "record", record.SectorInfo{}, record.Piece{}, record.Log{}); err != nil {
		log.Fatal(err)
	}
}
