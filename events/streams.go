package events

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The categories of our streams (docs/architecture.md, "Streams"). A category never contains a dash:
// everything before the first dash of a stream's name is its category.
const (
	CategoryHost      = "host"
	CategoryMarket    = "market"
	CategoryCapacity  = "capacity"
	CategorySlotQueue = "slotqueue"
	CategorySale      = "sale"
	CategoryTx        = "tx"
	CategoryValidator = "validator"
	CategorySector    = "sector"
	// CategoryProofs has proofs on their way from a member to the owner.
	CategoryProofs = "proofs"
	// CategoryLoss has one stream, LossStream.
	CategoryLoss = "loss"
)

// snapshotSuffix, added to the category of a machine's stream, makes that of
// its snapshots.
const snapshotSuffix = "Snapshot"

// SnapshotStream names the stream of the snapshots of what is folded from a
// stream: slotqueueSnapshot-<address>, capacitySnapshot-<address>,
// hostSnapshot-<address>.
func SnapshotStream(of string) string {
	category, id, _ := strings.Cut(of, "-")
	return category + snapshotSuffix + "-" + id
}

// StreamOwner says whether a stream is one of ours, and which account's; a market's is nobody's. The whole
// name counts: other programs may name theirs host-nobody, or market-1337-0xzz.
func StreamOwner(stream string) (owner Address, ours bool) {
	category, id, _ := strings.Cut(stream, "-")
	if of, snapshot := strings.CutSuffix(category, snapshotSuffix); snapshot {
		return StreamOwner(of + "-" + id)
	}
	var name string
	var err error
	switch category {
	case CategorySale:
		var slot SlotID
		owner, slot, err = ParseSaleStream(stream)
		name = SaleStream(owner, slot)
	case CategorySector:
		var number uint64
		owner, number, err = ParseSectorStream(stream)
		name = SectorStream(owner, number)
	case CategoryProofs:
		var member Member
		owner, member, err = ParseProofsStream(stream)
		name = ProofsStream(owner, member)
	case CategoryCapacity:
		var member Member
		owner, member, err = ParseLedgerStream(stream)
		name = LedgerStream(owner, member)
	case CategoryMarket:
		chain, contract, _ := strings.Cut(id, "-")
		number, noNumber := strconv.ParseUint(chain, 10, 64)
		of, noAddress := ParseAddress(contract)
		name, err = MarketStream(number, of), errors.Join(noNumber, noAddress)
	case CategoryHost, CategorySlotQueue, CategoryTx, CategoryValidator:
		owner, err = ParseAddress(id)
		name = category + "-" + owner.String()
	default:
		return owner, false
	}
	if ours = err == nil && name == stream; !ours {
		owner = Address{}
	}
	return owner, ours
}

// IsCategory reports whether the streams of a category are ours, if their names have the form.
func IsCategory(category string) bool {
	switch category {
	case CategorySale, CategorySector, CategoryProofs, CategoryCapacity, CategoryMarket, CategoryHost,
		CategorySlotQueue, CategoryTx, CategoryValidator:
		return true
	}
	return false
}

// InRecord reports whether a stream is part of the record. The others belong to the
// store that they were made in, and are not copied into another one: the store's own
// streams, snapshots, which can be made again, and proofs on their way, which are of
// use for a period only.
func InRecord(stream string) bool {
	if IsSnapshot(stream) || Category(stream) == CategoryProofs {
		_, ours := StreamOwner(stream)
		return !ours
	}
	return !IsSystem(stream)
}

// IsSnapshot reports whether a stream holds snapshots.
func IsSnapshot(stream string) bool {
	return !IsSystem(stream) && strings.HasSuffix(Category(stream), snapshotSuffix)
}

// MayTruncate reports whether the beginning of a stream may be hidden behind a
// snapshot. Everything that an audit needs stays whole; only the queue, which
// holds no money and no bytes, may lose its past.
func MayTruncate(stream string) bool { return Category(stream) == CategorySlotQueue }

// HostStream is the stream of a host's identity.
func HostStream(host Address) string { return CategoryHost + "-" + host.String() }

// MarketStream is the stream of one contract's events.
func MarketStream(chainID uint64, contract Address) string {
	return CategoryMarket + "-" + strconv.FormatUint(chainID, 10) + "-" + contract.String()
}

// CapacityStream is the stream of a host's ledger.
func CapacityStream(host Address) string { return CategoryCapacity + "-" + host.String() }

// LedgerStream is the stream of a member's ledger. Without a member it is CapacityStream.
func LedgerStream(host Address, member Member) string {
	if member == "" {
		return CapacityStream(host)
	}
	return CapacityStream(host) + "-" + string(member)
}

// ParseLedgerStream takes the name of a ledger's stream apart.
func ParseLedgerStream(stream string) (Address, Member, error) {
	parts := strings.SplitN(stream, "-", 3)
	if len(parts) < 2 || parts[0] != CategoryCapacity {
		return Address{}, "", fmt.Errorf("%w: %q is no ledger's stream", ErrMalformed, clip(stream))
	}
	host, err := ParseAddress(parts[1])
	if err != nil || len(parts) == 2 {
		return host, "", err
	}
	member, err := ParseMember(parts[2])
	return host, member, err
}

// SlotQueueStream is the stream of a host's slot queue.
func SlotQueueStream(host Address) string { return CategorySlotQueue + "-" + host.String() }

// SaleStream is the stream of one host's dealings with one slot.
func SaleStream(host Address, slot SlotID) string {
	return CategorySale + "-" + host.String() + "-" + slot.String()
}

// SectorStream is the stream of one sector of a host; numbers are from 1.
func SectorStream(host Address, number uint64) string {
	return CategorySector + "-" + host.String() + "-" + strconv.FormatUint(number, 10)
}

// TxStream is the stream of an account's transactions.
func TxStream(account Address) string { return CategoryTx + "-" + account.String() }

// ValidatorStream is the stream of an account that marks missing proofs.
func ValidatorStream(account Address) string { return CategoryValidator + "-" + account.String() }

// ProofsStream is the stream of a member's proofs on their way to the owner.
func ProofsStream(host Address, member Member) string {
	return CategoryProofs + "-" + host.String() + "-" + string(member)
}

// ParseProofsStream takes the name of such a stream apart.
func ParseProofsStream(stream string) (Address, Member, error) {
	return parseOwned(stream, CategoryProofs, "no stream of a member's proofs", 3, ParseMember)
}

// parseOwned takes the name of a stream apart that begins with a category and a host. What follows is
// cut at no dash when parts is 3, and has none when it is 4.
func parseOwned[T any](
	stream, category, wrong string, parts int, parse func(string) (T, error),
) (host Address, id T, err error) {
	all := strings.SplitN(stream, "-", parts)
	if len(all) != 3 || all[0] != category {
		return host, id, fmt.Errorf("%w: %q is %s", ErrMalformed, clip(stream), wrong)
	}
	if host, err = ParseAddress(all[1]); err == nil {
		id, err = parse(all[2])
	}
	return host, id, err
}

// Category is the part of a stream's name before the first dash; a name
// without a dash is its own category.
func Category(stream string) string {
	category, _, _ := strings.Cut(stream, "-")
	return category
}

// ParseSaleStream takes a sale stream's name apart.
func ParseSaleStream(stream string) (Address, SlotID, error) {
	return parseOwned(stream, CategorySale, "not a sale stream", 4, ParseSlotID)
}

// ParseSectorStream takes a sector stream's name apart.
func ParseSectorStream(stream string) (Address, uint64, error) {
	return parseOwned(stream, CategorySector, "not a sector stream", 4, func(text string) (uint64, error) {
		number, err := causeOrdinal(text)
		if err != nil {
			err = fmt.Errorf("%w: %q names no sector", ErrMalformed, clip(stream))
		}
		return number, err
	})
}
