package doctor

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/serverviews"
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
	// clockSlack is how far a block may be in the future, as nodes take it. Beyond clockWrong, certificates and tokens
	// are judged wrongly.
	clockSlack = 15 * time.Second
	clockWrong = time.Hour
	// smallSlot is a slot that a machine should be able to hash within the shortest time for a sale.
	smallSlot = 64 << 20
	gwei      = 1_000_000_000
)

// found is a finding about what is in order.
func found(format string, args ...any) Finding {
	return Finding{Result: OK, Found: fmt.Sprintf(format, args...)}
}

// but is the finding with another result. An empty code: there is none.
func (f Finding) but(r Result, code, hint string) Finding {
	f.Result, f.Code, f.Hint = r, code, hint
	return f
}

// failed is the finding of an error, with the words of docs/errors.md.
func failed(err error) Finding {
	p := rows.All().Explain(err)
	return Finding{Result: Fail, Found: p.Detail, Hint: p.Hint, Code: p.Code}
}

func judgeHost(h host) (all []Finding) {
	switch {
	case !h.Running:
		return []Finding{found("no host runs in this directory")}
	case len(h.Obstacles) == 0:
		return []Finding{found("runs: %s", h.Reason)}
	}
	for _, o := range h.Obstacles {
		result := Warn
		if o.Proving == "no" {
			result = Fail
		}
		all = append(all, found("%s", o.Reason).but(result, o.Code, o.Hint))
	}
	return all
}

func judgeFiles(f files) (all []Finding) {
	for _, err := range f.Wrong {
		all = append(all, failed(err))
	}
	if mode := f.Directory.Perm(); mode&0o077 != 0 {
		open := found("%s has mode %#o", f.Root, mode)
		hint := "nobody else needs to look into it: chmod 700 " + f.Root
		if mode&0o022 != 0 { // Others can replace what is in it.
			all = append(all, open.but(Fail, "", hint))
		} else {
			all = append(all, open.but(Warn, "", hint))
		}
	}
	if len(all) == 0 {
		return []Finding{found("what is secret can be read by its owner only")}
	}
	return all
}

func judgePorts(ports []port) (all []Finding) {
	for _, p := range ports {
		f := found("%s = %s", p.Setting, p.Address)
		switch {
		case !p.Running && p.Error != "":
			f.Found = fmt.Sprintf("%s: %s", f.Found, p.Error)
			f = f.but(Fail, "port-in-use", "stop what listens there, or set another address of this machine")
		case p.Running && p.Error == "":
			f.Found += ": the host that runs does not listen there"
			f = f.but(Warn, "", "it was perhaps started with other settings; restart it")
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return []Finding{found("none is needed")}
	}
	return all
}

func judgeSpace(s space) Finding {
	f := found("%s free and %s used, quota %s", s.Free.Human(), s.Used.Human(), s.Quota.Human())
	switch {
	case s.Free < s.KeepFree:
		return f.but(Fail, "disk-full", fmt.Sprintf("make room: no slot is taken while less than storage.keepFree "+
			"(%s) is free", s.KeepFree.Human()))
	case s.Quota > s.Used && s.Free-s.KeepFree < s.Quota-s.Used:
		return f.but(Warn, "disk-too-small", fmt.Sprintf("make room, or lower quota to %s: %s stay free",
			(s.Used+s.Free-s.KeepFree).Human(), s.KeepFree.Human()))
	}
	return f
}

func judgeDisk(d disk) Finding {
	if d.Size == 0 {
		return found("not measured: the test file needs twice %s", events.Bytes(testFile).Human()).
			but(Warn, "disk-full", "make room")
	}
	f := found("writes %s/s and reads %s/s; a small write is safe after %s", rate(d.Size, d.Wrote).Human(),
		rate(d.Size, d.Read).Human(), rounded(d.Sync))
	switch {
	case d.Sync > slowSync:
		return f.but(Warn, "", "each decision waits for such a write: put the data directory on a local disk")
	case rate(d.Size, d.Wrote) < slowWrite, rate(d.Size, d.Read) < d.Scrub:
		return f.but(Warn, "", "downloads and the scrub are as slow: use a faster disk, or offer small slots only")
	}
	return f
}

func judgeHashing(h hashing) Finding {
	speed := rate(h.Size, h.Poseidon)
	f := found("Poseidon2 %s/s, SHA-256 %s/s", speed.Human(), rate(h.Size, h.SHA256).Human())
	most := events.Bytes(float64(speed) * h.Within.Seconds())
	if h.Within > 0 {
		f.Found += fmt.Sprintf("; a slot of %s within %s, the shortest time for a sale", most.Human(), h.Within)
	}
	switch {
	case h.Within > 0 && most < smallSlot:
		return f.but(Warn, "", "use a faster processor, or raise sales.minFill")
	case speed < 2*h.Scrub:
		return f.but(Warn, "", "use a faster processor, or lower storage.scrubBytesPerSecond")
	}
	return f
}

func judgeEndpoints(r reach) (all []Finding) {
	if r.Closed {
		return []Finding{found("not asked: the development chain in this directory runs only while its host does")}
	}
	first, newest := r.first(), r.newest()
	for _, p := range r.Endpoints {
		f := found("%s: chain %d, block %d of %s, answers in %s", p.Name, p.ID.ChainID, p.Head.Number,
			p.Head.Time.UTC().Format(time.TimeOnly), rounded(p.Latency))
		switch {
		case p.Err != nil:
			f = failed(p.Err)
			if f.Found = p.Name + ": " + f.Found; first != nil {
				f.Result = Warn // The host uses the others.
			}
		case p.ID != first.ID:
			f.Found = fmt.Sprintf("%s is on %s, and %s on %s", p.Name, p.ID, first.Name, first.ID)
			f = f.but(Fail, "chain-other", "correct the one that is wrong in chain.endpoint and chain.fallbacks")
		case p.Head.Number+lagBlocks < newest.Number:
			f.Found += fmt.Sprintf("; it lags %d blocks behind", newest.Number-p.Head.Number)
			f = f.but(Warn, "", "wait until that node has caught up, or put another one before it")
		case p.Latency > slowAnswer:
			f = f.but(Warn, "", "proofs may come too late: use a node nearby")
		}
		all = append(all, f)
	}
	return all
}

func judgeMarket(m market) Finding {
	return found("a proof period of %s, a block every %s", m.Terms.Proofs.Period, m.BlockTime)
}

func judgeClock(c clock) Finding {
	result := Warn
	if c.Ahead.Abs() > clockWrong {
		result = Fail
	}
	switch {
	case c.Development:
		return found("not compared: a development chain has a time of its own")
	case c.Ahead < -clockSlack:
		return found("this machine's clock is %s behind the newest block", rounded(-c.Ahead)).
			but(result, "", "have the clock set by NTP: timedatectl set-ntp true")
	case c.Ahead > max(time.Duration(c.Silent)*c.Block, clockSlack):
		return found("by this machine's clock the newest block is %s old", rounded(c.Ahead)).
			but(result, "", "either the clock is ahead (timedatectl shows it), or no end point has new blocks")
	}
	return found("the newest block is %s old", rounded(max(0, c.Ahead)))
}

func judgeFees(f fees) Finding {
	price, limit := new(big.Int).Add(f.Base, f.Tip), inWei(f.MaxFeeGwei)
	said := found("base fee %s gwei and tip %s gwei, limit %d gwei", inGwei(f.Base), inGwei(f.Tip), f.MaxFeeGwei)
	switch {
	case price.Cmp(limit) > 0:
		return said.but(Fail, "fee-limit", "nothing is mined at that price: raise fees.maxFeeGwei, or wait")
	case new(big.Int).Lsh(price, 1).Cmp(limit) > 0:
		return said.but(Warn, "fee-limit", "it may double within minutes, and no proof is mined: raise fees.maxFeeGwei")
	case f.Tip.Cmp(inWei(f.MaxTipGwei)) > 0:
		return said.but(Warn, "", fmt.Sprintf("a first offer waits with fees.maxTipGwei = %d: raise it", f.MaxTipGwei))
	}
	return said
}

func judgeAccount(a account) Finding {
	if a.Address.Zero() {
		return found("none yet: the first start makes one for the development chain")
	}
	return found("%s, signed for by %s", a.Address, a.By)
}

func judgeBalance(b balance) []Finding {
	gas := found("%s wei for gas; a sale costs %s wei, a proof %s wei", b.Wei, b.SaleWei, b.ProofWei)
	switch {
	case b.Wei.Less(b.SaleWei.AddSaturating(b.ProofWei)):
		gas = gas.but(Fail, "no-gas", "send coins for gas to the account")
	case b.Wei.Less(node.LeastWei()):
		gas = gas.but(Warn, "gas-low", fmt.Sprintf("no slot is taken with less than %s wei: send coins for gas to the "+
			"account", node.LeastWei()))
	}
	tokens := found("%s base units for collateral", b.Tokens)
	switch {
	case b.Tokens.IsZero():
		tokens = tokens.but(Warn, "no-tokens", "send tokens for collateral to the account")
	case b.Tokens.Less(b.Collateral):
		tokens = tokens.but(Warn, "no-tokens", fmt.Sprintf("what is on offer may put %s base units at stake: "+
			"send tokens to the account, or lower the collateral of availabilities", b.Collateral))
	}
	return []Finding{gas, tokens}
}

func judgeKeys(k provingKeys) Finding {
	switch {
	case k.Missing && k.Wanted == "":
		return found("none yet: the first start makes development keys, which takes up to a minute")
	case k.Missing:
		return found("none yet; the contract wants %.16s…", k.Wanted).but(Warn, "proving-keys-missing",
			"put those of the contract's verifier into prover.keysDir; keys that the first start makes do not fit")
	case k.Wanted == "":
		return found("%.16s…, sound; not compared, because the contract was not read", k.Have)
	case k.Wanted != k.Have:
		return failed(fmt.Errorf("%w: the contract wants %s, the prover has %s", actors.ErrWrongKeys, k.Wanted, k.Have))
	}
	return found("%.16s…, as the contract wants them", k.Have)
}

func judgeProof(p proving) Finding {
	f := found("%s with prover.samples = %d", rounded(p.Took), p.Samples)
	slots := uint64(p.Period) / 100 * p.Load / uint64(max(1, p.Took))
	switch {
	case p.Skipped != "":
		return found("not measured: %s", p.Skipped)
	case p.Period == 0:
		return f
	}
	f.Found += fmt.Sprintf("; in a period of %s for %d slots, if each owes a proof", p.Period, slots)
	switch {
	case p.Took+p.Margin > p.Period:
		return f.but(Fail, "proof-capacity", fmt.Sprintf("a proof must be ready %s before its period ends "+
			"(sales.proofBlocks): use a faster processor", p.Margin))
	case slots < p.Workers:
		return f.but(Warn, "proof-capacity", fmt.Sprintf("fewer than are sold at once (sales.maxWorkers = %d): "+
			"use a faster processor, or offer less", p.Workers))
	}
	return f
}

// judgeProjections is about those inside an EventStoreDB; none: it runs no projections.
func judgeProjections(all []serverviews.Row) []Finding {
	running, faulted := 0, []string{}
	for _, row := range all {
		switch {
		case row.Reason != "":
			faulted = append(faulted, row.Name)
		case row.Current:
			running++
		}
	}
	f := found("%d of %d run on the server", running, len(all))
	switch {
	case len(all) == 0:
		f = found("the server runs none; the host's own views are built in")
	case len(faulted) > 0:
		f.Found += "; faulted: " + strings.Join(faulted, ", ")
		f = f.but(Warn, "projection-faulted", "only the server's own tools need them: hostnode projections install")
	}
	return []Finding{f}
}

// rate is a speed, in bytes per second.
func rate(size events.Bytes, took time.Duration) events.Bytes {
	return events.Bytes(float64(size) / max(took, time.Microsecond).Seconds())
}

// rounded is a duration as people read it.
func rounded(d time.Duration) time.Duration {
	if d.Abs() < time.Second {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(10 * time.Millisecond)
}

func inWei(n uint64) *big.Int { return new(big.Int).Mul(new(big.Int).SetUint64(n), big.NewInt(gwei)) }

func inGwei(wei *big.Int) string {
	return strings.TrimSuffix(new(big.Rat).SetFrac(wei, big.NewInt(gwei)).FloatString(2), ".00")
}
