package doctor

import (
	"io/fs"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/serverviews"
	"github.com/hostnode/hostnode/events"
)

// judgement is a case: what was measured has been judged, and comes to results and codes, in their order.
type judgement struct {
	name string
	got  []Finding
	want string // "OK", or "WARN code; FAIL", ...
}

func TestWhatWasMeasuredIsJudged(t *testing.T) {
	for _, cases := range [][]judgement{machineCases(), chainCases(), moneyCases(), proofCases(), serviceCases()} {
		for _, c := range cases {
			var got []string
			for _, f := range c.got {
				got = append(got, strings.TrimSpace(string(f.Result)+" "+f.Code))
				if f.Found == "" || (f.Result == OK) != (f.Hint == "") {
					t.Errorf("%s: what is not OK has a hint, and only that: %+v", c.name, f)
				}
			}
			if all := strings.Join(got, "; "); all != c.want {
				t.Errorf("%s: got %q, want %q: %+v", c.name, all, c.want, c.got)
			}
		}
	}
}

func list(f Finding) []Finding { return []Finding{f} }

func machineCases() []judgement {
	unable := api.Obstacle{Code: "no-sources", Selling: "no", Proving: "yes", Reason: "none is set", Hint: "set one"}
	worse := api.Obstacle{Code: "chain-away", Selling: "no", Proving: "no", Reason: "it does not answer", Hint: "wait"}
	const gib = events.Bytes(1 << 30)
	return []judgement{
		{"no host", judgeHost(host{}), "OK"},
		{"a host that sells", judgeHost(host{Running: true, Reason: "selling"}), "OK"},
		{
			"a host that cannot", judgeHost(host{Running: true, Obstacles: []api.Obstacle{worse, unable}}),
			"FAIL chain-away; WARN no-sources",
		},

		{"no directory", judgeFiles(files{}), "OK"},
		{"a private directory", judgeFiles(files{Directory: fs.ModeDir | 0o700}), "OK"},
		{"one that others can read", judgeFiles(files{Directory: fs.ModeDir | 0o750}), "WARN"},
		{"one that others can write", judgeFiles(files{Directory: fs.ModeDir | 0o770}), "FAIL"},
		{"a token for all", judgeFiles(files{Wrong: []error{config.ErrInvalid}}), "FAIL config-invalid"},

		{"no ports", judgePorts(nil), "OK"},
		{"a free one", judgePorts([]port{{Setting: "api.listen", Address: "127.0.0.1:1"}}), "OK"},
		{"a taken one", judgePorts([]port{{Error: "in use"}}), "FAIL port-in-use"},
		{"the host's own", judgePorts([]port{{Running: true, Error: "in use"}}), "OK"},
		{"none of the host", judgePorts([]port{{Running: true}}), "WARN"},

		{"room", list(judgeSpace(space{Free: 30 * gib, Quota: 20 * gib, KeepFree: gib})), "OK"},
		{"just room", list(judgeSpace(space{Free: 11 * gib, Used: 10 * gib, Quota: 20 * gib, KeepFree: gib})), "OK"},
		{
			"a byte too little", list(judgeSpace(space{Free: 11*gib - 1, Used: 10 * gib, Quota: 20 * gib, KeepFree: gib})),
			"WARN disk-too-small",
		},
		{"more used than the quota", list(judgeSpace(space{Free: gib, Used: 30 * gib, Quota: 20 * gib, KeepFree: gib})), "OK"},
		{"a full disk", list(judgeSpace(space{Free: gib - 1, Quota: 20 * gib, KeepFree: gib})), "FAIL disk-full"},

		{"a fast disk", list(judgeDisk(disk{Size: testFile, Wrote: time.Second, Read: time.Second, Sync: slowSync})), "OK"},
		{"a slow sync", list(judgeDisk(disk{Size: testFile, Wrote: 1, Read: 1, Sync: slowSync + 1})), "WARN"},
		{"slow writes", list(judgeDisk(disk{Size: testFile, Wrote: 7 * time.Second, Read: 1})), "WARN"},
		{
			"reads slower than the scrub", list(judgeDisk(disk{Size: testFile, Wrote: 1, Read: time.Second, Scrub: testFile + 1})),
			"WARN",
		},
		{"no room for the file", list(judgeDisk(disk{})), "WARN disk-full"},

		{"hashes fast enough", list(judgeHashing(hashing{Size: 1 << 22, Poseidon: time.Second, Within: time.Minute})), "OK"},
		{"period not known", list(judgeHashing(hashing{Size: 1 << 22, Poseidon: time.Second})), "OK"},
		{"too slow for a slot", list(judgeHashing(hashing{Size: 1 << 22, Poseidon: time.Second, Within: time.Second})), "WARN"},
		{"too slow for the scrub", list(judgeHashing(hashing{Size: 1 << 22, Poseidon: time.Second, Scrub: 1<<21 + 1})), "WARN"},
	}
}

func chainCases() []judgement {
	at := time.Unix(1_800_000_000, 0)
	id := rpc.Identity{ChainID: 1}
	says := func(number uint64) endpoint {
		return endpoint{Name: "a node", ID: id, Head: events.Head{Number: number, Time: at}}
	}
	away, other, slow := endpoint{Err: rpc.ErrUnavailable}, says(100), says(100)
	other.ID.ChainID, slow.Latency = 2, slowAnswer+1
	asked := func(all ...endpoint) []Finding { return judgeEndpoints(reach{Endpoints: all, At: at}) }
	age := func(d time.Duration) []Finding {
		return list(judgeClock(clock{Ahead: d, Block: 12 * time.Second, Silent: 5}))
	}
	return []judgement{
		{"a closed chain", judgeEndpoints(reach{Closed: true}), "OK"},
		{"one that answers", asked(says(100)), "OK"},
		{"a little behind", asked(says(97), says(100)), "OK; OK"},
		{"one that lags", asked(says(96), says(100)), "WARN; OK"},
		{"none answers", asked(away, away), "FAIL chain-unavailable; FAIL chain-unavailable"},
		{"one does not answer", asked(away, says(100)), "WARN chain-unavailable; OK"},
		{"another chain", asked(says(100), other), "OK; FAIL chain-other"},
		{"another chain is no newer block", asked(says(5), other), "OK; FAIL chain-other"},
		{"a slow one", asked(slow), "WARN"},

		{"a new block", age(3 * time.Second), "OK"},
		{"a block from the near future", age(-clockSlack), "OK"},
		{"the clock is a minute behind", age(-time.Minute), "WARN"},
		{"an old block", age(time.Minute), "OK"},
		{"the clock is two minutes ahead", age(2 * time.Minute), "WARN"},
		{"a day ahead", age(24 * time.Hour), "FAIL"},
		{"a day behind", age(-24 * time.Hour), "FAIL"},
		{"blocks every second", list(judgeClock(clock{Ahead: time.Minute, Block: time.Second, Silent: 5})), "WARN"},
		{"a development chain", list(judgeClock(clock{Ahead: time.Hour, Development: true})), "OK"},
		{"the terms", list(judgeMarket(market{})), "OK"},
	}
}

func moneyCases() []judgement {
	cost := func(base, tip int64) []Finding {
		return list(judgeFees(fees{Base: big.NewInt(base * gwei), Tip: big.NewInt(tip * gwei), MaxFeeGwei: 100, MaxTipGwei: 20}))
	}
	has := func(wei, tokens, offered uint64) []Finding {
		b := balance{Collateral: events.NewAmount(offered)}
		b.Wei, b.Tokens = node.LeastWei().Add(events.NewAmount(1)), events.NewAmount(tokens)
		b.SaleWei, b.ProofWei = events.NewAmount(2), events.NewAmount(1)
		if wei > 0 {
			b.Wei = events.NewAmount(wei)
		}
		return judgeBalance(b)
	}
	return []judgement{
		{"cheap", cost(10, 1), "OK"},
		{"half of the limit", cost(49, 1), "OK"},
		{"may double", cost(50, 1), "WARN fee-limit"},
		{"above the limit", cost(100, 1), "FAIL fee-limit"},
		{"a high tip", cost(1, 21), "WARN"},

		{"no account", list(judgeAccount(account{})), "OK"},
		{"an account", list(judgeAccount(account{events.Address{1}, "a file"})), "OK"},
		{"rich", has(0, 10, 10), "OK; OK"},
		{"cannot pay a sale", has(2, 10, 0), "FAIL no-gas; OK"},
		{"less than is kept", has(3, 10, 0), "WARN gas-low; OK"},
		{"no tokens", has(0, 0, 0), "OK; WARN no-tokens"},
		{"fewer than on offer", has(0, 9, 10), "OK; WARN no-tokens"},
	}
}

func proofCases() []judgement {
	proof := func(took time.Duration) []Finding {
		return list(judgeProof(proving{
			Took: took, Period: 100 * time.Second, Margin: 10 * time.Second, Load: 60, Workers: 3,
		}))
	}
	return []judgement{
		{"no keys yet", list(judgeKeys(provingKeys{Missing: true})), "OK"},
		{"no keys for a contract", list(judgeKeys(provingKeys{Missing: true, Wanted: "a"})), "WARN proving-keys-missing"},
		{"keys alone", list(judgeKeys(provingKeys{Have: "a"})), "OK"},
		{"the contract's", list(judgeKeys(provingKeys{Have: "a", Wanted: "a"})), "OK"},
		{"others", list(judgeKeys(provingKeys{Have: "a", Wanted: "b"})), "FAIL proving-keys-wrong"},

		{"not made", list(judgeProof(proving{Skipped: "no memory"})), "OK"},
		{"without a period", list(judgeProof(proving{Took: time.Hour})), "OK"},
		{"for three slots", proof(20 * time.Second), "OK"},
		{"for two", proof(21 * time.Second), "WARN proof-capacity"},
		{"too late", proof(91 * time.Second), "FAIL proof-capacity"},
	}
}

func serviceCases() []judgement {
	return []judgement{
		{"projections", judgeProjections([]serverviews.Row{{Name: "sales", Current: true}, {Name: "slots"}}), "OK"},
		{"none", judgeProjections(nil), "OK"},
		{
			"one that faulted", judgeProjections([]serverviews.Row{{Name: "sales", Current: true, Reason: "it threw"}}),
			"WARN projection-faulted",
		},
	}
}
