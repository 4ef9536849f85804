package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
)

// cause is a row of the table of causes: its effect on selling and proving, and how to
// recognise it.
type cause struct {
	code             string
	scope            scope
	selling, proving Answer
	alert            AlertKind
	// look says what is wrong and what to do; empty: the cause is absent.
	look func(Facts) (reason, hint string)
}

// scope says what a cause keeps from selling in a host of several members.
type scope uint8

const (
	// ofHost: all members. ofMember: the member that has it, and no other. ofOwner: all if it is the owner, who
	// takes the slots and sends the transactions; another one does not know of the owner then.
	ofHost scope = iota
	ofMember
	ofOwner
)

// ofAll reports whether a cause of this scope keeps all members from selling.
func (s scope) ofAll(m MembersFacts) bool { return s == ofHost || s == ofOwner && m.Owner == m.Member }

// of is the cause as the facts show it; false: it is absent.
func (row cause) of(f Facts) (Cause, bool) {
	reason, hint := row.look(f)
	return Cause{row.code, row.selling, row.proving, row.alert, reason, hint}, reason != ""
}

// causes is the table, in the order in which causes must be removed. A new one needs its cells
// in TestEveryCauseHasItsWords, and a line in docs/alerts.md if it raises an alert.
var causes = []cause{
	{"not-running", ofMember, No, No, "", notRunning},
	{"never-run", ofMember, No, Yes, "", neverRun},
	{"not-answering", ofOwner, NotKnown, NotKnown, "", notAnswering},
	{"stopping", ofOwner, No, No, "", stopping},
	{"chain-away", ofOwner, No, No, AlertChain, chainAway},
	{"chain-silent", ofOwner, No, No, AlertChain, chainSilent},
	{"record-away", ofOwner, No, Yes, AlertRecord, recordAway},
	{"starting", ofOwner, No, No, "", startingUp}, // What the start waits for comes first.
	{"no-owner", ofHost, No, No, AlertNoOwner, noOwner},
	{"owner-silent", ofHost, NotKnown, NotKnown, AlertNoOwner, ownerSilent},
	{"scheduler-down", ofMember, No, No, AlertPartDown, down(PartScheduler)}, // Nobody knows which proofs are due.
	{"part-down", ofOwner, No, Yes, AlertPartDown, down("")},                 // Hosted slots are proven.
	{"sectors-down", ofMember, Yes, No, AlertPartDown, down(PartSectors)},    // Slots have nothing to do with it.
	{"no-sealer", ofMember, Yes, No, "", noSealer},
	{"not-signing", ofHost, No, No, AlertSigner, notSigning},
	{"fee-limit", ofOwner, No, No, AlertFeeLimit, feeLimit},
	{"no-gas", ofHost, No, No, AlertFunds, noGas},
	{"sale-quarantined", ofMember, Yes, No, AlertQuarantined, salesQuarantined},
	{"disk-away", ofMember, No, No, AlertDiskAway, diskAway},
	{"sectors-disk-away", ofMember, Yes, No, AlertDiskAway, sectorsDiskAway},
	{"proofs-fail", ofMember, Yes, No, "", proofsFail},
	{"sectors-stuck", ofMember, Yes, No, AlertSector, sectorsStuck},
	{"disk-full", ofMember, No, Yes, AlertDisk, diskFull},
	{"chain-behind", ofOwner, No, Yes, "", chainBehind},
	{"views-stopped", ofHost, NotKnown, Yes, AlertViews, viewsStopped},
	{"paused", ofHost, No, Yes, "", paused},
	{"quota-too-small", ofMember, No, Yes, AlertQuota, quotaTooSmall},
	{"nothing-offered", ofHost, No, Yes, "", nothingOffered},
	{"offers-disabled", ofHost, No, Yes, "", offersDisabled},
	{"offers-over", ofHost, No, Yes, "", offersOver},
	{"offers-sold", ofHost, No, Yes, "", offersSold},
	{"collateral-committed", ofHost, No, Yes, "", collateralCommitted},
	{"offers-unable", ofHost, No, Yes, "", offersUnable},
	{"no-overhead", ofMember, No, Yes, "", noOverhead},
	{"no-sources", ofMember, No, Yes, "", noSources},
	{"sources-away", ofMember, No, Yes, "", sourcesAway},
	{"collateral-at-risk", ofHost, No, Yes, "", collateralAtRisk},
	{"gas-low", ofHost, No, Yes, AlertFunds, gasLow},
	{"no-tokens", ofHost, No, Yes, "", noTokens},
	{"proof-capacity", ofMember, No, Yes, "", proofCapacity},
	{"periods-too-short", ofHost, No, Yes, "", periodsTooShort},
}

// warnings is the same for what is no cause.
var warnings = []cause{
	{"member-silent", ofHost, Yes, Yes, AlertMember, membersSilent},
	{"few-may-own", ofHost, Yes, Yes, "", fewMayOwn},
	{"certificate-ends", ofHost, Yes, Yes, AlertCertificate, certificateEnds},
	{"lease-away", ofHost, Yes, Yes, "", leaseAway},
	{"validating-stopped", ofHost, Yes, Yes, "", validatingStopped},
	{"offers-refused", ofHost, Yes, Yes, "", offersRefused},
	{"none-fits", ofHost, Yes, Yes, "", noneFits},
	{"token-cannot-price", ofHost, Yes, Yes, "", tokenCannotPrice},
}

// SinceFormat is the format of times in sentences.
const SinceFormat = "2006-01-02 15:04:05Z"

// since says when something began, if that is known.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " since " + t.UTC().Format(SinceFormat)
}

// when is what a cause says if it is there.
func when(so bool, reason, hint string) (string, string) {
	if !so {
		return "", ""
	}
	return reason, hint
}

// command is what to type, for the host that the facts are about.
func (f Facts) command(words string) string {
	if f.Typed == (Typed{}) && f.DataDir != "" {
		f.Typed.After = " --data-dir " + f.DataDir
	}
	return f.Typed.Command(words)
}

// Typed is what a person types around the words of a command, so that it means a host: sudo -u of the host's user, and
// a flag that names the file of its settings or its directory. Start is what starts the host, if that is not "run".
type Typed struct{ Before, After, Start string }

// Command is a whole command.
func (t Typed) Command(words string) string {
	if words == "run" && t.Start != "" {
		return t.Start
	}
	return t.Before + "hostnode " + words + t.After
}

func notRunning(f Facts) (reason, hint string) {
	return when(f.Stage == NotRunning,
		"no host is running in "+f.DataDir, "start it: "+f.command("run"))
}

func neverRun(f Facts) (reason, hint string) {
	return when(f.Stage == NeverRun,
		"no host has ever run in "+f.DataDir, "start one: "+f.command("run"))
}

func notAnswering(f Facts) (reason, hint string) {
	if f.Stage != Silent {
		return "", ""
	}
	who, id := "a process", "PID"
	if f.Process != 0 {
		id = fmt.Sprint(f.Process)
		who = "process " + id
	}
	if f.Listens { // A host that starts or stops answers as well.
		return fmt.Sprintf("%s has %s%s and is slow to answer", who, f.DataDir, since(f.StageSince)),
			"the machine may be overloaded: ask again. When it stays so, the process may be stopped (SIGSTOP, " +
				"a debugger): kill -CONT " + id + " lets it go on"
	}
	return fmt.Sprintf("%s has %s%s and does not answer", who, f.DataDir, since(f.StageSince)),
		"it may be starting or stopping: try again in a moment. When it stays so, it may be stopped (SIGSTOP, " +
			"a debugger), or " +
			"the machine overloaded: look at the host's log; kill -CONT " + id + " lets a stopped process go on"
}

func startingUp(f Facts) (reason, hint string) {
	reason = "the host is starting" + since(f.StageSince)
	if f.WaitsFor != "" {
		reason += ": " + f.WaitsFor
	}
	provenMeanwhile := f.Record.Away && f.Outage.Proves // Then recordAway says everything.
	return when(f.Stage == Starting && !provenMeanwhile,
		reason, "wait: it goes on by itself; when it stays so, look at the host's log")
}

func stopping(f Facts) (reason, hint string) {
	return when(f.Stage == Stopping, "the host is stopping"+since(f.StageSince),
		"start it again when it has stopped: "+f.command("run"))
}

func chainAway(f Facts) (reason, hint string) {
	if f.Chain.Away && f.Chain.Limited {
		return "the Ethereum node limits our requests" + since(f.Chain.AwaySince) + ": " + f.Chain.AwayReason,
			"work goes on by itself when it answers again, and what is due may be late: use a node of your own, or " +
				"one that allows more, as chain.endpoint, or name further ones in chain.fallbacks"
	}
	return when(f.Chain.Away,
		"the chain does not answer"+since(f.Chain.AwaySince)+": "+f.Chain.AwayReason,
		"check the Ethereum node and the network; work goes on by itself when a node answers")
}

// chainSilent applies only if the chain answers: otherwise chainAway is the cause.
func chainSilent(f Facts) (reason, hint string) {
	reason = "no block has come" + since(f.Chain.SilentSince)
	if head := f.Chain.Head; !head.Time.IsZero() {
		reason += fmt.Sprintf("; the newest is %d of %s", head.Number, head.Time.UTC().Format(SinceFormat))
	}
	return when(!f.Chain.SilentSince.IsZero() && !f.Chain.Away, reason,
		"no proof can be handed in: check the Ethereum node at "+cmp.Or(f.Endpoint, "its endpoint")+
			" (chain.endpoint), or name others in chain.fallbacks")
}

func recordAway(f Facts) (reason, hint string) {
	if !f.Record.Away {
		return "", ""
	}
	reason = fmt.Sprintf("the event store does not answer%s: %s", since(f.Record.Since), f.Record.Reason)
	hint = "check the event store's server and network, or the disk; work goes on by itself when the store is back"
	if f.Record.WentBack {
		hint = "bring the right event store back, and work goes on by itself; to go on with the older one, stop the " +
			"host and start it again: it finds on the chain what it can, names what is lost, and sells again " +
			"when you say so"
	}
	if f.Record.Damaged {
		hint = "check the disk; the event store does not repair itself: stop the host, then restore a backup, " +
			"or see with " +
			"`hostnode repair` what would be lost without one. Until then proofs go out as long as its process lives"
	}
	if f.Stage == Running {
		reason += "; proofs that are due are still sent"
	}
	if f.Stage == Running && !f.Record.Damaged {
		hint += ". Let the host run: proofs go out as long as its process lives"
	}
	if f.Stage == Starting {
		reason += f.Outage.sentence(since(f.StageSince))
	}
	return reason, hint
}

// sentence says what is proven while a start waits for the event store.
func (o OutageFacts) sentence(since string) string {
	switch {
	case o.Proves:
		return fmt.Sprintf("; the host is starting%s and waits for it; what the contract gives it is proven "+
			"meanwhile: slots %d, proofs handed in %d", since, o.Slots, o.Proofs)
	case o.Nothing != "":
		return "; nothing is proven meanwhile: " + o.Nothing
	}
	return ""
}

// down says that a part is down: the one with a name, or, without, any that has no cause of its own.
func down(name string) func(Facts) (reason, hint string) {
	return func(f Facts) (reason, hint string) {
		for _, d := range f.Down {
			own := d.Name == PartScheduler || d.Name == PartSectors
			if d.Name == name || name == "" && !own {
				return fmt.Sprintf("%s is down%s: %s", d.Name, since(d.Since), d.Reason),
					"it is tried again by itself; find the cause in the host's log, and look at the record: " +
						f.command("audit")
			}
		}
		return "", ""
	}
}

func diskAway(f Facts) (reason, hint string) {
	return when(f.Disk.Away,
		fmt.Sprintf("the slots cannot be read%s, and no new slot is taken: %s", since(f.Disk.Since), f.Disk.Reason),
		"mount the disk with the slots again: work goes on by itself. Nothing is written or fetched meanwhile. Only "+
			"if the disk is lost for good, set storage.filesLost and start again: what can be fetched is fetched again")
}

func diskFull(f Facts) (reason, hint string) {
	return when(f.Disk.Full && !f.Disk.Away,
		fmt.Sprintf("the disk is full%s, and no new slot is taken: %s", since(f.Disk.Since), f.Disk.Reason),
		"make room on the file system of "+strings.TrimSpace("the data directory "+f.DataDir)+
			"; selling goes on by itself, and proofs go out meanwhile")
}

func salesQuarantined(f Facts) (reason, hint string) {
	return f.slotsIn(f.Quarantined, "a sale cannot be run and is left alone",
		"what it owes is not proven until it can be run; a restart tries it at once")
}

func proofsFail(f Facts) (reason, hint string) {
	return f.slotsIn(f.ProofTrouble, "a proof that is due could not be submitted",
		"it is tried again until its period is over")
}

// slotsIn names the first of some slots, and how many more there are.
func (f Facts) slotsIn(slots []SlotTrouble, what, then string) (reason, hint string) {
	if len(slots) == 0 {
		return "", ""
	}
	first := slots[0]
	reason = fmt.Sprintf("%s: %s, slot %s", what, first.Reason, first.Slot.Short())
	if more := len(slots) - 1; more > 0 {
		reason += fmt.Sprintf(", and the same of %d more", more)
	}
	return reason, fmt.Sprintf("look at it with `%s` and in the log; %s",
		f.command("sale "+first.Slot.String()), then)
}

func chainBehind(f Facts) (reason, hint string) {
	return when(f.Chain.Behind && f.Stage == Running,
		"the host is reading the blocks that it missed while it was away", "wait")
}

func viewsStopped(f Facts) (reason, hint string) {
	return when(f.Views != "",
		"what is on offer is not known: the views stopped following the record: "+f.Views,
		"the host goes on, and what it shows stands still: stop it and start it again; "+
			f.command("audit")+" looks at the record")
}

func paused(f Facts) (reason, hint string) {
	return when(f.Supply.Paused,
		"paused until resumed: "+f.Supply.PausedFor, "sell again: "+f.command("drain --resume"))
}

func quotaTooSmall(f Facts) (reason, hint string) {
	return when(f.Supply.Quota != 0 && f.Supply.Allocated > f.Supply.Quota,
		fmt.Sprintf("the quota is %s, availabilities and sales have %s; no new slot is taken",
			f.Supply.Quota.Human(), f.Supply.Allocated.Human()),
		"raise `quota` and start again, or make availabilities smaller: "+f.command("availability list"))
}

// collateralAtRisk: no slot is so small that its collateral may still be at risk.
func collateralAtRisk(f Facts) (reason, hint string) {
	most := f.Supply.MaxAtRisk
	return when(most != nil && most.SubFloor(f.Supply.AtRisk).Less(leastCollateral),
		fmt.Sprintf("sales have %s base units of collateral, at most %s base units may be at risk, and any slot needs "+
			"%s base units or more",
			f.Supply.AtRisk, most, leastCollateral),
		"raise sales.maxCollateralAtRisk and start again, or wait until sales end")
}

// gasLow: hosted slots can be proven, and no more are taken.
func gasLow(f Facts) (reason, hint string) {
	n, b := f.Funds, f.Funds.Balance
	if !n.Known || b.Wei.IsZero() || b.Wei.Less(b.ProofWei) {
		return "", "" // noGas is worse, and reported instead.
	}
	hint = "send coins for gas to the account " + f.Account + "; nothing new is taken until then"
	if b.Wei.Less(n.MinWei) {
		return fmt.Sprintf("the account holds %s wei for gas, at least %s wei are needed", b.Wei, n.MinWei), hint
	}
	needed := b.ProofWei.MulSaturating(n.Proofs).AddSaturating(b.SaleWei)
	if n.Days > 0 && b.Wei.Less(needed) {
		return fmt.Sprintf("the account holds %s wei, the %d proofs of the next %d days and another sale need %s wei",
			b.Wei, n.Proofs, n.Days, needed), hint
	}
	return "", ""
}

func noTokens(f Facts) (reason, hint string) {
	n := f.Funds
	reason = "the account has no tokens for collateral"
	if !n.Balance.Tokens.IsZero() {
		reason = fmt.Sprintf("the account holds %s base units, sales in work need %s base units, "+
			"and any slot %s base units or more", n.Balance.Tokens, n.Unpaid, leastCollateral)
	}
	return when(n.Known && n.Balance.Tokens.SubFloor(n.Unpaid).Less(leastCollateral),
		reason, "send tokens of the market to "+f.Account)
}

func proofCapacity(f Facts) (reason, hint string) {
	return when(f.Prover.Most != 0 && f.Prover.Busy >= f.Prover.Most,
		fmt.Sprintf("the proofs of %d slots keep the prover busy %d %% of the time, the limit is %d %%",
			f.Prover.Slots, f.Prover.Busy, f.Prover.Most),
		"wait until sales end, use a faster machine, or raise sales.proofLoad")
}

// The following functions narrow down the offers: the enabled ones, of these the ones not over,
// of these the ones with space, of these the ones with collateral.

func nothingOffered(f Facts) (reason, hint string) {
	return when(len(f.Supply.Offers) == 0 && !f.Supply.Unknown && f.purpose() == "",
		"nothing is on offer", "put space on offer: "+f.command("availability add --size 1GiB "+
			"--duration 720h --min-price 1 --collateral 1000000000000"))
}

func offersDisabled(f Facts) (reason, hint string) {
	all := f.Supply.Offers
	return when(len(all) > 0 && len(f.Supply.enabled()) == 0,
		fmt.Sprintf("all of %d availabilities are disabled", len(all)),
		"enable one: "+f.command("availability enable ID"))
}

func offersOver(f Facts) (reason, hint string) {
	enabled := f.Supply.enabled()
	if len(enabled) == 0 || len(f.Supply.current()) > 0 {
		return "", ""
	}
	last := slices.MaxFunc(enabled, func(a, b Offered) int { return a.Until.Compare(b.Until) }).Until
	return fmt.Sprintf("the time of everything on offer is over%s: %d of %d availabilities are enabled",
			since(last), len(enabled), len(f.Supply.Offers)),
		"offer it for longer: " + f.command("availability set ID --until TIME") + ", or --until never"
}

func offersSold(f Facts) (reason, hint string) {
	var left events.Bytes
	for _, o := range f.Supply.current() {
		left = max(left, o.Free)
	}
	reason, hint = "everything on offer is sold", "offer more: "+f.command("availability add")+", or set --size"
	if left > 0 {
		reason = fmt.Sprintf("what is left of everything on offer fits no slot: the most is %s, "+
			"the smallest slot has %s", left.Human(), smallestSlot.Human())
	}
	return when(len(f.Supply.current()) > 0 && len(f.Supply.free()) == 0, reason, hint)
}

func collateralCommitted(f Facts) (reason, hint string) {
	var left events.Amount
	for _, o := range f.Supply.free() {
		if left.Less(o.Remaining) {
			left = o.Remaining
		}
	}
	reason = "the collateral of the availabilities is committed or lost"
	if !left.IsZero() {
		reason = fmt.Sprintf("no slot can be had for the collateral of the availabilities: the most that one has "+
			"left is %s base units, and any slot needs %s base units or more", left, leastCollateral)
	}
	return when(len(f.Supply.free()) > 0 && len(f.Supply.OnSale()) == 0,
		reason, "raise it: "+f.command("availability set ID --collateral AMOUNT"))
}

// noOverhead: availabilities have all of the quota. Beyond it, quotaTooSmall says more.
func noOverhead(f Facts) (reason, hint string) {
	s := f.Supply
	return when(len(s.OnSale()) > 0 && s.room() < s.Overhead && (s.Quota == 0 || s.Allocated <= s.Quota),
		fmt.Sprintf("%s of the quota is unallocated, and the trees and the manifest of any slot need %s or more",
			s.room().Human(), s.Overhead.Human()),
		"raise `quota` and start again, or make availabilities smaller: "+
			f.command("availability set ID --size SIZE"))
}

func noSources(f Facts) (reason, hint string) {
	return when(f.Sources.None && f.purpose() == "",
		"no source of content is set, so the data of no slot can be fetched",
		"name servers that have the clients' data in content.sources, and start again")
}

func sourcesAway(f Facts) (reason, hint string) {
	return when(!f.Sources.None && f.Sources.Away != "" && f.purpose() == "",
		"no source of content can be reached, so the data of no slot can be fetched: "+f.Sources.Away,
		"check the servers in content.sources, and the way to them; slots are taken again when one answers")
}

// offersRefused: other requests may fit, so nobody knows that nothing can be sold.
func offersRefused(f Facts) (reason, hint string) {
	all := f.Supply.Refused
	if len(all) == 0 || len(f.Supply.OnSale()) == 0 {
		return "", ""
	}
	counts := map[string]int{}
	for _, r := range all {
		counts[r.Criterion]++
	}
	var by []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		by = append(by, fmt.Sprintf("%s %d", name, counts[name]))
	}
	newest := all[len(all)-1]
	return fmt.Sprintf("refused %d of the last %d requests: %s; the newest at %s: %s", len(all), len(all),
			strings.Join(by, ", "), newest.At.UTC().Format(SinceFormat), newest.Reason),
		"if such requests are worth it, offer better terms: " + f.command("availability set ID") +
			"; docs/admission.md explains the criteria"
}

func validatingStopped(f Facts) (reason, hint string) {
	return when(f.ValidatorStopped != "", "missing proofs of other hosts are not marked: "+f.ValidatorStopped,
		"look at the host's log, and at the record: "+f.command("audit")+"; a restart tries it again")
}

func noneFits(f Facts) (reason, hint string) {
	return when(f.Supply.NoneFits != "" && !f.Supply.Paused,
		f.Supply.NoneFits+": "+f.Supply.Waiting,
		"they are looked at again when what they wait for changes; docs/admission.md explains the criteria")
}

// periodsTooShort: hosted slots may be proven all the same, if all goes well.
func periodsTooShort(f Facts) (reason, hint string) {
	return when(f.Chain.NoRoom != "",
		"no slot could be filled or proven in time: "+f.Chain.NoRoom,
		"if proofs are mined sooner, lower sales.proofBlocks; if the block time is another one, set "+
			"chain.blockTime; then start again. Otherwise this market's periods are too short for this chain")
}

// tokenCannotPrice: the contract counts in base units per byte and second, and less than one cannot be asked.
func tokenCannotPrice(f Facts) (reason, hint string) {
	return when(f.LeastPrice != "", "the market's token has too few decimals to price storage: the least price is "+
		f.LeastPrice, "no client is likely to pay that; check that chain.contract is the right market")
}
