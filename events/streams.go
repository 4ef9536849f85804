package events

import (
	"fmt"
	"regexp"
	"slices"
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
	// CategoryNode has the nodes that a host watches.
	CategoryNode = "node"
	// CategoryContent, CategoryCargo and CategoryDeal have the pipeline from CARs to deals: CARs, the ledger of pieces,
	// and the deals about their aggregates.
	CategoryContent = "content"
	CategoryCargo   = "cargo"
	CategoryDeal    = "deal"
	// CategoryAlert has what needs a person.
	CategoryAlert = "alert"
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

// Naming says how the streams of a machine are named, and what may happen to them.
type Naming struct {
	// Category is the part of the names before the first dash. It never contains one.
	Category string
	// Parse takes a name apart: whose the stream is, and the name that is given to the same thing.
	Parse func(stream string) (owner Address, name string, err error)
	// Several says that a host has several of them: something follows its address.
	Several bool
	// Shared says that they belong to no account, and that every host writes them.
	Shared bool
	// MayTruncate says that the beginning may be hidden behind a snapshot. Everything that an audit needs stays
	// whole; only what holds no money and no bytes may lose its past.
	MayTruncate bool
	// Passing says that they are no part of the record: of use for a while only, and not copied into another store.
	Passing bool
}

// OnePerHost names streams of which a host has one: category-<address>.
func OnePerHost(category string) Naming {
	return Naming{Category: category, Parse: func(stream string) (Address, string, error) {
		_, id, _ := strings.Cut(stream, "-")
		owner, err := ParseAddress(id)
		return owner, category + "-" + owner.String(), err
	}}
}

// SeveralPerHost names streams of which a host has several, by what takes a name apart and what makes one.
func SeveralPerHost[T any](
	category string, parse func(stream string) (Address, T, error), name func(Address, T) string,
) Naming {
	return Naming{Category: category, Several: true, Parse: func(stream string) (Address, string, error) {
		owner, id, err := parse(stream)
		return owner, name(owner, id), err
	}}
}

// Streams is what stores and readers know of the machines: how their streams are named. It is immutable.
type Streams []Naming

// of returns the naming of a category.
func (s Streams) of(category string) (n Naming, known bool) {
	i := slices.IndexFunc(s, func(n Naming) bool { return n.Category == category })
	if i < 0 {
		return n, false
	}
	return s[i], true
}

// Owner says whether a stream is one of ours, and which account's; a shared one is nobody's. The whole
// name counts: other programs may name theirs host-nobody, or market-1337-0xzz.
func (s Streams) Owner(stream string) (owner Address, ours bool) {
	category, id, _ := strings.Cut(stream, "-")
	if of, snapshot := strings.CutSuffix(category, snapshotSuffix); snapshot {
		return s.Owner(of + "-" + id)
	}
	n, known := s.of(category)
	if !known {
		return owner, false
	}
	owner, name, err := n.Parse(stream)
	if err != nil || name != stream {
		return Address{}, false
	}
	return owner, true
}

// Has reports whether the streams of a category are ours, if their names have the form.
func (s Streams) Has(category string) bool {
	_, known := s.of(category)
	return known
}

// InRecord reports whether a stream is part of the record. The others belong to the
// store that they were made in, and are not copied into another one: the store's own
// streams, snapshots, which can be made again, and what is passing.
func (s Streams) InRecord(stream string) bool {
	if n, _ := s.of(Category(stream)); n.Passing || IsSnapshot(stream) {
		_, ours := s.Owner(stream)
		return !ours
	}
	return !IsSystem(stream)
}

// MayTruncate reports whether the beginning of a stream may be hidden behind a snapshot.
func (s Streams) MayTruncate(stream string) bool {
	n, _ := s.of(Category(stream))
	return n.MayTruncate
}

// Shared reports whether a stream is of a category that belongs to no account.
func (s Streams) Shared(stream string) bool {
	n, _ := s.of(Category(stream))
	return n.Shared
}

// Prefixes are the beginnings of the names of a host's streams, of all hosts' for the zero address; without those that
// are shared or passing.
func (s Streams) Prefixes(host Address) (all []string) {
	for _, n := range s {
		switch prefix := n.Category + "-"; {
		case n.Shared || n.Passing:
		case host.Zero():
			all = append(all, prefix)
		case n.Several:
			all = append(all, prefix+host.String()+"-")
		default:
			all = append(all, prefix+host.String())
		}
	}
	return all
}

// Categories are those of the streams and of their snapshots.
func (s Streams) Categories() (all []string) {
	for _, n := range s {
		all = append(all, n.Category, n.Category+snapshotSuffix)
	}
	return all
}

// IsSnapshot reports whether a stream holds snapshots.
func IsSnapshot(stream string) bool {
	return !IsSystem(stream) && strings.HasSuffix(Category(stream), snapshotSuffix)
}

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

// NodeStream is the stream of a node that a host watches.
func NodeStream(host Address, node Node) string {
	return CategoryNode + "-" + host.String() + "-" + string(node)
}

// ParseNodeStream takes the name of such a stream apart.
func ParseNodeStream(stream string) (Address, Node, error) {
	return parseOwned(stream, CategoryNode, "no stream of a node", 3, ParseNode)
}

// ContentStream is the stream of a CAR.
func ContentStream(host Address, link ContentLink) string {
	return CategoryContent + "-" + host.String() + "-" + link.String()
}

// ParseContentStream takes the name of such a stream apart.
func ParseContentStream(stream string) (Address, ContentLink, error) {
	return parseOwned(stream, CategoryContent, "no stream of a CAR", 4, ParseContentLink)
}

// CargoStream is the ledger of a host's pieces.
func CargoStream(host Address) string { return CategoryCargo + "-" + host.String() }

// AlertStream is the stream of a host's alerts.
func AlertStream(host Address) string { return CategoryAlert + "-" + host.String() }

// DealStream is the stream of the deal about an aggregate, which its piece CID names.
func DealStream(host Address, aggregate string) string {
	return CategoryDeal + "-" + host.String() + "-" + aggregate
}

// ParseDealStream takes the name of such a stream apart.
func ParseDealStream(stream string) (Address, string, error) {
	return parseOwned(stream, CategoryDeal, "no stream of a deal", 4, func(text string) (string, error) {
		if !pieceCID.MatchString(text) {
			return "", fmt.Errorf("%w: %q names no aggregate", ErrMalformed, clip(stream))
		}
		return text, nil
	})
}

// pieceCID is a piece CID of version 1.
var pieceCID = regexp.MustCompile(`^baga6ea4seaq[a-z2-7]{52}$`)

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
