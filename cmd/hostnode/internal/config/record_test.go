package config

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
)

func TestRecordedSettingsSayWhereTheyComeFrom(t *testing.T) {
	c, err := Load(Sources{Environ: []string{"HOME=/home/me", "HOSTNODE_SALES_MAX_WORKERS=7"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.applyYAML("my.yaml", []byte("quota: 3GiB\n")); err != nil {
		t.Fatal(err)
	}
	got := recordedOf(c, "key")
	for key, want := range map[string]membership.Given{
		"sales.maxWorkers": {Default: "3", Setting: membership.Setting{
			Key: "sales.maxWorkers", Value: "7", Source: "environment",
		}},
		"quota":     {Default: "20GiB", Setting: membership.Setting{Key: "quota", Value: "3GiB", Source: "file"}},
		"log.level": {Default: "info", Setting: membership.Setting{Key: "log.level", Value: "info", Source: "default"}},
	} {
		if got[key] != want {
			t.Errorf("%+v, want %+v", got[key], want)
		}
	}
}

func recordedOf(c Loaded, key string) map[string]membership.Given {
	all := map[string]membership.Given{}
	for _, one := range c.Recorded([]byte(key)) {
		all[one.Key] = one
	}
	return all
}

// TestASealTellsValuesApartAndNothingElse: it depends on the setting, on all of the value and on the key.
func TestASealTellsValuesApartAndNothingElse(t *testing.T) {
	const webhook, sources = "alerts.webhook", "content.sources"
	of := func(value, key string) membership.Given {
		c, err := Load(Sources{Environ: []string{"HOME=/home/me", "HOSTNODE_ALERTS_WEBHOOK=" + value}})
		if err != nil {
			t.Fatal(err)
		}
		return recordedOf(c, key)[webhook]
	}
	one, again := of("https://a.example/one", "key"), of("https://a.example/one", "key")
	if one != again || one.Seal == "" {
		t.Errorf("the same value: %+v and %+v", one, again)
	}
	if two := of("https://a.example/two", "key"); two.Seal == one.Seal || two.Value != one.Value {
		t.Errorf("another value: %+v and %+v", one, two)
	}
	if other := of("https://a.example/one", "another key"); other.Seal == one.Seal {
		t.Errorf("another key: %+v", other)
	}
	if seal([]byte("key"), sources, "x") == seal([]byte("key"), webhook, "x") {
		t.Error("two settings with one value have one seal")
	}
	if open := of("https://a.example", "key"); open.Seal != "" {
		t.Errorf("nothing is hidden: %+v", open)
	}
}

// TestTheLongestSettingsFitIntoOneEvent: an event store may allow no more than this for one.
func TestTheLongestSettingsFitIntoOneEvent(t *testing.T) {
	const most = 256 << 10
	c := Loaded{Config: Default(), sources: map[string]string{}}
	for _, s := range settings(&c.Config) {
		c.sources[s.key] = "environment " + s.variable()
		for _, text := range []string{strings.Repeat("ö", 5000), strings.Repeat("\"\xff", 5000)} {
			switch v := s.value.Addr().Interface().(type) {
			case *string:
				*v = text
			case *[]string:
				*v = []string{text, text}
			}
		}
	}
	s := membership.Evolve(membership.State{}, &messages.HostStarted{Epoch: 1})
	all := c.Recorded(nil)
	for i := range all {
		all[i].Default = all[i].Value // Then it stands twice in the event.
		if text := all[i].Value; len(text) > membership.MaxValue || !utf8.ValidString(text) {
			t.Errorf("%s has %q", all[i].Key, text)
		}
	}
	_, _, data, err := catalog.Codec().Encode(membership.ChangeSettings(s, 1, all, events.Unix(0)))
	if err != nil || len(data) > most {
		t.Fatalf("%d settings have %d bytes: %v", len(all), len(data), err)
	}
	t.Logf("%d settings have %d bytes", len(all), len(data))
}
