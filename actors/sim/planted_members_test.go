package sim

import (
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// memberPlants returns errors of hosts of several members.
func memberPlants() map[string]planted {
	three := Scenario{Requests: 4, Slots: 3, Block: 20, Period: time.Minute, Members: Members{Count: 3}}
	apart, poor, lost, twice := three, three, three, three
	apart.Members.Expire, apart.Members.Cut = 10, 10
	poor.Tokens = 4 * 4 * uint64(events.BlockSize)
	deaf, headlong := apart, three
	deaf.Plant.Deaf, headlong.Plant.Headlong = true, true
	lost.Members.WithoutKey, lost.Members.Part, lost.Chance, lost.Plant.Unheard = true, 10, chanceOfMembers, true
	twice.Members.Again, twice.Plant.Nameless = 300, true
	gullible := poor
	gullible.Requests, gullible.Reorganize, gullible.Lag, gullible.Plant.Gullible = 12, 10, 2, true
	return map[string]planted{
		"an owner that was deposed goes on":                     {breaks: OneWriter, sc: deaf},
		"a member begins when it is asked whether it would":     {breaks: HandedOutOnce, sc: headlong},
		"nobody hears of a proof that waits in the event store": {breaks: NothingMissed, sc: lost},
		"an owner takes a repeated question for a new one":      {breaks: SentOnce, sc: twice},
		"a balance is believed whatever was paid":               {breaks: PromisedOnce, sc: gullible},
		"slots are handed out whatever is promised": {
			breaks: PromisedOnce, sc: poor, cores: actors.Cores{DecideQueue: promisesAnything},
		},
	}
}

func promisesAnything(s slotqueue.State, c slotqueue.Command) ([]slotqueue.Event, error) {
	if h, ok := c.(slotqueue.HandOut); ok {
		h.Balance = events.NewAmount(mostTokens)
		return slotqueue.Decide(s, h)
	}
	return slotqueue.Decide(s, c)
}
