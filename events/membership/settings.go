package membership

import (
	"cmp"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// This file is what the record says of the settings of each member: what differs from the defaults. A start that finds
// other settings than the member's last one appends the difference together with its HostStarted, so the settings of
// any time follow from the record.

const (
	// MaxValue is the most bytes of a setting's value in the record, so that all of them fit into one event.
	MaxValue = 256
	// SourceDefault is the source of a value that is set nowhere.
	SourceDefault = "default"
)

// Setting is a setting as the record has it; messages.SettingChange says what its fields are.
type Setting struct {
	Key, Value, Source, Seal string
}

// Given is a setting of a process that starts, with the value that it would have by default. No text has more than
// MaxValue bytes, and none has a secret.
type Given struct {
	Setting
	Default string
}

// ChangeSettings returns the event that says how the settings of a process differ from those that are recorded for its
// member; nil: they do not, or none are given. The start of the process must be in s.
func ChangeSettings(s State, epoch uint64, given []Given, at time.Time) *messages.SettingsChanged {
	i := slices.IndexFunc(s.Processes, func(p Process) bool { return p.Epoch == epoch })
	if i < 0 || len(given) == 0 {
		return nil
	}
	var changes []*messages.SettingChange
	known := map[string]bool{}
	recorded := s.Processes[i].Settings
	for _, now := range given {
		known[now.Key] = true
		before := Setting{Value: now.Default}
		n, set := find(recorded, now.Key)
		if set {
			before = recorded[n]
		}
		if before == now.Setting || !set && now.Source == SourceDefault {
			continue
		}
		changes = append(changes, &messages.SettingChange{
			Key: now.Key, Before: before.Value, After: now.Value, Source: now.Source, Seal: now.Seal,
			Hidden: now.Seal != before.Seal,
		})
	}
	for _, was := range recorded {
		if !known[was.Key] {
			changes = append(changes, &messages.SettingChange{Key: was.Key, Before: was.Value})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.SortFunc(changes, func(a, b *messages.SettingChange) int { return cmp.Compare(a.GetKey(), b.GetKey()) })
	return &messages.SettingsChanged{
		At: events.TimeToMessage(at), Epoch: epoch, Version: s.Processes[i].Version, Changes: changes,
	}
}

func find(all []Setting, key string) (int, bool) {
	return slices.BinarySearchFunc(all, key, func(s Setting, key string) int { return cmp.Compare(s.Key, key) })
}

// set folds changes of the settings.
func (p *Process) set(changes []*messages.SettingChange) {
	all := slices.Clone(p.Settings)
	for _, c := range changes {
		i, found := find(all, c.GetKey())
		if found {
			all = slices.Delete(all, i, i+1)
		}
		if c.GetSource() != SourceDefault && c.GetSource() != "" {
			all = slices.Insert(all, i, Setting{c.GetKey(), c.GetAfter(), c.GetSource(), c.GetSeal()})
		}
	}
	p.Settings = all
}
