package events

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNamesOfTheSystemAreToldFromOurs(t *testing.T) {
	for _, c := range []struct {
		stream          string
		system, virtual bool
		of              string
		meta            bool
	}{
		{"sale-1", false, false, "", false},
		{"", false, false, "", false},
		{"ce-$", false, false, "", false},
		{"$stats", true, false, "", false},
		{"$", true, false, "", false},
		{"$$sale-1", true, false, "sale-1", true},
		{"$$$stats", true, false, "$stats", true},
		{"$$", true, false, "", true},
		{"$ce-sale", true, true, "", false},
		{"$ce-", true, true, "", false},
		{"$et-SaleStarted", true, true, "", false},
		{"$bc-1", true, true, "", false},
		{"$streams", true, true, "", false},
		{"$streams-1", true, false, "", false},
		{"$category-sale", true, false, "", false},
		{"$$$ce-sale", true, false, "$ce-sale", true},
	} {
		of, meta := MetadataOf(c.stream)
		if IsSystem(c.stream) != c.system || IsVirtual(c.stream) != c.virtual || of != c.of || meta != c.meta {
			t.Errorf("%q: system %v, virtual %v, metadata of %q %v, want %+v",
				c.stream, IsSystem(c.stream), IsVirtual(c.stream), of, meta, c)
		}
		if meta && MetadataStream(of) != c.stream {
			t.Errorf("the metadata stream of %q is %q, want %q", of, MetadataStream(of), c.stream)
		}
	}
}

func TestAnEventBelongsToItsVirtualStreams(t *testing.T) {
	for _, c := range []struct {
		stream, eventType, correlation string
		first                          bool
		want                           []string
	}{
		{"sale-1-2", "T", "r1", true, []string{"$ce-sale", "$et-T", "$bc-r1", "$streams"}},
		{"sale-1-2", "T", "", false, []string{"$ce-sale", "$et-T"}},
		{"plain", "T", "", true, []string{"$ce-plain", "$et-T", "$streams"}},
		{"-", "T", "", false, []string{"$ce-", "$et-T"}},
		{"$stats", "T", "r1", true, nil},
		{"$$sale-1", "T", "r1", true, nil},
		{"sale-1", TypeTombstone, "r1", true, nil},
	} {
		got := VirtualOf(c.stream, c.eventType, c.correlation, c.first)
		if d := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c, d)
		}
		for _, name := range got {
			if !IsVirtual(name) || !errors.Is(CheckAppend(name, nil), ErrReadOnly) {
				t.Errorf("%s is not virtual, or not read-only", name)
			}
		}
	}
	if got := string(LinkData("sale-1", 7)); got != "7@sale-1" {
		t.Errorf("a link reads %s", got)
	}
}
