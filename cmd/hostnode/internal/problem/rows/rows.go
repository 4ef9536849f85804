// Package rows puts the table of all errors together that an operator can see. What is said of each is in
// docs/errors.md: a new error is a section there and a row here.
package rows

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"syscall"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/checks"
	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/certs"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/eventserver"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/serverviews"
	"github.com/hostnode/hostnode/docs"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/transfer"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/prover/segment"
	"github.com/hostnode/hostnode/storage"
	"github.com/hostnode/hostnode/storage/dataset"
)

// All returns the table of all errors that an operator can see. It panics when the rows and docs/errors.md do not
// fit, which a test finds first.
func All() problem.Table { return table() }

var table = sync.OnceValue(func() problem.Table {
	t, err := problem.NewTable(docs.Errors, all...)
	if err != nil {
		panic(err)
	}
	return t
})

// all are in the order in which they are tried.
var all = slices.Concat(
	hostRows, accessRows, sectorRows, nodeRows, alertRows, aggregationRows, recordRows, fileRows, demoRows, otherRows,
)

// hostRows are about settings, the host's process, its account and the chain.
var hostRows = []problem.Row{
	{Code: "point-invalid", Status: http.StatusBadRequest, Is: problem.ErrNoPoint},
	{Code: "bad-request", Status: http.StatusBadRequest, Is: problem.ErrBadRequest},
	{Code: "config-invalid", Status: http.StatusBadRequest, Is: config.ErrInvalid},
	{Code: "config-missing", Status: http.StatusBadRequest, Is: config.ErrNoFile},
	{Code: "size-invalid", Status: http.StatusBadRequest, Is: config.ErrBytes},
	{Code: "availability-invalid", Status: http.StatusBadRequest, Is: capacity.ErrInvalid},
	{Code: "host-silent", Status: http.StatusServiceUnavailable, Is: problem.ErrSilent},
	{Code: "host-standby", Status: http.StatusServiceUnavailable, Is: problem.ErrStandby},
	{Code: "account-key-lost", Status: http.StatusConflict, Is: node.ErrKeyLost},
	{Code: "account-other", Status: http.StatusConflict, Is: datadir.ErrOtherAccount},
	{Code: "account-illegible", Status: http.StatusConflict, Is: datadir.ErrOwner},
	{Code: "availability-over", Status: http.StatusBadRequest, Is: problem.ErrOver},
	{Code: "quota-exceeded", Status: http.StatusConflict, Also: isA[*capacity.SpaceError]},
	{Code: "disk-too-small", Status: http.StatusConflict, Is: problem.ErrDiskSmall},
	{Code: "availability-exists", Status: http.StatusConflict, Is: capacity.ErrExists},
	{Code: "availability-unknown", Status: http.StatusNotFound, Is: capacity.ErrUnknownAvailability},
	{Code: "availability-in-use", Status: http.StatusConflict, Is: capacity.ErrInUse},
	{Code: "ledger-full", Status: http.StatusConflict, Is: capacity.ErrLimit},
	{Code: "sale-unknown", Status: http.StatusNotFound, Is: problem.ErrUnknownSale},
	{Code: "stream-unknown", Status: http.StatusNotFound, Is: replay.ErrUnknownStream},
	{Code: "before-record", Status: http.StatusNotFound, Is: replay.ErrBefore},
	{Code: "beyond-record", Status: http.StatusNotFound, Is: replay.ErrBeyond},
	{Code: "id-ambiguous", Status: http.StatusConflict, Is: problem.ErrAmbiguous},
	{Code: "host-starting", Status: http.StatusServiceUnavailable, Is: actors.ErrStarting},
	{Code: "host-stopped", Status: http.StatusServiceUnavailable, Is: actors.ErrStopped},
	{Code: "host-busy", Status: http.StatusServiceUnavailable, Is: shell.ErrOverloaded},
	{Code: "host-not-running", Status: http.StatusServiceUnavailable, Is: problem.ErrNotRunning},
	{Code: "record-away", Status: http.StatusServiceUnavailable, Is: shell.ErrStoreAway},
	{Code: "part-down", Status: http.StatusServiceUnavailable, Is: shell.ErrPartDown},
	{Code: "quarantined", Status: http.StatusConflict, Is: quarantine.ErrQuarantined},
	{Code: "not-quarantined", Status: http.StatusNotFound, Is: shell.ErrNotQuarantined},
	{Code: "check-unknown", Status: http.StatusNotFound, Is: checks.ErrUnknown},
	{Code: "nothing-at-rest", Status: http.StatusConflict, Is: sectors.ErrNotAtRest},
	{Code: "host-broken", Status: http.StatusInternalServerError, Is: actors.ErrBroken},
	{Code: "other-market", Status: http.StatusConflict, Is: actors.ErrOtherMarket},
	{Code: "other-chain", Status: http.StatusConflict, Is: actors.ErrOtherChain},
	{Code: "data-dir-in-use", Status: http.StatusConflict, Is: datadir.ErrInUse},
	{Code: "data-dir-user", Status: http.StatusForbidden, Is: datadir.ErrOtherUser},
	{Code: "data-dir-newer", Status: http.StatusConflict, Is: datadir.ErrNewerFormat},
	{Code: "data-dir-dry", Status: http.StatusConflict, Is: datadir.ErrDry},
	{Code: "data-dir-empty", Status: http.StatusNotFound, Is: datadir.ErrEmpty},
	{Code: "data-dir-format", Status: http.StatusConflict, Is: datadir.ErrFormat},
	{Code: "socket-path", Status: http.StatusConflict, Is: datadir.ErrSocketPath},
	{Code: "key-missing", Status: http.StatusNotFound, Is: keys.ErrMissing},
	{Code: "key-exists", Status: http.StatusConflict, Is: keys.ErrExists},
	{Code: "key-unprotected", Status: http.StatusConflict, Is: keys.ErrPermissions},
	{Code: "key-password", Status: http.StatusConflict, Is: keys.ErrPassword},
	{Code: "key-malformed", Status: http.StatusBadRequest, Is: keys.ErrMalformed},
	{Code: "proving-keys-other", Status: http.StatusConflict, Is: localchain.ErrOtherKeys},
	{Code: "proving-keys-damaged", Status: http.StatusConflict, Is: prover.ErrKeysDamaged},
	{Code: "proving-keys-missing", Status: http.StatusNotFound, Is: prover.ErrKeysMissing},
	{Code: "prover-sizes", Status: http.StatusBadRequest, Is: prover.ErrParams},
	{Code: "port-in-use", Status: http.StatusConflict, Is: devchain.ErrPortInUse},
	{Code: "events-address", Status: http.StatusConflict, Is: eventserver.ErrListen},
	{Code: "devchain-in-use", Status: http.StatusConflict, Is: devchain.ErrInUse},
	{Code: "devchain-damaged", Status: http.StatusConflict, Is: devchain.ErrDamaged},
	{Code: "chain-settings", Status: http.StatusBadRequest, Is: chain.ErrConfig},
	{Code: "chain-other", Status: http.StatusConflict, Is: rpc.ErrWrongChain},
	{Code: "contract-missing", Status: http.StatusConflict, Is: rpc.ErrNoContract},
	{Code: "devchain-stopped", Status: http.StatusServiceUnavailable, Is: localchain.ErrStopped},
	{Code: "chain-unavailable", Status: http.StatusServiceUnavailable, Is: rpc.ErrUnavailable},
	{Code: "outbox-other", Status: http.StatusConflict, Is: tx.ErrForeignOutbox},
	{Code: "outbox-damaged", Status: http.StatusInternalServerError, Is: tx.ErrOutboxDamaged},
	{Code: "account-taken-over", Status: http.StatusConflict, Also: anyOf(shell.ErrTakenOver, tx.ErrTakenOver)},
	{
		Code: "host-elsewhere", Status: http.StatusConflict, Is: node.ErrElsewhere,
		Also: anyOf(tx.ErrUsedElsewhere, membership.ErrElsewhere),
	},
	{Code: "host-has-members", Status: http.StatusConflict, Is: membership.ErrHasMembers},
	{Code: "cluster-other", Status: http.StatusConflict, Is: membership.ErrOtherCluster},
	{Code: "member-refused", Status: http.StatusConflict, Is: cluster.ErrRefused},
	{Code: "cluster-address", Status: http.StatusConflict, Is: cluster.ErrListen},
	{Code: "member-settings", Status: http.StatusBadRequest, Is: cluster.ErrConfig},
	{Code: "member-other", Status: http.StatusConflict, Is: datadir.ErrOtherMember},
	{Code: "member-unknown", Status: http.StatusNotFound, Is: actors.ErrUnknownMember},
	{Code: "member-away", Status: http.StatusServiceUnavailable, Is: events.ErrMemberAway},
	{Code: "no-owner", Status: http.StatusServiceUnavailable, Is: events.ErrNoOwner},
	{Code: "member-first", Status: http.StatusConflict, Is: membership.ErrFirstMember},
	{Code: "account-in-use", Status: http.StatusConflict, Is: datadir.ErrAccountInUse},
}

// nodeRows are about nodes that are watched.
var nodeRows = []problem.Row{
	{Code: "node-unwatched", Status: http.StatusNotFound, Is: downtime.ErrNotJoined},
	{Code: "node-under-review", Status: http.StatusConflict, Is: downtime.ErrUnderReview},
	{Code: "node-unexplained", Status: http.StatusBadRequest, Is: downtime.ErrUnexplained},
	{Code: "node-clock", Status: http.StatusConflict, Is: downtime.ErrClock},
	{Code: "node-rules", Status: http.StatusBadRequest, Is: downtime.ErrRules},
}

// alertRows are about alerts.
var alertRows = []problem.Row{
	{Code: "alert-unknown", Status: http.StatusNotFound, Is: alert.ErrNoAlert},
	{Code: "mute-unknown", Status: http.StatusNotFound, Is: alert.ErrNoMute},
	{Code: "alert-unnamed", Status: http.StatusBadRequest, Is: alert.ErrUnnamed},
	{Code: "mute-end", Status: http.StatusBadRequest, Is: alert.ErrEnd},
	{Code: "alert-channel-unknown", Status: http.StatusNotFound, Is: alerts.ErrNoChannel},
	{Code: "alert-not-taken", Status: http.StatusBadGateway, Is: alerts.ErrNotTaken},
}

// aggregationRows are about CARs, pieces, aggregates and deals.
var aggregationRows = []problem.Row{
	{Code: "content-request", Status: http.StatusBadRequest, Is: content.ErrRequest},
	{Code: "content-size", Status: http.StatusConflict, Is: content.ErrOtherSize},
	{Code: "content-unknown", Status: http.StatusNotFound, Is: content.ErrUnknown},
	{Code: "source-forbidden", Status: http.StatusBadRequest, Is: events.ErrForbiddenSource},
	{Code: "aggregation-busy", Status: http.StatusServiceUnavailable, Is: aggregation.ErrBusy},
	{Code: "group-quota", Status: http.StatusConflict, Is: aggregation.ErrQuota},
	{Code: "cargo-piece-unknown", Status: http.StatusNotFound, Is: cargo.ErrUnknownPiece},
	{Code: "aggregate-unknown", Status: http.StatusNotFound, Is: cargo.ErrUnknown},
	{Code: "aggregate-report", Status: http.StatusConflict, Is: aggregation.ErrReport},
	{Code: "inclusion-none", Status: http.StatusConflict, Is: cargo.ErrNoProof},
	{Code: "inclusion-wrong", Status: http.StatusBadRequest, Is: segment.ErrProof},
	{Code: "deal-over", Status: http.StatusConflict, Is: events.ErrDealOver},
	{Code: "broker-away", Status: http.StatusServiceUnavailable, Is: events.ErrBrokerAway},
}

// accessRows are about who may use the API over TCP.
var accessRows = []problem.Row{
	{Code: "unauthorized", Status: http.StatusUnauthorized, Is: problem.ErrUnauthorized},
	{Code: "forbidden", Status: http.StatusForbidden, Is: problem.ErrForbidden},
	{Code: "host-not-allowed", Status: http.StatusMisdirectedRequest, Is: problem.ErrHost},
	{Code: "cross-origin", Status: http.StatusForbidden, Is: problem.ErrCrossOrigin},
	{Code: "too-often", Status: http.StatusTooManyRequests, Is: problem.ErrTooOften},
	{Code: "token-exists", Status: http.StatusConflict, Is: problem.ErrTokenExists},
	{Code: "token-unknown", Status: http.StatusNotFound, Is: problem.ErrNoToken},
	{Code: "tokens-damaged", Status: http.StatusInternalServerError, Is: problem.ErrTokensDamaged},
	{Code: "api-address", Status: http.StatusConflict, Is: problem.ErrAPIAddress},
}

// sectorRows are about sectors and their pieces.
var sectorRows = []problem.Row{
	{Code: "no-sectors", Status: http.StatusConflict, Is: actors.ErrNoSectors},
	{Code: "sector-unknown", Status: http.StatusNotFound, Is: problem.ErrUnknownSector},
	{Code: "sector-over", Status: http.StatusConflict, Is: sectors.ErrNoSector},
	{Code: "sector-request-used", Status: http.StatusConflict, Is: sectors.ErrOtherRequest},
	{Code: "sector-refused", Status: http.StatusConflict, Also: isA[*sector.Refused]},
	{Code: "sector-state-unknown", Status: http.StatusBadRequest, Is: sector.ErrUnknownState},
	{Code: "sector-files-first", Status: http.StatusConflict, Is: sector.ErrFilesFirst},
	{Code: "sector-size", Status: http.StatusBadRequest, Is: sector.ErrSize},
	{Code: "piece-no-fit", Status: http.StatusConflict, Is: sector.ErrNoRoom},
	{Code: "piece-twice", Status: http.StatusConflict, Is: sector.ErrSamePiece},
	{Code: "piece-unknown", Status: http.StatusNotFound, Is: events.ErrNoSuchPiece},
	{Code: "piece-needed", Status: http.StatusConflict, Is: problem.ErrPieceNeeded},
	{Code: "piece-busy", Status: http.StatusConflict, Is: problem.ErrPieceBusy},
	{Code: "piece-held", Status: http.StatusConflict, Is: capacity.ErrPieceHeld},
	{Code: "piece-mismatch", Status: http.StatusConflict, Is: events.ErrPieceMismatch},
	{Code: "piece-file", Status: http.StatusBadRequest, Is: problem.ErrPieceFile},
	{Code: "piece-no-room", Status: http.StatusInsufficientStorage, Is: problem.ErrPieceRoom},
}

// recordRows are about what is stored: slots, event store, views.
var recordRows = []problem.Row{
	{Code: "slots-in-use", Status: http.StatusConflict, Is: storage.ErrInUse},
	{Code: "slots-newer", Status: http.StatusConflict, Is: storage.ErrNewerFormat},
	{Code: "store-in-use", Status: http.StatusConflict, Is: embedded.ErrInUse},
	{Code: "store-damaged", Status: http.StatusInternalServerError, Is: events.ErrDamaged},
	{Code: "store-newer", Status: http.StatusConflict, Is: embedded.ErrNewerFormat},
	{Code: "store-foreign", Status: http.StatusConflict, Is: embedded.ErrNotAStore},
	{Code: "store-url", Status: http.StatusBadRequest, Is: esdb.ErrURL},
	{Code: "store-settings", Status: http.StatusBadRequest, Is: esdb.ErrSettings},
	{Code: "store-away", Status: http.StatusServiceUnavailable, Is: events.ErrAway},
	{Code: "store-denied", Status: http.StatusForbidden, Is: events.ErrDenied},
	{Code: "event-newer", Status: http.StatusConflict, Is: events.ErrNewerEvent},
	{Code: "event-unknown", Status: http.StatusConflict, Is: events.ErrUnknownEvent},
	{Code: "record-moved", Status: http.StatusConflict, Is: events.ErrWrongRevision},
	{Code: "record-elsewhere", Status: http.StatusConflict, Is: datadir.ErrNoRecord},
	{Code: "store-failed", Status: http.StatusInternalServerError, Is: events.ErrStoreFailed},
	{Code: "disk-full", Status: http.StatusInsufficientStorage, Is: syscall.ENOSPC},
	{Code: "projection-faulted", Status: http.StatusBadGateway, Is: serverviews.ErrFaulted},
	{Code: "projection-stuck", Status: http.StatusBadGateway, Is: serverviews.ErrStuck},
	{Code: "no-projections", Status: http.StatusNotImplemented, Is: serverviews.ErrNoProjections},
}

// fileRows are about the disk with the data and the files of the market's clients.
var fileRows = []problem.Row{
	{Code: "proving-keys-wrong", Status: http.StatusConflict, Is: actors.ErrWrongKeys},
	{Code: "disk-away", Status: http.StatusServiceUnavailable, Is: events.ErrDiskAway},
	{Code: "file-unreadable", Status: http.StatusNotFound, Is: problem.ErrFile},
	{Code: "file-empty", Status: http.StatusBadRequest, Is: dataset.ErrEmpty},
	{Code: "file-too-small", Status: http.StatusBadRequest, Is: dataset.ErrTooSmall},
	{Code: "file-too-large", Status: http.StatusBadRequest, Is: dataset.ErrTooLarge},
	{Code: "client-not-prepared", Status: http.StatusNotFound, Is: requester.ErrNotPrepared},
	{Code: "client-ambiguous", Status: http.StatusConflict, Is: requester.ErrAmbiguous},
	{Code: "request-refused", Status: http.StatusConflict, Is: events.ErrReverted},
	{Code: "client-funds", Status: http.StatusConflict, Is: events.ErrInsufficientFunds},
	{Code: "no-development-chain", Status: http.StatusNotFound, Is: localchain.ErrNoChain},
}

// demoRows are about the demonstrations.
var demoRows = []problem.Row{
	{Code: "demo-options", Status: http.StatusBadRequest, Is: problem.ErrDemoOptions},
	{Code: "demo-refused", Status: http.StatusConflict, Is: problem.ErrDemoRefused},
	{Code: "demo-stopped", Status: http.StatusConflict, Is: problem.ErrDemoStopped},
	{Code: "demo-host-ended", Status: http.StatusConflict, Is: problem.ErrDemoHostEnded},
	{Code: "demo-stuck", Status: http.StatusConflict, Is: problem.ErrDemoStuck},
	{Code: "demo-not-paid", Status: http.StatusConflict, Is: problem.ErrDemoNotPaid},
	{Code: "demo-incomplete", Status: http.StatusConflict, Is: problem.ErrDemoIncomplete},
}

// otherRows are about audits, backups, transfers, HTTP requests and what the operating system refuses; the last
// one is for all other errors.
var otherRows = []problem.Row{
	{Code: "audit-unclean", Status: http.StatusConflict, Is: problem.ErrUnclean},
	{Code: "not-agreed", Status: http.StatusConflict, Is: problem.ErrNotAgreed},
	{Code: "backup-directory", Status: http.StatusConflict, Is: problem.ErrNoBackupDir},
	{Code: "backup-target", Status: http.StatusConflict, Is: embedded.ErrBackupTarget},
	{Code: "backup-running", Status: http.StatusConflict, Is: embedded.ErrBackupRunning},
	{Code: "backup-not-embedded", Status: http.StatusConflict, Is: problem.ErrNotEmbedded},
	{Code: "file-exists", Status: http.StatusConflict, Is: problem.ErrFileExists},
	{Code: "config-exists", Status: http.StatusConflict, Is: problem.ErrConfigured},
	{Code: "transfer-conflict", Status: http.StatusConflict, Is: transfer.ErrConflict},
	{Code: "transfer-scavenged", Status: http.StatusConflict, Is: transfer.ErrScavenged},
	{Code: "transfer-differs", Status: http.StatusInternalServerError, Is: transfer.ErrDiffers},
	{Code: "export-damaged", Status: http.StatusBadRequest, Is: transfer.ErrBadFile},
	{Code: "not-found", Status: http.StatusNotFound, Is: problem.ErrNoRoute},
	{Code: "method-not-allowed", Status: http.StatusMethodNotAllowed, Is: problem.ErrMethod},
	{Code: "too-large", Status: http.StatusRequestEntityTooLarge, Is: problem.ErrTooLarge},
	{Code: "too-many", Status: http.StatusTooManyRequests, Is: problem.ErrTooMany},
	{Code: "media-type", Status: http.StatusUnsupportedMediaType, Is: problem.ErrMediaType},
	{Code: "not-a-directory", Status: http.StatusConflict, Is: syscall.ENOTDIR},
	{Code: "certificate-exists", Status: http.StatusConflict, Is: certs.ErrExists},
	{Code: "authority-unusable", Status: http.StatusConflict, Is: certs.ErrAuthority},
	{Code: "too-many-files", Status: http.StatusServiceUnavailable, Is: syscall.EMFILE},
	{Code: "permission-denied", Status: http.StatusForbidden, Is: fs.ErrPermission},
	{Code: "path-unusable", Status: http.StatusNotFound, Also: anyOf(pathErrors...)},
	{Code: "timeout", Status: http.StatusGatewayTimeout, Also: anyOf(context.DeadlineExceeded)},
	{Code: "interrupted", Status: http.StatusServiceUnavailable, Also: anyOf(context.Canceled)},
	{Code: "internal", Status: http.StatusInternalServerError, Also: func(error) bool { return true }},
}

// pathErrors are the reasons for which the system refuses a path that somebody named.
var pathErrors = []error{
	fs.ErrNotExist, syscall.EISDIR, syscall.EROFS, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EXDEV,
	syscall.ENOTEMPTY,
}

func anyOf(errs ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(errs, func(is error) bool { return errors.Is(err, is) })
	}
}

func isA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}
