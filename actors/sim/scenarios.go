package sim

import (
	"time"

	"github.com/hostnode/hostnode/events"
)

// Hosts in crash loops need slow blocks: between a start and the last proof of six slots there are
// about seventy calls, which are answered one by one, about ten per block.
const (
	chanceInLoops = 8  // blocks in which such a host must answer a challenge
	blockInLoops  = 30 // blocks in a thousand steps
	// chanceWithOld is the same for a host whose record lost the events that the data of its slots was stored.
	chanceWithOld = 40
	// chanceOfMembers is the same for a host of several members.
	chanceOfMembers = 25
)

// Scenarios returns all scenarios that hosts must survive, by name. The simulation's own tests
// run them, and so does the test of the projections (projections/js).
func Scenarios() map[string]Scenario {
	return map[string]Scenario{
		"quiet":        {},
		"faults":       {Fail: 60, Lose: 60},
		"crashes":      {Fail: 20, Lose: 20, Crash: 8},
		"crashLoops":   {CrashLoop: 10, Block: blockInLoops, Chance: chanceInLoops, Requests: 3},
		"stops":        {Stop: 3, Fail: 10},
		"rotten":       {Crash: 6, Stop: 2, Lose: 20, Rot: true, SnapshotEvery: 5, Requests: 4},
		"bitRot":       {BitRot: 8, Block: 30, Punctual: true, Requests: 3},
		"rotAndFaults": {BitRot: 8, Fail: 30, Lose: 30, Crash: 4, Stop: 1, StoreAway: 2, Reorganize: 2, Rival: 2, Requests: 3, Slots: 3},
		"panics":       {Panic: 15, Block: blockInLoops, Chance: chanceInLoops, Requests: 3, Slots: 3},
		"poison":       {MaxSteps: 9_000, Poison: 3, Block: blockInLoops, Chance: chanceInLoops, Requests: 4, Slots: 3},
		"panicsAndFaults": {
			Panic: 8, Poison: 1, Fail: 20, Lose: 20, Crash: 2, Stop: 1, StoreAway: 1, Rival: 2,
			Requests: 3, Slots: 3, Validator: true,
		},
		"lyingMarket": {Lies: 8, Requests: 3, Slots: 3, Rival: 2, Crash: 2},
		"lyingAndReorganized": {
			Lies: 6, Reorganize: 3, Lag: 2, Fail: 20, Lose: 20, Crash: 2, Requests: 3, Slots: 3, Rival: 2,
		},
		"rivals":          {Rival: 4, Requests: 3, Slots: 3},
		"reorgs":          {Reorganize: 4, Fail: 10},
		"liars":           {BadContent: true, Requests: 4, Fail: 20},
		"silentClient":    {NoClient: true, Requests: 4, Fail: 20},
		"storeFails":      {StoreDown: 5, Lose: 10},
		"storeAway":       {StoreAway: 6, Block: 30, Punctual: true, Requests: 3},
		"cluster":         {Cluster: 6, Block: 30, Punctual: true, Requests: 3},
		"clusterAndCrash": {Cluster: 6, Crash: 4, Stop: 1, Die: 4, Fail: 20, Lose: 20, Requests: 3},
		"awayAndCrash":    {StoreAway: 5, Crash: 4, Fail: 20, Lose: 20, Requests: 3},
		"slowWorld":       {Block: 450, Fail: 20},
		"requestsFail":    {Rival: 15, Requests: 4, Slots: 3, SlotLoss: 1, Fail: 10, Crash: 2}, // Others never prove.
		"repairs":         {Rival: 6, Requests: 3, Slots: 3, Block: 100},
		"poor":            {Tokens: 3 * 4 * uint64(events.BlockSize) / 2, Requests: 4},
		"fullQueue":       {MaxQueued: 2, Requests: 5, Slots: 3},
		"operator":        {Pause: 10, Requests: 4, Fail: 20},
		"repeatingFeed":   {Repeat: 40, Requests: 3, Crash: 2},
		"olderRecord":     {Older: 10, Requests: 3, Block: blockInLoops, Period: time.Minute, Chance: chanceWithOld},
		"lostRecord":      {Forget: 10, Requests: 3},
		"spoiltProofs":    {FailEveryNProofs: 3, Fail: 10},
		"delays":          {Delay: 30, Fail: 20},
		"duplicates":      {Twice: 150, Lose: 20, Requests: 3},
		"deaths":          {Die: 12, Fail: 10, Lose: 10},
		"chainDown":       {ChainDown: 6, Fail: 10, Requests: 3},
		"lag":             {Lag: 6, Requests: 3, Crash: 1},
		"deepReorgs":      {Reorganize: 3, Depth: 64, Period: 40 * time.Second, Crash: 2, Requests: 3},
		"diskFull":        {DiskFull: 6, Lose: 10, Requests: 3},
		"clock":           {Clock: 20, Crash: 3, Fail: 20, Requests: 3},
		"slowProofs":      {SlowProofs: 4, Requests: 3},
		"readFaults":      {Reads: true, Fail: 60, Lose: 30, Delay: 10, Crash: 4, Stop: 1, Die: 4},
		"competitors":     {Competitor: 20, Rival: 2, Requests: 3, Slots: 3},
		"withdrawals":     {Withdraw: 30, Rival: 3, Requests: 4, Slots: 3, Crash: 1},
		"policy": {
			Requests: 8, BadContent: true, BadClients: true, Fail: 10, Crash: 1, Rival: 1,
			Policy: Policy{
				AvoidClient: 3 * time.Minute, MaxAtRisk: 3 * 4 * uint64(events.BlockSize),
				WalletDays: 1, Wei: 55, Dispersal: true,
			},
		},
		"quotas": {
			Requests: 6, Fail: 10, Lose: 10, Crash: 4, Stop: 3, Rival: 2, Policy: Policy{Quotas: true},
		},
		"sectors": {Crash: 1, Sectors: Sectors{Begin: 4, Damage: 1, Chance: 12}},
		"sectorsAndFaults": {
			Fail: 20, Lose: 20, Delay: 5, Twice: 10, Die: 3, Crash: 2, Stop: 1, StoreDown: 1, StoreAway: 1, ChainDown: 1,
			DiskFull: 1, Lag: 1, Period: time.Minute, Requests: 3,
			Sectors: Sectors{Begin: 5, SealerAway: 2, SealerHangs: 2, ProviderDown: 2, Damage: 2, BadPieces: true},
		},
		"sectorsAndReorgs": {
			Reorganize: 4, Fail: 10, Lose: 10, Crash: 2, Sectors: Sectors{Begin: 4, ProviderDown: 2, Damage: 1},
		},
		"sectorsAndRot": { // With BitRot the scrubs run.
			BitRot: 4, Fail: 10, Crash: 2, Stop: 1, Sectors: Sectors{Begin: 4, Damage: 4},
		},
		"sectorsAndOrders": {
			Fail: 10, Lose: 10, Crash: 2, Stop: 1, Sectors: Sectors{Begin: 6, SealerLies: 3, Damage: 1, Orders: 100},
		},
		"sectorsAndAll": {
			Fail: 20, Lose: 20, Die: 2, Crash: 1, Stop: 1, Cluster: 2, Reorganize: 1, Rival: 2, Panic: 3, Lag: 1, ChainDown: 1,
			DiskFull: 1, Clock: 3, Period: time.Minute, Requests: 3,
			Sectors: Sectors{
				Begin: 5, SealerAway: 1, SealerHangs: 1, SealerLies: 1, ProviderDown: 1, Damage: 1, Orders: 30, BadPieces: true,
			},
		},
		"sectorsEndedEarly":  {Fail: 10, Lose: 10, Crash: 1, Reorganize: 1, Sectors: Sectors{Begin: 5, Early: 30, Damage: 1}},
		"sectorsAndLies":     {Fail: 10, Lose: 10, Crash: 1, Reorganize: 1, Sectors: Sectors{Begin: 5, ProviderLies: 6, Damage: 1}},
		"sectorsBeyondFinal": {Fail: 10, Lose: 10, Crash: 1, Requests: 1, Sectors: Sectors{Begin: 6, BeyondFinal: 6, Damage: 1, Orders: 20}},
		"validator":          {Validator: true, Rival: 8, Requests: 4, Slots: 3, Fail: 20, Lose: 20, Crash: 2, Stop: 1},
		"nodesWatched":       {Nodes: true, Requests: 6, Fail: 10, Lose: 10, Block: 200},
		"nodes":              {Nodes: true, Requests: 4, Crash: 2, Stop: 1, Lag: 1, Reorganize: 1},
		"nodesAndFaults": {
			Nodes: true, Requests: 4, Fail: 20, Lose: 20, Delay: 5, Twice: 20, Die: 2, Crash: 1, Stop: 1, StoreAway: 2,
			ChainDown: 2, Lag: 1, Reorganize: 1, DiskFull: 1, Clock: 5, Rival: 1, Panic: 3,
		},
		"nodesOfMembers": {
			Nodes: true, Requests: 3, Slots: 3, Block: 20, MaxSteps: 40_000, Period: time.Minute, Fail: 10,
			Members: Members{Count: 3, Kill: 1, Stop: 1, Cut: 1, Expire: 1},
		},
		"alerts": {Alerts: true, Crash: 4, Stop: 1},
		"alertsAndFaults": {
			Alerts: true, Requests: 3, Fail: 20, Lose: 20, Delay: 20, Twice: 20, Die: 4, Crash: 2, Stop: 1, StoreDown: 1,
			StoreAway: 2, DiskFull: 1, Panic: 3,
		},
		"aggregation": {Crash: 2, Aggregation: Aggregation{Cars: 24, Orders: 20}, Sectors: Sectors{Begin: 2}},
		"aggregationAndFaults": {
			Fail: 20, Lose: 20, Delay: 5, Twice: 20, Die: 3, Crash: 1, Stop: 1, StoreDown: 1, StoreAway: 1, DiskFull: 1, Requests: 3,
			Panic:   3,
			Sectors: Sectors{Begin: 2}, Aggregation: Aggregation{Cars: 30, BrokerAway: 2, BrokerLies: 2, SourcesAway: 2, Orders: 20},
		},
		"members": {
			Requests: 3, Slots: 3, Block: 20, MaxSteps: 40_000, Period: time.Minute, Chance: chanceOfMembers,
			Members: Members{Count: 3, Kill: 1, Stop: 1},
		},
		"membersApart": {
			Requests: 3, Slots: 3, Block: 20, MaxSteps: 40_000, Period: time.Minute, Chance: chanceOfMembers,
			Members: Members{Count: 3, WithoutKey: true, Cut: 2, Expire: 2, Part: 2, Behind: 2, Again: 100},
		},
		"membersAndFaults": {
			Fail: 20, Lose: 20, Delay: 5, Twice: 20, Die: 1, StoreAway: 1, ChainDown: 1, Requests: 4, Slots: 3, Block: 20,
			Reorganize: 1, Rival: 1, Lag: 1, DiskFull: 1, SlowProofs: 1,
			MaxSteps: 40_000, Period: time.Minute, Tokens: 4 * 4 * uint64(events.BlockSize),
			Members: Members{Count: 3, Kill: 1, Stop: 1, KillAll: 1, Cut: 1, Expire: 1, Part: 1, Behind: 1, Again: 100},
		},
		"membersWithinRequest": {
			Requests: 4, Slots: 3, SlotLoss: 1, Block: 20, MaxSteps: 40_000, Period: time.Minute, Rival: 1,
			Members: Members{Count: 3, Kill: 1, Expire: 1, Again: 100},
		},
		// Many proofs are wrong, so slots are lost, and filled again while there are tokens that others are not promised.
		"membersRefill": {
			SlowProofs: 10, Requests: 8, Slots: 3, Block: 20, MaxSteps: 40_000, FailEveryNProofs: 2,
			Tokens: 20 * 4 * uint64(events.BlockSize), Members: Members{Count: 3, Kill: 1, Expire: 2, Again: 100},
		},
		"all": {
			Fail: 30, Lose: 30, Crash: 4, Stop: 1, Reorganize: 2, Repeat: 10, StoreDown: 1, StoreAway: 1, Pause: 2,
			Rival: 2, Requests: 4, Slots: 3, BadContent: true,
		},
		"everything": {
			Fail: 20, Lose: 20, Delay: 5, Twice: 20, Die: 2, Crash: 1, Stop: 1, Reorganize: 2,
			Depth: 64, Period: 40 * time.Second,
			Repeat:    10,
			ChainDown: 1, Lag: 1, DiskFull: 1, SlowProofs: 1, Clock: 5, StoreDown: 1, StoreAway: 1, Pause: 1,
			Rival: 2, Competitor: 3, Withdraw: 5, Reads: true, Rot: true, Requests: 4, Slots: 3, BadContent: true,
			MaxSteps: 40_000,
		},
	}
}
