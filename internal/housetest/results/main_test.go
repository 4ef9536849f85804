package main

import (
	"strings"
	"testing"
)

func TestWhatFailedIsToldAndWhatPassedIsTimed(t *testing.T) {
	const in = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestGood/a/c","Elapsed":2}
{"Action":"pass","Package":"p","Test":"TestGood/a","Elapsed":1}
{"Action":"pass","Package":"p","Test":"TestGood/b","Elapsed":1}
{"Action":"pass","Package":"p","Test":"TestGood","Elapsed":1.5}
{"Action":"output","Package":"p","Test":"TestBad/part","Output":"    <why>\n"}
{"Action":"fail","Package":"p","Test":"TestBad/part","Elapsed":2}
{"Action":"fail","Package":"p","Test":"TestBad","Elapsed":2}
{"Action":"output","Package":"p","Test":"TestDead","Output":"panic\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t4s\n"}
{"Action":"fail","Package":"p","Elapsed":4}
{"ImportPath":"q","Action":"build-output","Output":"does not compile\n"}
{"Action":"output","Package":"r","Output":"coverage: 91% of statements\n"}
{"Action":"output","Package":"r","Output":"ok  \tr\t1s\tcoverage: 91% of statements\n"}
not an event`
	var out, times strings.Builder
	if err := tell(strings.NewReader(in), &out, &times); err != nil {
		t.Fatal(err)
	}
	const told = "    <why>\nFAIL\tp\t4s\npanic\ndoes not compile\n" +
		"ok  \tr\t1s\tcoverage: 91% of statements\nnot an event"
	if out.String() != told {
		t.Errorf("told is\n%s\nwant\n%s", out.String(), told)
	}
	if got, want := times.String(), "    3.00 s  p TestGood\n    2.00 s  p TestBad\n"; got != want {
		t.Errorf("timed is\n%s\nwant\n%s", got, want)
	}
}
