package actors

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/events"
)

func TestOfSeveralCopiesASoundOneIsChosenThenTheLesserName(t *testing.T) {
	const part, sound = members.PartOfCopy, members.SoundCopy
	for _, test := range []struct {
		name   string
		copies map[events.Member]members.Copy
		awaits bool
		want   events.Member
	}{
		{"one has it", map[events.Member]members.Copy{"north": "", "south": sound}, false, "south"},
		{"both have it", map[events.Member]members.Copy{"north": sound, "south": sound}, false, "north"},
		{"one has all of it", map[events.Member]members.Copy{"north": part, "south": sound}, false, "south"},
		{"one that is away may have it", map[events.Member]members.Copy{"north": part, "south": ""}, true, ""},
		{"nobody else may have it", map[events.Member]members.Copy{"north": "", "south": part}, false, "south"},
		{"a sound copy need not wait", map[events.Member]members.Copy{"south": sound}, true, "south"},
	} {
		p := placing{answers: map[events.Member]members.Sells{}}
		for m, c := range test.copies {
			p.answers[m] = members.Sells{Copy: c}
		}
		if got := p.choose(test.awaits); got != test.want {
			t.Errorf("%s: %q is chosen, want %q", test.name, got, test.want)
		}
	}
}

func TestAnAwayMemberIsWaitedForUntilTheSlotCanJustStillBeFetched(t *testing.T) {
	terms := events.MarketConfig{Proofs: events.ProofConfig{Period: time.Minute}}
	for needs, want := range map[time.Duration]uint64{ // At second 610, in a period that ends at 660.
		20 * time.Second: 640, // It can still be proven in this period.
		50 * time.Second: 670, // Not any more, so there is time for the next one.
		2 * time.Minute:  660,
		5 * time.Minute:  660,
	} {
		s := &handout{roster: &roster{Rules: &admission.Rules{
			Chain: &chainview.Chain{Terms: terms}, Limits: admission.Limits{MinFill: needs},
		}}}
		if got := s.lastFetch(events.Unix(610)); !got.Equal(events.Unix(want)) {
			t.Errorf("with %s to fetch it: until %d, want %d", needs, got.Unix(), want)
		}
	}
}
