package sale

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Given, when, then: each rule of the package comment, by its name. The expected events are
// named; where a value matters, the test reads it.
func TestRules(t *testing.T) {
	for _, tc := range []struct {
		name  string
		given []Command
		when  Command
		then  string // names of the events, "" for none
		phase Phase
	}{
		{"rule 1: a sale starts in Preparing", nil, start(), "SaleStarted", Preparing},
		{"rule 1: a sale that runs cannot start again", untilDownloading(), start(), "", Downloading},
		{
			"rule 1: a sale that is not settled cannot start again",
			then(untilDownloading(), giveUp(), deleted()), start(), "", Errored,
		},
		{
			"rule 1: a settled sale starts again",
			then(untilDownloading(), giveUp(), deleted(), settled()), start(), "SaleStarted", Preparing,
		},

		{"rule 2: space and collateral come first", []Command{start()}, capacity(), "CapacityReserved", SlotReserving},
		{"rule 2: no step is skipped", []Command{start()}, stored(), "", Preparing},
		{"rule 2: the reservation lets the download begin", untilReserving(), reserved(), "SlotReserved", Downloading},
		{"rule 2: the data lets proving begin", untilDownloading(), stored(), "SlotStored", InitialProving},
		{"rule 2: the proof lets the fill begin", untilProving0(), proved(challenge1), "InitialProofMade", Filling},
		{"rule 2: the fill makes the slot ours", untilFilling(), filled(), "SlotFilled", Filled},
		{
			"rule 2: a fill that the contract has noted counts as done",
			untilProving0(), chainSays(me, events.SlotFilled, events.RequestNew), "SlotFilled", Filled,
		},

		{"rule 3: the ledger may say no", []Command{start()}, ReportNoCapacity{At: t0}, "SaleIgnored", Ignored},
		{"rule 3: the market may say no", untilReserving(), ReportNotReservable{At: t0}, "SaleIgnored", Ignored},
		{
			"rule 3: the request may expire", untilDownloading(),
			chainSays(events.Address{}, events.SlotFree, events.RequestCancelled), "SaleCancelled", Cancelled,
		},
		{
			"rule 3: the request may fail", untilDownloading(),
			chainSays(events.Address{}, events.SlotFree, events.RequestFailed), "SaleFailed", Failed,
		},
		{"rule 3: trying again may be of no help", untilDownloading(), giveUp(), "SaleErrored", Errored},
		{"rule 3: the worker may be wanted back", untilDownloading(), letGo(), "SaleIgnored", Ignored},
		{"rule 3: an adopted sale waits for room", []Command{adopt()}, ReportNoCapacity{At: t0}, "", Preparing},

		{
			"rule 4: another's fill does not end ours in flight", untilFilling(),
			chainSays(other, events.SlotFilled, events.RequestNew), "", Filling,
		},
		{"rule 4: nor does wanting the worker back", untilFilling(), letGo(), "", Filling},
		{"rule 4: its own outcome does", untilFilling(), ReportNotFree{At: t0}, "SaleIgnored", Ignored},
		{
			"rule 4: the end of the request does", untilFilling(),
			chainSays(events.Address{}, events.SlotFree, events.RequestCancelled), "SaleCancelled", Cancelled,
		},
		{
			"rule 4: an outdated proof leads back to proving", untilFilling(),
			ReportProofOutdated{At: t0, Challenge: challenge1},
			"InitialProofOutdated", InitialProving,
		},
		{
			"rule 4: news about an older proof does not", untilFilling(),
			ReportProofOutdated{At: t0, Challenge: challenge2},
			"", Filling,
		},

		{
			"rule 5: the end of the request leads to the payout", untilProving(),
			chainSays(me, events.SlotFinished, events.RequestFinished), "RequestEnded", Payout,
		},
		{
			"rule 5: the contract may take the slot", untilProving(),
			chainSays(events.Address{}, events.SlotRepair, events.RequestStarted), "SlotForfeited", Errored,
		},

		{"rule 6: a period that owes a proof opens a duty", untilProving(), due(period1, challenge1), "ProofDue", Proving},
		{
			"rule 6: an accepted proof closes it", then(untilProving(), due(period1, challenge1)),
			submitted(period1), "ProofSubmitted", Proving,
		},
		{
			"rule 6: the end of the period closes it", then(untilProving(), due(period1, challenge1)),
			closed(period1), "ProofMissed", Proving,
		},
		{
			"rule 6: a challenge that demands no proof closes it", then(untilProving(), due(period1, challenge1)),
			excused(period1), "ProofExcused", Proving,
		},
		{
			"rule 6: the period is not over in its last second", then(untilProving(), due(period1, challenge1)),
			ReportPeriodClosed{At: deadline(period1), Period: period1},
			"", Proving,
		},
		{
			"rule 6: a closed period stays closed", then(untilProving(), due(period1, challenge1), submitted(period1)),
			due(period1, challenge2), "", Proving,
		},
		{
			"rule 6: a miss is followed by one reading", then(untilProving(), due(period1, challenge1), closed(period1)),
			checked(period1, 104_858), "CollateralSlashed", Proving,
		},
		{
			"rule 6: and by one only",
			then(untilProving(), due(period1, challenge1), closed(period1), checked(period1, 104_858)),
			checked(period1, 104_858), "", Proving,
		},

		{
			"rule 7: Filled goes back to Filling", untilFilled(),
			chainSays(events.Address{}, events.SlotFree, events.RequestNew), "FillReverted", Filling,
		},
		{"rule 7: Proving goes back to Filling", untilProving(), chainForgot(), "FillReverted", Filling},
		{
			"rule 7: ProvingSimulated goes back to Filling", untilSimulated(),
			chainSays(events.Address{}, events.SlotFree, events.RequestNew), "FillReverted", Filling,
		},
		{
			"rule 7: a fill that is not final is reverted, not forfeited", untilProving(),
			chainAt(fillBlock+finalBlocks-1, other, events.SlotFilled, events.RequestNew), "FillReverted", Filling,
		},
		{"rule 7: without a proof of ours it goes back to proving", then(untilProving0(),
			chainSays(me, events.SlotFilled, events.RequestNew)), chainForgot(), "FillReverted", InitialProving},
		{
			"rule 7: a fill that stands after all revives a given-up sale", then(untilFilling(), giveUp()),
			chainSays(me, events.SlotFilled, events.RequestNew), "SlotFilled", Filled,
		},
		{
			"rule 7: not when the data is deleted", then(untilFilling(), giveUp(), deleted()),
			chainSays(me, events.SlotFilled, events.RequestNew), "", Errored,
		},
		{
			"rule 7: its money is collected all the same", then(untilFilling(), giveUp(), deleted()),
			chainSays(me, events.SlotFinished, events.RequestFinished), "SlotFilled RequestEnded", Payout,
		},

		{"rule 8: the data stays while the contract holds the slot", untilPayout(), deleted(), "", Payout},
		{"rule 8: the contract lets go first", untilPayout(), freed(1_131_072, 131072), "PayoutReceived", Finished},
		{
			"rule 8: nothing is settled before the data is deleted", then(untilPayout(), freed(1_131_072, 131072)),
			settled(), "", Finished,
		},
		{"rule 8: then the data goes", then(untilPayout(), freed(1_131_072, 131072)), deleted(), "DataDeleted", Finished},
		{
			"rule 8: then the sale is settled", then(untilPayout(), freed(1_131_072, 131072), deleted()),
			settled(), "SaleSettled", Finished,
		},
		{"rule 8: a failed slot is dropped", then(untilProving(),
			chainSays(me, events.SlotFailed, events.RequestFailed)), freed(0, 0), "SlotDropped", Errored},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := live(t, tc.given...)
			batch, err := Decide(s, tc.when)
			if err != nil {
				t.Fatal(err)
			}
			names := make([]string, 0, 2)
			for _, e := range batch {
				s = Evolve(s, e)
				names = append(names, string(e.ProtoReflect().Descriptor().Name()))
			}
			if got := strings.Join(names, " "); got != tc.then || s.Phase != tc.phase {
				t.Fatalf("got %q, %s; want %q, %s", got, s.Phase, tc.then, tc.phase)
			}
		})
	}
}

func TestOnlyTheChainEndsASaleAfterItsFill(t *testing.T) {
	for _, life := range [][]Command{untilFilled(), untilProving(), untilSimulated(), untilPayout(), {adopt()}} {
		s, _ := live(t, life...)
		if batch, err := Decide(s, giveUp()); !errors.Is(err, ErrOnChain) || len(batch) > 0 {
			t.Errorf("give up in %s: %d events, error %v; want ErrOnChain", s.Phase, len(batch), err)
		}
	}
}

func TestAReportForASaleThatNeverBeganIsRefused(t *testing.T) {
	for _, c := range commands() {
		if _, starts := c.(Start); starts {
			continue
		}
		if _, err := Decide(State{}, c); !errors.Is(err, ErrNotStarted) {
			t.Errorf("%T: %v, want ErrNotStarted", c, err)
		}
	}
}

func TestAStartMustFitTheSaleAndBeSound(t *testing.T) {
	over, _ := live(t, then(untilDownloading(), giveUp(), deleted(), settled())...)
	elsewhere := start()
	elsewhere.Slot = events.SlotID{0xee}
	if _, err := Decide(over, elsewhere); !errors.Is(err, ErrMismatch) {
		t.Errorf("another slot: %v, want ErrMismatch", err)
	}
	unsound := start()
	unsound.Request.Ask.PricePerBytePerSecond = events.Amount{}
	if _, err := Decide(State{}, unsound); !errors.Is(err, events.ErrUnsoundRequest) {
		t.Errorf("price of zero: %v, want ErrUnsoundRequest", err)
	}
	outside := start()
	outside.Index = outside.Request.Ask.Slots
	if _, err := Decide(State{}, outside); !errors.Is(err, events.ErrMalformed) {
		t.Errorf("index out of range: %v, want ErrMalformed", err)
	}
}

func TestASecondAttemptKeepsNothingOfTheFirst(t *testing.T) {
	s, _ := live(t, then(untilPayout(), freed(1_131_072, 131072), deleted(), settled(), start())...)
	fresh, _ := live(t, start())
	fresh.Attempt = 2
	if diff := differ(fresh, s); diff != "" {
		t.Fatalf("second attempt (-fresh +got):\n%s", diff)
	}
}

func TestTheSlashedPartIsTheDifferenceSinceTheLastReading(t *testing.T) {
	s, _ := live(t, then(untilProving(), due(period1, challenge1), closed(period1),
		due(period1+1, challenge2), closed(period1+1), checked(period1, 104_858))...)
	batch, err := Decide(s, checked(period1+1, 78_644))
	if err != nil {
		t.Fatal(err)
	}
	want := []Event{&messages.CollateralSlashed{
		At: events.TimeToMessage(periodEnd(period1 + 1).Add(time.Minute)), Period: period1 + 1,
		Collateral: "78644", Slashed: "26214",
	}}
	if diff := cmp.Diff(want, batch, protocmp.Transform()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// A fill that was found on chain may be several periods old. It counts as made with the
// request, so that no later period is taken for the period of the fill.
func TestAFillFoundOnChainOwesProofsAtOnce(t *testing.T) {
	for _, life := range [][]Command{untilFilling(), {adopt(), capacity(), stored()}, then(untilFilling(), giveUp())} {
		s, _ := live(t, then(life, chainSays(me, events.SlotFilled, events.RequestStarted))...)
		if made := void.Add(-request().Expiry); s.Phase != Filled || !s.FilledAt.Equal(made) {
			t.Errorf("%s since %s, want Filled since %s", s.Phase, s.FilledAt, made)
		}
	}
	s, _ := live(t, untilFilled()...)
	if want := filled().Fill.FilledAt; !s.FilledAt.Equal(want) {
		t.Errorf("our own fill is of %s, want %s", s.FilledAt, want)
	}
}

// What comes back to the ledger, and what is lost, by how a sale ended.
func TestSettlementSplitsWhatWasCommitted(t *testing.T) {
	proving, cancelled := untilProving(), chainSays(me, events.SlotCancelled, events.RequestCancelled)
	discounted := capacity()
	discounted.Collateral = events.NewAmount(117_965)
	repair := then(untilPayout())
	repair[1] = discounted
	for _, tc := range []struct {
		name           string
		life           []Command
		returned, lost uint64
	}{
		{"let go before the fill", then(untilDownloading(), letGo()), 131072, 0},
		{"expired before the fill", then(untilDownloading(),
			chainSays(events.Address{}, events.SlotFree, events.RequestCancelled)), 131072, 0},
		{"finished", then(untilPayout(), freed(1_131_072, 131072)), 131072, 0},
		{"finished after one slash", then(untilPayout(), freed(1_104_858, 104_858)), 104_858, 26_214},
		{"a repair discount is earned, not returned", then(repair, freed(1_131_072, 131072)), 117_965, 0},
		{"cancelled after the fill", then(proving, cancelled, freed(1_131_072, 131072)), 131072, 0},
		{"failed", then(proving, chainSays(me, events.SlotFailed, events.RequestFailed), freed(0, 0)), 0, 131072},
		{"forfeited", then(proving, chainSays(events.Address{}, events.SlotRepair, events.RequestStarted)), 0, 131072},
		{"adopted and taken back before the data came", []Command{
			adopt(), capacity(),
			chainSays(events.Address{}, events.SlotRepair, events.RequestStarted),
		}, 0, 131072},
		{"given up, and the fill collected later", then(untilFilling(), giveUp(), deleted(), cancelled,
			freed(1_131_072, 131072)), 131072, 0},
	} {
		s, _ := live(t, tc.life...)
		returned, lost := s.Settlement()
		if returned != events.NewAmount(tc.returned) || lost != events.NewAmount(tc.lost) {
			t.Errorf("%s: %s returned, %s lost; want %d, %d", tc.name, returned, lost, tc.returned, tc.lost)
		}
		if !s.Deleted {
			s, _ = live(t, then(tc.life, deleted())...)
		}
		want := Settle{s.Attempt, returned, lost}
		if next := Next(s); len(next) != 1 || next[0] != Effect(want) {
			t.Errorf("%s: next is %v, want %v", tc.name, next, want)
		}
	}
}

func TestDataIsKeptAsLongAsItMayBeOwed(t *testing.T) {
	repair := start()
	repair.Repair = true
	for _, tc := range []struct {
		name string
		life []Command
		want time.Time
	}{
		{"until the request is void, before the fill", untilDownloading(), void},
		{"until the end, for a repair", []Command{repair, capacity(), reserved()}, ends},
		{"until the end, when adopted", []Command{adopt(), capacity()}, ends},
	} {
		s, _ := live(t, tc.life...)
		if got := Next(s)[0].(Download); !got.Until.Equal(tc.want) {
			t.Errorf("%s: kept until %s, want %s", tc.name, got.Until, tc.want)
		}
	}
}

func TestEveryNthProofIsSpoiledOnPurpose(t *testing.T) {
	life := untilSimulated()
	var spoiled []bool
	for p := uint64(period1); p < period1+5; p++ {
		life = append(life, due(p, challenge1), due(p, challenge2))
		s, _ := live(t, life...)
		spoiled = append(spoiled, s.Duties[0].Spoil)
		life = append(life, submitted(p))
	}
	if diff := cmp.Diff([]bool{false, true, false, true, false}, spoiled); diff != "" {
		t.Fatalf("every second one (-want +got):\n%s", diff)
	}
}

func TestAReasonThatCannotBeStoredIsMadeFit(t *testing.T) {
	s, _ := live(t, untilDownloading()...)
	for _, reason := range []string{"\xff\xfe", strings.Repeat("x", 5000), strings.Repeat("x", MaxTextBytes-1) + "é"} {
		batch, err := Decide(s, GiveUp{At: t0, Reason: reason})
		if err != nil {
			t.Fatal(err)
		}
		_, _, data, err := events.NewCodec(Table()).Encode(batch[0])
		if err != nil || len(data) > 2*MaxTextBytes {
			t.Errorf("reason of %d bytes: %d bytes to store, error %v", len(reason), len(data), err)
		}
	}
}

// oddity is of the union by embedding, but none of its messages.
type oddity struct{ messages.SaleEvent }

var _ proto.Message = oddity{}
