package doctor

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
)

// This file judges. Each function is pure.

// Limits of what is in order.
const (
	slowWrite = 10 << 20               // bytes per second
	slowSync  = 100 * time.Millisecond // every decision waits for one
	// lagBlocks is how many blocks an end point may be behind another one: they are not asked at the same moment.
	lagBlocks  = 3
	slowAnswer = time.Second
	// clockSlack is how far a block may be in the future, as nodes take it.
	clockSlack = 15 * time.Second
	// smallSlot is a slot that a machine should be able to hash within the shortest time until an expiry.
	smallSlot = 64 << 20
	gwei      = 1_000_000_000
)

func judgeHost(h host) []Finding {
	switch {
	case !h.Running:
		return okay("no host runs in this directory")
	case len(h.Obstacles) == 0:
		return okay("runs: %s", h.Reason)
	}
	var all []Finding
	for _, o := range h.Obstacles {
		f := Finding{Result: Warn, Found: o.Reason, Hint: o.Hint, Code: o.Code}
		if o.Proving == "no" {
			f.Result = Fail
		}
		all = append(all, f)
	}
	return all
}

func judgeFiles(all []file) (found []Finding) {
	for _, f := range all {
		chmod := "600"
		if f.Directory {
			chmod = "700"
		}
		hint := "nobody else may read it: chmod " + chmod + " " + f.Path
		switch {
		case f.Missing && f.Needed:
			found = append(found, Finding{
				Result: Fail, Found: f.Path + " of " + f.What + " does not exist", Hint: "make the file, or correct the setting",
				Code: "config-invalid",
			})
		case !f.Missing && f.Mode.Perm()&0o077 != 0:
			result, code := Fail, "config-invalid"
			if f.Directory && f.Mode.Perm()&0o022 == 0 { // What is secret in it has its own mode.
				result, code = Warn, ""
			}
			found = append(found, Finding{
				Result: result, Found: fmt.Sprintf("%s (%s) has mode %#o", f.Path, f.What, f.Mode.Perm()), Hint: hint, Code: code,
			})
		}
	}
	if len(found) == 0 {
		return okay("what is secret can be read by its owner only")
	}
	return found
}

func judgePorts(all []port) (found []Finding) {
	var good []string
	for _, p := range all {
		switch {
		case !p.Running && p.Error != "":
			found = append(found, Finding{
				Result: Fail, Found: fmt.Sprintf("%s = %s: %s", p.Setting, p.Address, p.Error), Code: "port-in-use",
				Hint: "stop the program that listens there, or set another address of this machine",
			})
		case p.Running && p.Error == "":
			found = append(found, Finding{
				Result: Warn, Found: fmt.Sprintf("%s = %s: the host that runs does not listen there", p.Setting, p.Address),
				Hint: "it was perhaps started with other settings; restart it",
			})
		default:
			good = append(good, p.Address)
		}
	}
	switch {
	case len(found) > 0:
		return found
	case len(good) == 0:
		return okay("none is needed")
	case all[0].Running:
		return okay("the host listens at %s", strings.Join(good, ", "))
	}
	return okay("free: %s", strings.Join(good, ", "))
}

func judgeSpace(s space) []Finding {
	found := fmt.Sprintf("%s free and %s used, quota %s", s.Free.Human(), s.Used.Human(), s.Quota.Human())
	switch {
	case s.Free < s.KeepFree:
		return []Finding{{
			Result: Fail, Found: fmt.Sprintf("%s; %s must stay free", found, s.KeepFree.Human()), Code: "disk-full",
			Hint: "make room: no slot is taken while less than storage.keepFree is free",
		}}
	case s.Quota > s.Used && s.Free-s.KeepFree < s.Quota-s.Used:
		return []Finding{{
			Result: Warn, Found: fmt.Sprintf("%s; %s must stay free", found, s.KeepFree.Human()), Code: "disk-too-small",
			Hint: fmt.Sprintf("lower quota to at most %s, or make room", (s.Used + s.Free - s.KeepFree).Human()),
		}}
	}
	return okay("%s", found)
}

func judgeDisk(d disk) []Finding {
	if d.Size == 0 {
		return []Finding{{
			Result: Warn, Found: "not measured: less than twice the test file of " + events.Bytes(testFile).Human() + " is free",
			Hint: "make room",
		}}
	}
	f := Finding{Result: OK, Found: fmt.Sprintf("writes %s/s and reads %s/s; a small write is safe after %s",
		rate(d.Size, d.Wrote), rate(d.Size, d.Read), rounded(d.Sync))}
	switch {
	case d.Sync > slowSync:
		f.Result, f.Hint = Warn, "each decision waits for such a write: put the data directory on a disk of its own, not "+
			"on a network"
	case perSecond(d.Size, d.Wrote) < slowWrite, perSecond(d.Size, d.Read) < d.Scrub:
		f.Result, f.Hint = Warn, "downloads and the scrub are as slow: use a faster disk, or offer small slots only"
	}
	return []Finding{f}
}

func judgeHashing(h hashing) []Finding {
	found := fmt.Sprintf("Poseidon2 %s/s, SHA-256 %s/s", rate(h.Size, h.Poseidon), rate(h.Size, h.SHA256))
	speed := perSecond(h.Size, h.Poseidon)
	f := Finding{Result: OK, Found: found, Hint: "run on a faster processor, or lower storage.scrubBytesPerSecond"}
	if h.Within > 0 {
		most := events.Bytes(float64(speed) * h.Within.Seconds())
		f.Found += fmt.Sprintf("; a slot of %s takes %s, the shortest time for a sale", most.Human(), h.Within)
		if most < smallSlot {
			f.Result, f.Hint = Warn, "run on a faster processor, or raise sales.minFill"
		}
	}
	if speed < 2*h.Scrub {
		f.Result = Warn
	}
	if f.Result == OK {
		f.Hint = ""
	}
	return []Finding{f}
}

func judgeEndpoints(r reach) (found []Finding) {
	if r.Closed {
		return okay("not asked: the development chain in this directory runs only while its host does")
	}
	first := r.first()
	for _, p := range r.Endpoints {
		behind := r.newest().Number - min(p.Head.Number, r.newest().Number)
		f := Finding{Result: OK, Found: fmt.Sprintf("%s: chain %d, block %d, %d s old, answers in %s", p.Name, p.ID.ChainID,
			p.Head.Number, int64(r.At.Sub(p.Head.Time)/time.Second), rounded(p.Latency))}
		switch {
		case p.Err != nil:
			f = failed(p.Err)
			if f.Found = p.Name + ": " + f.Found; first != nil {
				f.Result = Warn // The host uses the others.
			}
		case p.ID != first.ID:
			f.Result, f.Code = Fail, "chain-other"
			f.Found = fmt.Sprintf("%s is on %s, and %s on %s", p.Name, p.ID, first.Name, first.ID)
			f.Hint = "correct the one that is wrong in chain.endpoint and chain.fallbacks"
		case behind > lagBlocks:
			f.Result, f.Found = Warn, fmt.Sprintf("%s; it lags %d blocks behind", f.Found, behind)
			f.Hint = "wait until the node has caught up, or put another end point before it"
		case p.Latency > slowAnswer:
			f.Result, f.Hint = Warn, "proofs may come too late: use a node nearby"
		}
		found = append(found, f)
	}
	return found
}

func judgeMarket(m market) []Finding {
	return okay("a proof period of %s, a block every %s", m.Terms.Proofs.Period, m.BlockTime)
}

func judgeClock(c clock) []Finding {
	late := max(time.Duration(c.Silent)*c.Block, clockSlack)
	f := Finding{Result: OK, Found: fmt.Sprintf("the newest block is %s old", rounded(c.Ahead))}
	switch {
	case c.Development:
		return okay("not compared: a development chain has a time of its own")
	case c.Ahead < -clockSlack:
		f.Result, f.Found = Warn, fmt.Sprintf("this machine's clock is %s behind the newest block", rounded(-c.Ahead))
		f.Hint = "have the clock set by NTP: timedatectl set-ntp true"
	case c.Ahead > late:
		f.Result, f.Hint = Warn, "either this machine's clock is ahead, or no end point has new blocks: compare the clock "+
			"(timedatectl), then the end points with another source"
	case c.Ahead < 0:
		f.Found = fmt.Sprintf("within %s of the newest block", clockSlack)
	}
	if f.Result == Warn && c.Ahead.Abs() > time.Hour { // Certificates and tokens are no longer judged rightly.
		f.Result = Fail
	}
	return []Finding{f}
}

func judgeFees(f fees) []Finding {
	price := new(big.Int).Add(f.Base, f.Tip)
	limit := new(big.Int).Mul(new(big.Int).SetUint64(f.MaxFeeGwei), big.NewInt(gwei))
	found := Finding{Result: OK, Found: fmt.Sprintf("base fee %s and tip %s gwei, limit %d gwei", inGwei(f.Base),
		inGwei(f.Tip), f.MaxFeeGwei)}
	switch {
	case price.Cmp(limit) > 0:
		found.Result, found.Code = Fail, "fee-limit"
		found.Hint = "nothing is mined at that price: raise fees.maxFeeGwei, or wait"
	case new(big.Int).Lsh(price, 1).Cmp(limit) > 0:
		found.Result, found.Code = Warn, "fee-limit"
		found.Hint = "it may double within minutes, and then proofs are not mined: raise fees.maxFeeGwei"
	case f.Tip.Cmp(new(big.Int).Mul(new(big.Int).SetUint64(f.MaxTipGwei), big.NewInt(gwei))) > 0:
		found.Result = Warn
		found.Hint = fmt.Sprintf("the node wants a higher tip than fees.maxTipGwei = %d: the first offer waits; raise it",
			f.MaxTipGwei)
	}
	return []Finding{found}
}

func judgeAccount(a account) []Finding {
	if a.Address.Zero() {
		return okay("none yet: the first start makes one for the development chain")
	}
	return okay("%s, signed for by %s", a.Address, a.By)
}

func judgeBalance(b balance) []Finding {
	gas := Finding{Result: OK, Found: fmt.Sprintf("%s wei for gas; a sale costs %s wei, a proof %s wei", b.Wei, b.SaleWei,
		b.ProofWei)}
	switch {
	case b.Wei.Less(b.SaleWei.AddSaturating(b.ProofWei)):
		gas.Result, gas.Code, gas.Hint = Fail, "no-gas", "send coins for gas to the account"
	case b.Wei.Less(node.LeastWei()):
		gas.Result, gas.Code = Warn, "gas-low"
		gas.Hint = fmt.Sprintf("no slot is taken with less than %s wei: send coins for gas to the account", node.LeastWei())
	}
	tokens := Finding{Result: OK, Found: fmt.Sprintf("%s base units for collateral", b.Tokens)}
	switch {
	case b.Tokens.IsZero():
		tokens.Result, tokens.Code, tokens.Hint = Warn, "no-tokens", "send tokens for collateral to the account"
	case b.Offers > 0 && b.Tokens.Less(b.Collateral):
		tokens.Result, tokens.Code = Warn, "no-tokens"
		tokens.Hint = fmt.Sprintf("what is on offer may put %s base units more at stake: send tokens to the account, or "+
			"lower the collateral of availabilities", b.Collateral)
	}
	return []Finding{gas, tokens}
}

func judgeKeys(k provingKeys) []Finding {
	switch {
	case k.Missing && k.Wanted == "":
		return okay("none yet: the first start makes development keys, which takes up to a minute")
	case k.Missing:
		return []Finding{{
			Result: Warn, Found: fmt.Sprintf("none yet; the contract wants %.16s…", k.Wanted), Code: "proving-keys-missing",
			Hint: "put those of the contract's verifier into prover.keysDir; keys that the first start makes will not fit",
		}}
	case k.Wanted == "":
		return okay("%.16s…, sound; not compared, because the contract was not read", k.Have)
	case k.Wanted != k.Have:
		return []Finding{failed(fmt.Errorf("%w: the contract wants %s, the prover has %s", actors.ErrWrongKeys, k.Wanted,
			k.Have))}
	}
	return okay("%.16s…, as the contract wants them", k.Have)
}

func judgeProof(p proving) []Finding {
	if p.Skipped != "" {
		return okay("not measured: %s", p.Skipped)
	}
	f := Finding{Result: OK, Found: fmt.Sprintf("%s for %d samples", rounded(p.Took), p.Samples)}
	if p.Period == 0 {
		f.Found += "; not compared, because the contract was not read"
		return []Finding{f}
	}
	slots := int64(p.Period) * int64(p.Load) / 100 / max(1, int64(p.Took))
	f.Found += fmt.Sprintf(", in a period of %s: %d slots if each owes a proof", p.Period, slots)
	switch {
	case p.Took > p.Period-p.Margin:
		f.Result, f.Code = Fail, "proof-capacity"
		f.Hint = fmt.Sprintf("a proof must be ready %s before its period ends (sales.proofBlocks): use a faster processor",
			p.Margin)
	case slots < int64(p.Workers):
		f.Result, f.Code = Warn, "proof-capacity"
		f.Hint = fmt.Sprintf("fewer than the %d slots that are taken at once (sales.maxWorkers): offer less, or use a "+
			"faster processor", p.Workers)
	}
	return []Finding{f}
}

func judgeRecord(r record) []Finding {
	if r.Away != "" {
		return []Finding{{
			Result: Fail, Found: r.Name + ": " + r.Away, Code: "record-away", Hint: "hostnode status says what the host does meanwhile",
		}}
	}
	return okay("%s: %s", r.Name, r.How)
}

func judgeProjections(p projections) []Finding {
	f := Finding{Result: OK, Found: fmt.Sprintf("%d of %d run on the server", p.Running, p.All)}
	switch {
	case p.None:
		return okay("the server runs none; the host's own views are built in")
	case p.Faulted != "":
		f.Result, f.Found, f.Code = Warn, f.Found+"; faulted: "+p.Faulted, "projection-faulted"
		f.Hint = "only the server's own tools need them: hostnode projections install"
	}
	return []Finding{f}
}

func judgeEtcd(e etcd) []Finding {
	if !e.Healthy {
		return []Finding{{
			Result: Warn, Found: e.Name + ": not healthy: " + e.Said,
			Hint: "without a majority of etcd's nodes no other member takes over: look at etcd's log",
		}}
	}
	return okay("%s: healthy, answers in %s", e.Name, rounded(e.Latency))
}

// perSecond is a speed.
func perSecond(size events.Bytes, took time.Duration) events.Bytes {
	return events.Bytes(float64(size) / max(took, time.Microsecond).Seconds())
}

func rate(size events.Bytes, took time.Duration) string { return perSecond(size, took).Human() }

// rounded is a duration as people read it.
func rounded(d time.Duration) time.Duration {
	if d.Abs() < time.Second {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(10 * time.Millisecond)
}

func inGwei(wei *big.Int) string {
	text := new(big.Rat).SetFrac(wei, big.NewInt(gwei)).FloatString(2)
	return strings.TrimSuffix(text, ".00")
}
