package wire

import (
	"fmt"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// What a user of RoleHost may do depends only on the names of streams:
//
//	its account's streams    append and read
//	the streams of markets   append and read: they say what a contract said, and
//	                         belong to no account
//	metadata                 read its own; set that of its queue, of its snapshots
//	                         and of proofs on their way, the only streams of a host
//	                         that lose their past
//	$all and indexes         read, without what it may not read
//	anything else            nothing, and nothing is ever deleted

// snapshots is how the category of snapshot streams ends.
var snapshots = strings.TrimSuffix(events.SnapshotStream("-"), "-")

// ofAccount reports whether a stream is one that the host of this account writes.
func ofAccount(stream string, account events.Address) bool {
	category, id, _ := strings.Cut(stream, "-")
	switch strings.TrimSuffix(category, snapshots) {
	case events.CategorySale:
		owner, slot, err := events.ParseSaleStream(stream)
		return err == nil && owner == account && stream == events.SaleStream(owner, slot)
	case events.CategorySector:
		owner, number, err := events.ParseSectorStream(stream)
		return err == nil && owner == account && stream == events.SectorStream(owner, number)
	case events.CategoryProofs:
		owner, member, err := events.ParseProofsStream(stream)
		return err == nil && owner == account && stream == events.ProofsStream(owner, member)
	case events.CategoryCapacity:
		own, member, ofMember := strings.Cut(id, "-")
		_, err := events.ParseMember(member)
		return own == account.String() && (!ofMember || err == nil)
	case events.CategoryHost, events.CategorySlotQueue, events.CategoryTx, events.CategoryValidator:
		return id == account.String()
	}
	return false
}

// ofMarket reports whether a stream holds a contract's events.
func ofMarket(stream string) bool { return events.Category(stream) == events.CategoryMarket }

// hostMay returns why a host may not do something with a stream; empty: it may.
func hostMay(account events.Address, r right, stream string) (why string) {
	own := ofAccount(stream, account)
	switch r {
	case toRead, toReadMetadata:
		if own || ofMarket(stream) || stream == allStream || events.IsVirtual(stream) {
			return ""
		}
	case toWrite:
		if own || ofMarket(stream) {
			return ""
		}
	case toDelete:
		return "hosts delete nothing, as an audit rests on their record; an operator or administrator can"
	case toWriteMetadata:
		if own && (events.MayTruncate(stream) || !events.InRecord(stream)) {
			return ""
		}
		if own {
			return "an audit rests on all of it; a host sets the metadata of its queue, its snapshots and proofs on " +
				"their way only"
		}
	}
	return fmt.Sprintf("this user is the host with the account %s, and the stream is not of that account", account)
}
