package api_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// settingsRecord is the record of a host whose members changed settings: north one twice, and south one.
func settingsRecord() []messages.HostEvent {
	at := func(minutes uint64) uint64 { return 1_700_000_000 + 60*minutes }
	start := func(epoch uint64, member string) *messages.HostStarted {
		return &messages.HostStarted{
			At: events.TimeToMessage(events.Unix(at(epoch))), Epoch: epoch, Member: member, ChainId: 1,
			Genesis: events.Hash{1}.String(), Contract: events.Address{9}.String(), Version: "v1",
		}
	}
	change := func(epoch uint64, some ...*messages.SettingChange) *messages.SettingsChanged {
		return &messages.SettingsChanged{
			At: events.TimeToMessage(events.Unix(at(epoch))), Epoch: epoch, Version: fmt.Sprint("v", epoch), Changes: some,
		}
	}
	return []messages.HostEvent{
		start(1, "north"), change(1,
			&messages.SettingChange{Key: "alerts.webhook", After: "***", Source: "file", Seal: "ab", Hidden: true},
			&messages.SettingChange{Key: "quota", Before: "20GiB", After: "30GiB", Source: "file"},
		),
		start(2, "south"), change(2, &messages.SettingChange{Key: "quota", Before: "20GiB", After: "5GiB", Source: "flag"}),
		start(3, "north"), change(3, &messages.SettingChange{Key: "quota", Before: "30GiB", After: "20GiB", Source: "default"}),
	}
}

func TestChangesOfSettingsAreListedTheNewestFirst(t *testing.T) {
	store := storetest.NewMemory()
	for i, m := range settingsRecord() {
		name, _, data, err := catalog.Codec().Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		stream := events.HostStream(me)
		id := events.NewEventID(stream, fmt.Sprint(i), 0)
		_, err = store.Append(t.Context(), stream, events.ExpectNext(uint64(i)),
			[]events.NewEvent{{ID: id, Type: name, Data: data, Meta: events.Metadata{Version: 1}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	b := settingsBackend(t, store)
	for name, c := range map[string]struct {
		q    api.SettingChangesQuestion
		want []string
	}{
		"all": {api.SettingChangesQuestion{}, []string{
			"4 north v3 quota 30GiB 20GiB default", "3 south v2 quota 20GiB 5GiB flag",
			"2 north v1 quota 20GiB 30GiB file", "1 north v1 alerts.webhook  *** file",
		}},
		"one setting": {api.SettingChangesQuestion{Key: "alerts.webhook"}, []string{"1 north v1 alerts.webhook  *** file"}},
		"as it was": {api.SettingChangesQuestion{Then: api.Then{At: "@2"}}, []string{
			"2 north v1 quota 20GiB 30GiB file", "1 north v1 alerts.webhook  *** file",
		}},
		"no such setting": {api.SettingChangesQuestion{Key: "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for c.q.Limit = 1; ; { // Page by page.
				a, err := api.ListSettingChanges.Ask(t.Context(), b, c.q)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range a.Changes {
					got = append(got, fmt.Sprintf("%d %s %s %s %s %s %s",
						one.Number, one.Member, one.Version, one.Key, one.Before, one.After, one.Source))
					if one.Hidden != (one.Key == "alerts.webhook") || one.At.IsZero() || one.Epoch == 0 {
						t.Errorf("%+v", one)
					}
				}
				if c.q.Cursor = a.Next; c.q.Cursor == "" {
					break
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := api.ListSettingChanges.Ask(t.Context(), b, api.SettingChangesQuestion{}); !errors.Is(err, problem.ErrBadRequest) {
		t.Errorf("a page without a limit: %v", err)
	}
	all, err := api.ListSettings.Ask(t.Context(), b, api.None{})
	if err != nil || len(all.Settings) != 1 || all.Settings[0].Key != "quota" {
		t.Errorf("the settings: %+v, %v", all, err)
	}
}

// settingsBackend is asked over a socket about a record, with one setting.
func settingsBackend(t *testing.T, store events.Store) api.Backend {
	t.Helper()
	views, err := projections.Open(t.Context(), store, projections.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = views.Close() })
	return served(t, api.NewLive(api.LiveConfig{
		Store: store, Projector: views,
		Source: api.Source{Account: me, Settings: []config.Setting{{Key: "quota", Value: "20GiB", Default: "20GiB"}}},
	})).Backend
}
