package api

import (
	"context"
	"slices"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/projections"
)

// SettingsReader says which settings are in use, and what changed from start to start. Secrets are hidden in both.
type SettingsReader interface {
	// Settings are those of the process that answers: of the running host, or those with which a command was given
	// while none runs.
	Settings(ctx context.Context) (Settings, error)
	// SettingChanges is a page of the changes that starts have recorded, the newest first.
	SettingChanges(ctx context.Context, q SettingChangesQuestion) (SettingChanges, error)
}

// Settings are all settings.
type Settings struct {
	AsOf     AsOf             `json:"asOf"`
	Settings []config.Setting `json:"settings"`
}

// SettingChangesQuestion asks for changes; of one setting, or of all.
type SettingChangesQuestion struct {
	Then
	Paging
	Key string `query:"key" doc:"of this setting only; absent: of all"`
}

// SettingChanges are changes of settings, the newest first. At most the newest 2,000 are kept; the others are in the
// host's stream.
type SettingChanges struct {
	AsOf    AsOf                        `json:"asOf"`
	Changes []projections.SettingChange `json:"changes"`
	Paged
}

// Settings implements SettingsReader.
func (r *reader) Settings(context.Context) (Settings, error) {
	return Settings{r.asOf(), append([]config.Setting{}, r.Source.Settings...)}, nil
}

// SettingChanges implements SettingsReader.
func (r *reader) SettingChanges(_ context.Context, q SettingChangesQuestion) (SettingChanges, error) {
	out := SettingChanges{AsOf: r.asOf()}
	all := slices.DeleteFunc(r.views.SettingChanges(r.Account.String()), func(c projections.SettingChange) bool {
		return q.Key != "" && c.Key != q.Key
	})
	slices.Reverse(all)
	some, next, err := page(all, func(c projections.SettingChange) string { return newestFirst(c.Number) }, q.Paging)
	out.Changes, out.Next = append([]projections.SettingChange{}, some...), next
	return out, err
}
