package api

import (
	"fmt"
	"io/fs"
	"net/http"
	"syscall"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/certs"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/transfer"
	"github.com/hostnode/hostnode/storage/dataset"
)

// fileKinds are about files, the demonstration, backups and transfers; the last one is for all
// other errors.
var fileKinds = []kind{
	{
		"proving-keys-wrong", http.StatusConflict, actors.ErrWrongKeys,
		"The contract accepts proofs of another proving key.",
		"Set the sizes below `prover` and `prover.keysDir` to those of the contract's verifier.",
	},
	{
		"disk-away", http.StatusServiceUnavailable, events.ErrDiskAway, "The disk with the data is away.",
		"Mount it again, and work goes on by itself; docs/restart.md says what to do when it is lost.",
	},
	{
		"file-unreadable", http.StatusNotFound, ErrFile, "The file cannot be read.",
		"Name a plain file that you may read.",
	},
	{
		"file-empty", http.StatusBadRequest, dataset.ErrEmpty, "The file is empty.",
		"Name a file with contents.",
	},
	{
		"file-too-small", http.StatusBadRequest, dataset.ErrTooSmall,
		"The file is too small for this number of slots.",
		"Each data slot holds at least one block of 65,536 bytes: use fewer --slots, or a larger file.",
	},
	{
		"file-too-large", http.StatusBadRequest, dataset.ErrTooLarge,
		"The file is too large for this number of slots.", "Use more --slots.",
	},
	{
		"client-not-prepared", http.StatusNotFound, requester.ErrNotPrepared, "The file was not prepared.",
		"`hostnode client prepare FILE` codes it; name the same file, or its CID, in the other commands. `client " +
			"status` and `client withdraw` also take a request's id, or the beginning of one.",
	},
	{
		"client-ambiguous", http.StatusConflict, requester.ErrAmbiguous, "Several files of this name were prepared.",
		"Name the CID of the one that you mean.",
	},
	{
		"no-development-chain", http.StatusNotFound, localchain.ErrNoChain, "There is no development chain here.",
		"Start `hostnode run` or `hostnode devchain` with the same --data-dir, or set `chain.endpoint` and " +
			"`chain.contract`.",
	},
	{
		"demo-options", http.StatusBadRequest, ErrDemoOptions, "The demonstration cannot be run with these options.",
		"Correct the option that the message names.",
	},
	{
		"demo-refused", http.StatusConflict, ErrDemoRefused,
		"The host refused what the demonstration wants.", "Raise --quota, or use another --data-dir.",
	},
	{
		"demo-stopped", http.StatusConflict, ErrDemoStopped, "The demonstration was stopped.",
		"`hostnode run --data-dir DIR` goes on with what is in its directory; `hostnode demo` starts a new one.",
	},
	{
		"demo-host-ended", http.StatusConflict, ErrDemoHostEnded, "The host of the demonstration ended.",
		"It was killed, or it could not go on: its last messages and host.log in the data directory say " +
			"which. `hostnode run --data-dir DIR` goes on with what is there.",
	},
	{
		"demo-stuck", http.StatusConflict, ErrDemoStuck, "The host of the demonstration does not get on.",
		"Its last messages and host.log in the data directory say what it did. On a machine with much other work, " +
			"run it again when that is over; `hostnode run --data-dir DIR` goes on with what is there.",
	},
	{
		"demo-not-paid", http.StatusConflict, ErrDemoNotPaid, "The payout did not arrive for every slot.",
		"The summary says how each sale ended; host.log in the data directory has the details.",
	},
	{
		"demo-incomplete", http.StatusConflict, ErrDemoIncomplete,
		"Not everything happened in the demonstration that should.",
		"`hostnode sales` or `hostnode sectors list` say what became of each; the logs in the data directory have " +
			"the details. Chain time does not wait: on a machine with much other work, run it again when that is over.",
	},
	{
		"audit-unclean", http.StatusConflict, ErrUnclean, "The audit has findings.",
		"The findings name stream and revision. Keep the data directory as it is.",
	},
	{
		"not-agreed", http.StatusConflict, ErrNotAgreed, "The question was not answered as it asks.",
		"Run the command again and type what it asks for, or give it --yes.",
	},
	{
		"backup-directory", http.StatusConflict, ErrNoBackupDir, "A backup cannot be made in this directory.",
		"Name a directory that is empty or missing, outside of the data directory.",
	},
	{
		"backup-target", http.StatusConflict, embedded.ErrBackupTarget, "A backup cannot be made there.",
		"Name a directory that is empty or missing, outside of the data directory.",
	},
	{
		"backup-running", http.StatusConflict, embedded.ErrBackupRunning, "A backup is being made already.",
		"Try again when that one is finished.",
	},
	{
		"backup-not-embedded", http.StatusConflict, ErrNotEmbedded, "The events are in an EventStoreDB.",
		"Back it up as its manual says, or write it to a file with `hostnode export`.",
	},
	{
		"file-exists", http.StatusConflict, ErrFileExists, "There is a file with this name already.",
		"Name another file, or replace it with --force.",
	},
	{
		"transfer-conflict", http.StatusConflict, transfer.ErrConflict,
		"The target has other events in the streams that are to be copied.",
		"Use an empty store as the target, or find out who wrote these streams there.",
	},
	{
		"transfer-scavenged", http.StatusConflict, transfer.ErrScavenged,
		"The source has removed a part of its events.",
		"Use an older backup if there is one. --accept-scavenged copies what is left, with new revisions, and " +
			"an audit of it cannot be clean.",
	},
	{
		"transfer-differs", http.StatusInternalServerError, transfer.ErrDiffers,
		"After the transfer, target and source are not the same.",
		"Perhaps another program writes to the target. Run the same command again; if that does not help, " +
			"use an empty target.",
	},
	{
		"export-damaged", http.StatusBadRequest, transfer.ErrBadFile, "The file is not a complete export.",
		"Copy or export it again. Nothing of it was written to the store, unless it came through a pipe; then " +
			"import the complete file, which goes on from there.",
	},
	{
		"not-found", http.StatusNotFound, ErrNoRoute, "There is no such resource.",
		"The command and the running host may be of different versions: `hostnode version`.",
	},
	{
		"method-not-allowed", http.StatusMethodNotAllowed, ErrMethod, "The resource does not support this method.",
		"The header Allow lists those that it supports.",
	},
	{
		"too-large", http.StatusRequestEntityTooLarge, ErrTooLarge, "The request is too large.",
		fmt.Sprintf("A request has at most %d bytes.", MaxBody),
	},
	{
		"not-a-directory", http.StatusConflict, syscall.ENOTDIR, "A file is where a directory should be.",
		"Name another directory, or move that file away.",
	},
	{
		"certificate-exists", http.StatusConflict, certs.ErrExists, "A certificate would replace a file.",
		"Move the file away, or name another directory with --dir. Members of one cluster need certificates of " +
			"one authority.",
	},
	{
		"authority-unusable", http.StatusConflict, certs.ErrAuthority,
		"The authority in the directory cannot sign certificates for this cluster.",
		"Correct what the message names, or name another directory with --dir; then all members need new certificates.",
	},
	{
		"too-many-files", http.StatusServiceUnavailable, syscall.EMFILE, "The process has too many files open.",
		"Allow more: `ulimit -n`, or LimitNOFILE= in the unit of the service; a host needs some thousands.",
	},
	{
		"permission-denied", http.StatusForbidden, fs.ErrPermission, "The operating system does not permit it.",
		"Run the command as the user who owns the file or directory that the message names, or give that user " +
			"the right.",
	},
	{
		"path-unusable", http.StatusNotFound, errPath,
		"There is no such file or directory, and none can be made there.",
		"Correct the path that the message names: its directory must be there, on a file system that takes files " +
			"(/proc does not, nor does one that is mounted read-only), and a directory is no file.",
	},
	{
		"timeout", http.StatusGatewayTimeout, ErrTimeout, "The answer took too long.",
		"Try again. If that does not help, look at the host's log.",
	},
	{
		"internal", http.StatusInternalServerError, errOther, "Something went wrong.",
		"The message says what; the host's log may say more.",
	},
}
