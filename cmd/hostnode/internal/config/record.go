package config

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
)

// Recorded are all settings as the record has them: secrets are hidden and long values are cut, as Settings shows them.
// A value that is not whole there has a seal made with the key, by which a change is seen. The key must not be in
// the record: with it, a short secret could be guessed.
func (l Loaded) Recorded(key []byte) []membership.Given {
	var all []membership.Given
	def := Default()
	byDefault := settings(&def)
	for i, s := range settings(&l.Config) {
		kind, _, _ := strings.Cut(l.sources[s.key], " ") // Lines of a file move without a change.
		now := membership.Given{Default: recordable(byDefault[i].shown()), Setting: membership.Setting{
			Key: s.key, Value: recordable(s.shown()), Source: kind,
		}}
		if whole := s.text(); whole != now.Value {
			now.Seal = seal(key, s.key, whole)
		}
		all = append(all, now)
	}
	return all
}

// recordable is a text that fits into the record.
func recordable(text string) string {
	const cut = "..."
	if len(text) > membership.MaxValue {
		text = events.Clip(text, membership.MaxValue-len(cut))
	}
	return strings.ToValidUTF8(text, "?")
}

// seal is different for different values, and says nothing about them without the key. Values of two settings
// cannot be compared.
func seal(key []byte, setting, value string) string {
	const most = 8
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(setting + "\x00" + value)) // A hash takes everything.
	return hex.EncodeToString(mac.Sum(nil)[:most])
}
