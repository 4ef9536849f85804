package wire

import (
	"fmt"

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

// hostMay returns why a host may not do something with a stream; empty: it may.
func hostMay(streams events.Streams, account events.Address, r right, stream string) (why string) {
	owner, ours := streams.Owner(stream)
	shared := streams.Shared(stream)
	own := ours && owner == account && !shared
	switch r {
	case toRead, toReadMetadata:
		if own || shared || stream == allStream || events.IsVirtual(stream) {
			return ""
		}
	case toWrite:
		if own || shared {
			return ""
		}
	case toDelete:
		return "hosts delete nothing, as an audit rests on their record; an operator or administrator can"
	case toWriteMetadata:
		if own && (streams.MayTruncate(stream) || !streams.InRecord(stream)) {
			return ""
		}
		if own {
			return "an audit rests on all of it; a host sets the metadata of its queue, its snapshots and proofs on " +
				"their way only"
		}
	}
	return fmt.Sprintf("this user is the host with the account %s, and the stream is not of that account", account)
}
