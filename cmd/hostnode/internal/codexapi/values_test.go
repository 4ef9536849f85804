package codexapi

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

func TestACountIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := count{n: rapid.Uint64().Draw(t, "n")}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got count
		if err := json.Unmarshal(b, &got); err != nil || got != want || (b[0] == '"') != (want.n > 1<<63-1) {
			t.Fatalf("%s is read as %+v (%v), want %+v", b, got, err, want)
		}
	})
}

func TestAnAmountIsReadInEachOfItsForms(t *testing.T) {
	for text, want := range map[string]string{
		`"255"`: "255", `255`: "255", `"0xff"`: "255", `"0XFF"`: "255", `"0o377"`: "255", `"0b11111111"`: "255", `""`: "0",
		`null`: "0", `"115792089237316195423570985008687907853269984665640564039457584007913129639935"`: events.MaxAmount().String(),
	} {
		var got amount
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.String() != want {
			t.Errorf("%s is read as %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		`"-1"`, `-1`, `1.5`, `1e3`, `"0x"`, `"0xfg"`, `"1_000"`, `" 1"`, `true`, `{}`, `"0x-1"`,
		`"115792089237316195423570985008687907853269984665640564039457584007913129639936"`,
	} {
		var got amount
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is read as %s", text, got)
		}
	}
}

func FuzzBodies(f *testing.F) {
	f.Add([]byte(`{"totalSize":1,"duration":"2","minPricePerBytePerSecond":"0x3","until":-4,"nodes":3,"expiry":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var o offer
		if json.Unmarshal(b, &o) == nil && o.check(true) == nil && (o.TotalSize.n == 0 || o.Collateral.IsZero()) {
			t.Fatalf("%s passes", b)
		}
		var q wish
		if json.Unmarshal(b, &q) != nil {
			return
		}
		terms, code, err := q.terms(1 << 50)
		if err == nil && (code.Validate() != nil || terms.Expiry >= terms.Duration || terms.Expiry <= 0) {
			t.Fatalf("%s passes as %+v, %+v", b, terms, code)
		}
	})
}

func FuzzFilename(f *testing.F) {
	f.Add(`attachment; filename="a.txt"`)
	f.Fuzz(func(t *testing.T, header string) {
		o, err := namesOf(map[string][]string{"Content-Disposition": {header}})
		if err == nil && header != "" && !isFilename(o.Filename) {
			t.Fatalf("%q gives %q", header, o.Filename)
		}
	})
}
