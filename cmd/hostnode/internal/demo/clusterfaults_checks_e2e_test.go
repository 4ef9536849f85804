//go:build e2e

package demo

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
)

// What must hold after a fault run.

// onDisk are the slots of which a member has a copy.
func (m *faulted) onDisk() (slots []string) {
	entries, _ := os.ReadDir(m.dir.Slots() + "/slots")
	for _, e := range entries {
		slots = append(slots, "0x"+e.Name())
	}
	return slots
}

// ledger folds the ledger of a member.
func (f *faultRig) ledger(store events.Store, m *faulted) capacity.State {
	f.t.Helper()
	s, codec := capacity.New(), catalog.Codec()
	for r, err := range store.ReadStream(f.t.Context(), f.ledgerOf(store, m), events.ReadStream{}) {
		f.must(err)
		e, err := codec.Decode(r)
		f.must(err)
		if e, ok := e.(capacity.Event); ok {
			s = capacity.Evolve(s, e)
		}
	}
	return s
}

// copies demands that each copy is in the ledger of the disk where it lies. Space is reserved before a copy
// is made, and released after it is deleted; so what is there before and after the ledger is read must be in it.
func (f *faultRig) copies() {
	f.t.Helper()
	before := map[events.Member][]string{}
	for _, m := range f.members {
		before[m.name] = m.onDisk()
	}
	store, err := esdb.Open(f.t.Context(), esdb.Config{URL: urlOf(f.storeAt)})
	f.must(err)
	defer store.Close()
	copies := f.heldBy(store, func(m *faulted, slot string) bool {
		return slices.Contains(before[m.name], slot) && slices.Contains(m.onDisk(), slot)
	})
	f.t.Logf("%s: %d copies are in the ledgers of their disks", f.clock(), copies)
}

// heldBy compares copies with ledgers, and says how many copies there are.
func (f *faultRig) heldBy(store events.Store, isThere func(m *faulted, slot string) bool) (copies int) {
	f.t.Helper()
	holders := map[events.SlotID]events.Member{}
	for _, m := range f.members {
		held := map[string]bool{}
		for r := range f.ledger(store, m).Reservations() {
			if other, twice := holders[r.Slot]; twice {
				f.t.Errorf("slot %s is in the ledgers of %s and of %s", r.Slot, other, m.name)
			}
			holders[r.Slot], held[r.Slot.String()] = m.name, true
		}
		for _, slot := range m.onDisk() {
			switch {
			case held[slot]:
				copies++
			case isThere(m, slot):
				f.t.Errorf("the disk of %s has a copy of slot %s, which is not in its ledger", m.name, slot)
			}
		}
	}
	return copies
}

// aTransaction finds the hash of one.
var aTransaction = regexp.MustCompile("0x[0-9a-f]{64}")

// clean demands that an audit finds nothing. One thing is known (docs/cluster.md): a proof that a member sent beside
// the owner, or as an owner without the event store, is in the account's record only once that member is the owner
// again. It must be on the chain, from the account.
func (f *faultRig) clean(findings []audit.Finding) {
	f.t.Helper()
	for _, one := range findings {
		tell := f.t.Errorf
		if f.isKnown(one) || one.Rule == audit.ProofOfMember && f.mined(common.HexToHash(aTransaction.FindString(one.Sentence))) {
			tell = f.t.Logf
		}
		tell("audit: %s %s %s revision %d: %s", one.Severity, one.Rule, one.Stream, one.Revision, one.Sentence)
	}
}

// mined says that a transaction of the host's account was mined, and was not refused.
func (f *faultRig) mined(hash common.Hash) bool {
	receipt, err := f.eth.TransactionReceipt(f.t.Context(), hash)
	if err != nil || receipt.Status != types.ReceiptStatusSuccessful {
		return false
	}
	tx, _, err := f.eth.TransactionByHash(f.t.Context(), hash)
	f.must(err)
	from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), tx)
	return err == nil && from == crypto.PubkeyToAddress(f.key.PublicKey)
}

// judge reads the record when all have stopped.
func (f *faultRig) judge() {
	f.t.Helper()
	store, _, err := embedded.Open(f.storeDir+"/events", embedded.Config{})
	f.must(err)
	defer store.Close()
	report, err := audit.Run(f.t.Context(), store, audit.Options{})
	f.must(err)
	f.clean(report.Findings)
	f.heldBy(store, func(*faulted, string) bool { return true })
	for _, m := range f.members {
		if left := f.ledger(store, m).AtRisk(); left.String() != "0" {
			f.t.Errorf("%s of collateral are still committed in the ledger of %s", left, m.name)
		}
	}
	views, err := projections.Open(f.t.Context(), store, projections.Config{})
	f.must(err)
	defer views.Close()
	paid := 0
	for _, row := range views.Sales().Sales {
		if !row.Over {
			f.t.Errorf("slot %d of %s is not settled: %s, %s", row.SlotIndex, row.Request[:10], row.Phase, row.WaitsFor)
		}
		if row.Phase == "Finished" {
			paid++
		}
		f.sold(store, row)
	}
	f.t.Logf("%d events; %d slots were paid", report.Events, paid)
}

// sold demands that a slot was sold by one member, once, and that no proof was missed by a member that could
// make it.
func (f *faultRig) sold(store events.Store, row projections.Sale) {
	f.t.Helper()
	var seller events.Member
	fills, missed, codec := 0, []string{}, catalog.Codec()
	slot := events.Must(events.ParseSlotID(row.Slot))
	for r, err := range store.ReadStream(f.t.Context(), events.SaleStream(f.account, slot), events.ReadStream{}) {
		f.must(err)
		e, err := codec.Decode(r)
		f.must(err)
		switch e := e.(type) {
		case *messages.SaleStarted:
			if fills > 0 {
				f.t.Errorf("slot %d of %s: %s begins to sell it, %s has filled it", row.SlotIndex, row.Request[:10],
					e.GetMember(), seller)
			}
			seller = events.Member(e.GetMember())
		case *messages.SlotFilled:
			fills++
		case *messages.ProofMissed:
			missed = append(missed, fmt.Sprintf("%d (%s)", e.GetPeriod(), f.whyMissed(row, seller, e)))
		}
	}
	f.t.Logf("slot %d of %s: %s by %s, %d proofs, missed: %v", row.SlotIndex, row.Request[:10], row.Phase, seller,
		row.Proofs.Submitted, missed)
}

// whyMissed says why a member missed a proof. It is an error if nothing kept it from making it.
func (f *faultRig) whyMissed(row projections.Sale, seller events.Member, e *messages.ProofMissed) string {
	from := events.Unix(e.GetPeriod() * uint64(f.period/time.Second))
	i := slices.IndexFunc(f.members, func(m *faulted) bool { return m.name == seller })
	could, why := f.members[i].watch.could(from, from.Add(f.period))
	if could {
		f.t.Errorf("slot %d of %s: member %s missed the proof of period %d (chain time %s to %s), and lived and reached "+
			"the chain for all of it; it says: %s", row.SlotIndex, row.Request[:10], seller, e.GetPeriod(),
			from.Format(time.TimeOnly), from.Add(f.period).Format(time.TimeOnly), e.GetReason())
		return "nothing kept it from that"
	}
	return why
}

// effect is what calls of one kind did to one slot.
type effect struct{ done, refused int }

// effects demands that nothing happened twice on the chain. A proof may be handed in twice; the second one is
// refused.
func (f *faultRig) effects() {
	f.t.Helper()
	abi, err := bindings.MarketplaceMetaData.ParseABI()
	f.must(err)
	all, sums := map[string]effect{}, map[string]effect{}
	f.transactions(func(tx *types.Transaction, block *types.Header, ok bool) {
		if tx.To() == nil || *tx.To() != common.Address(f.remote.Marketplace) || len(tx.Data()) < 4 {
			return
		}
		method, err := abi.MethodById(tx.Data()[:4])
		f.must(err)
		args, err := method.Inputs.Unpack(tx.Data()[4:])
		f.must(err)
		key := fmt.Sprintf("%s %x", method.RawName, args[0])
		switch method.RawName {
		case "reserveSlot", "fillSlot":
			key += fmt.Sprintf(" slot %v", args[1])
		case "submitProof":
			key += fmt.Sprintf(" period %d", block.Time/uint64(f.period/time.Second))
		}
		for _, count := range []struct {
			in map[string]effect
			of string
		}{{all, key}, {sums, method.RawName}} {
			e := count.in[count.of]
			if ok {
				e.done++
			} else {
				e.refused++
			}
			count.in[count.of] = e
		}
	})
	for key, e := range all {
		if e.done > 1 || e.refused > 0 && !strings.HasPrefix(key, "submitProof ") {
			f.t.Errorf("on the chain: %s: done %d times, refused %d times", key, e.done, e.refused)
		}
	}
	// A slot that is paid for is not told as freed, only one that is given up or taken away.
	fills, freed := f.logs(f.t.Context(), "SlotFilled", 0), f.logs(f.t.Context(), "SlotFreed", 0)
	if fills != sums["fillSlot"].done || fills != sums["freeSlot"].done || freed > 0 {
		f.t.Errorf("the contract tells of %d fills and of %d slots that became free, and the account's calls are %v", fills,
			freed, sums)
	}
	f.t.Logf("on the chain, done and refused: %v", sums)
}

// transactions reads all transactions of the host's account, and whether they were not refused.
func (f *faultRig) transactions(each func(tx *types.Transaction, in *types.Header, ok bool)) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
	defer cancel()
	signer, own := types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), crypto.PubkeyToAddress(f.key.PublicKey)
	head := f.head(ctx).Number.Uint64()
	for n := uint64(1); n <= head; n++ {
		block, err := f.eth.BlockByNumber(ctx, new(big.Int).SetUint64(n))
		f.must(err)
		for _, tx := range block.Transactions() {
			from, err := types.Sender(signer, tx)
			f.must(err)
			if from != own {
				continue
			}
			receipt, err := f.eth.TransactionReceipt(ctx, tx.Hash())
			f.must(err)
			each(tx, block.Header(), receipt.Status == types.ReceiptStatusSuccessful)
		}
	}
}
