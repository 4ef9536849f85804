package api

import (
	"net/http"
	"slices"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/eventserver"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/prover"
)

// kinds is the table of all errors that an operator can see. The first row that
// matches an error counts, so a wrapping error must come before the one that it
// wraps.
var kinds = slices.Concat(hostKinds, recordKinds, fileKinds)

// hostKinds are about settings, the host's process, its account and the chain.
var hostKinds = []kind{
	{
		"bad-request", http.StatusBadRequest, ErrBadRequest, "The question makes no sense.",
		"Correct what the message names.",
	},
	{
		"config-invalid", http.StatusBadRequest, config.ErrInvalid,
		"A setting is unknown or has a value that it cannot have.",
		"Correct it where the message says; `hostnode config example` explains every setting.",
	},
	{
		"config-missing", http.StatusBadRequest, config.ErrNoFile, "The configuration file does not exist.",
		"Correct --config or HOSTNODE_CONFIG; `hostnode config example` prints a file to begin with.",
	},
	{
		"size-invalid", http.StatusBadRequest, config.ErrBytes, "A size cannot be read.",
		"Write a number of bytes, or a number with a unit: 500MB, 20GiB.",
	},
	{
		"availability-invalid", http.StatusBadRequest, capacity.ErrInvalid, "An availability cannot be so.",
		"Size, duration, minimum price and collateral must all be more than zero.",
	},
	{
		"host-silent", http.StatusServiceUnavailable, ErrSilent, "The host's process is there and does not answer.",
		"Is it stopped (SIGSTOP, a debugger), or is the machine overloaded? `kill -CONT PID` lets a stopped " +
			"process go on; " +
			"the file hostnode.lock in the data directory has the PID.",
	},
	{
		"host-standby", http.StatusServiceUnavailable, ErrStandby, "The host is starting or stopping.",
		"`hostnode status` says what it waits for. Try again when it runs; the record can be looked at meanwhile.",
	},
	{
		"account-key-lost", http.StatusConflict, node.ErrKeyLost, "The key of the directory's account is missing.",
		"Bring that key back from its copy: `hostnode key import`. Without it nobody can prove or free " +
			"what the account " +
			"hosts; a host with a new account begins in another --data-dir.",
	},
	{
		"account-other", http.StatusConflict, datadir.ErrOtherAccount, "The data directory belongs to another account.",
		"Use the key of the account that the message names (--account-key-file, or `hostnode key import`), " +
			"or another " +
			"--data-dir for this one. Nothing was changed.",
	},
	{
		"account-illegible", http.StatusConflict, datadir.ErrOwner,
		"The data directory does not say legibly whose it is.",
		"Write the account's address (`hostnode key show`) into the file that the message names, if you are sure " +
			"that " +
			"the directory is of this account.",
	},
	{
		"availability-over", http.StatusBadRequest, ErrOver, "Nothing could be sold of it: its end is not to come.",
		"Name a time to come, or `never` for no end. To sell nothing more of an availability: `hostnode availability " +
			"disable ID`.",
	},
	{
		"quota-exceeded", http.StatusConflict, errNoSpace, "The quota has no room for it.",
		"Make the availability smaller, raise `quota` in the configuration and start the host again, or " +
			"remove another availability; `hostnode status` shows where every byte is.",
	},
	{
		"disk-too-small", http.StatusConflict, errDiskSmall, "The file system has no room for what would be on offer.",
		"Offer less, or make room on the file system of the data directory; `storage.keepFree` is what stays " +
			"free of it.",
	},
	{
		"availability-exists", http.StatusConflict, capacity.ErrExists, "Another availability has this id.",
		"Leave the id out; one is drawn.",
	},
	{
		"availability-unknown", http.StatusNotFound, capacity.ErrUnknownAvailability,
		"There is no such availability.", "`hostnode availability list` shows all with their ids.",
	},
	{
		"availability-in-use", http.StatusConflict, capacity.ErrInUse,
		"Sales depend on what the change would take away.",
		"Disable it with `hostnode availability disable ID`, wait until its sales have ended, then try again.",
	},
	{
		"ledger-full", http.StatusConflict, capacity.ErrLimit, "The ledger holds as many entries as it may.",
		"Remove availabilities that are not needed; make one large one out of many small ones.",
	},
	{
		"sale-unknown", http.StatusNotFound, ErrUnknownSale, "This host has never had a sale of that slot.",
		"`hostnode sales --all` shows all with their slots.",
	},
	{
		"stream-unknown", http.StatusNotFound, replay.ErrUnknownStream, "The record has no such stream.",
		"Give the whole name, or its first characters; `hostnode sales --all` shows the slots of all sales.",
	},
	{
		"before-record", http.StatusNotFound, replay.ErrBefore, "Nothing was recorded yet at that point.",
		"Choose a later point; the message says when the record begins.",
	},
	{
		"beyond-record", http.StatusNotFound, replay.ErrBeyond, "The record ends before that point.",
		"Choose an earlier point, or leave --at out; the message says where the record ends.",
	},
	{"id-ambiguous", http.StatusConflict, ErrAmbiguous, "Several ids begin so.", "Give more digits of the id."},
	{
		"host-starting", http.StatusServiceUnavailable, actors.ErrStarting,
		"The host waits for the chain before it can do anything.",
		"Try again in a moment; when it stays so, check `chain.endpoint` and the host's log.",
	},
	{
		"host-stopped", http.StatusServiceUnavailable, actors.ErrStopped, "The host is stopping.",
		"Start it again: `hostnode run`.",
	},
	{
		"host-busy", http.StatusServiceUnavailable, shell.ErrOverloaded, "Too many commands wait for the host.",
		"Try again in a moment.",
	},
	{
		"host-not-running", http.StatusServiceUnavailable, ErrNotRunning, "No host answers on the socket.",
		"Start one: `hostnode run`; or name another directory with --data-dir.",
	},
	{
		"record-away", http.StatusServiceUnavailable, shell.ErrRecordAway,
		"The event store does not answer the host, so nothing can be decided.",
		"`hostnode status` says since when and why; the host goes on by itself when the store is back. " +
			"Then run the command again. What was on its way may have taken effect, and doing it twice is harmless; " +
			"but `availability add` adds another one, so look at `hostnode availability list` first.",
	},
	{
		"part-down", http.StatusServiceUnavailable, shell.ErrPartDown,
		"A part of the host failed and is not started again yet.",
		"Try again in a moment; the message says which part and why, and the host's log has more. When its record " +
			"cannot be read, look at it with `hostnode audit`. What is hosted is proven meanwhile.",
	},
	{
		"quarantined", http.StatusConflict, quarantine.ErrQuarantined,
		"What was asked made a part of the host fail before, and is refused.",
		"Find the cause in the host's log; `hostnode quarantine retry WORK` tries it again.",
	},
	{
		"not-quarantined", http.StatusNotFound, shell.ErrNotQuarantined, "Nothing of that name is quarantined.",
		"`hostnode quarantine` lists what is.",
	},
	{
		"host-broken", http.StatusInternalServerError, actors.ErrBroken, "A bug ended the host.",
		"Start it again: it goes on from its record, and what is hosted is not proven until it does. Let a service " +
			"manager do that. The host's log has the cause; report it.",
	},
	{
		"other-market", http.StatusConflict, actors.ErrOtherMarket,
		"The data directory belongs to another chain or contract.",
		"Use the chain and contract that the message names, or another directory with --data-dir.",
	},
	{
		"other-chain", http.StatusConflict, actors.ErrOtherChain,
		"The event store has the record of another chain with the same chain id and contract address.",
		"A chain that was begun anew needs an event store of its own: another server for --store, or another " +
			"directory with --data-dir. Or use the chain that the record is of.",
	},
	{
		"data-dir-in-use", http.StatusConflict, datadir.ErrInUse, "Another process uses the data directory.",
		"If that is a host which is just starting or stopping, try again in a moment; otherwise stop that " +
			"process, or choose another directory with --data-dir.",
	},
	{
		"data-dir-newer", http.StatusConflict, datadir.ErrNewerFormat,
		"A newer version of hostnode made the data directory.",
		"Use that version, or another directory with --data-dir. Nothing was changed.",
	},
	{
		"data-dir-empty", http.StatusNotFound, datadir.ErrEmpty, "No host has ever used this data directory.",
		"Check --data-dir, or start a host there: `hostnode run`.",
	},
	{
		"data-dir-format", http.StatusConflict, datadir.ErrFormat, "The data directory has no legible format.",
		"Check that --data-dir is the one you mean; if it is, write its file anew: `echo 'hostnode 1' > DIR/format`. " +
			"Nothing else was changed.",
	},
	{
		"socket-path", http.StatusConflict, datadir.ErrSocketPath, "There is no place for the host's socket.",
		"Use a data directory with a shorter path, or a shorter TMPDIR.",
	},
	{
		"key-missing", http.StatusNotFound, keys.ErrMissing, "There is no account key.",
		"`hostnode key import FILE` brings yours; `hostnode key new` makes one for a host that had none.",
	},
	{
		"key-exists", http.StatusConflict, keys.ErrExists, "There is an account key already.",
		"Keep it, or move the file away first. Tokens of a key that is lost are lost.",
	},
	{
		"key-unprotected", http.StatusConflict, keys.ErrPermissions, "Others may read the account key.",
		"Make the file readable by its owner alone (mode 0600); if others may have read it, move to a new key.",
	},
	{
		"key-malformed", http.StatusBadRequest, keys.ErrMalformed, "That is no private key.",
		"A key file holds 64 hex digits, with or without 0x, and nothing else. If it was damaged, move it away and " +
			"bring your copy of the key: `hostnode key import FILE`.",
	},
	{
		"proving-keys-other", http.StatusConflict, localchain.ErrOtherKeys,
		"The contract was deployed with other proving keys.",
		"Use the `prover.keysDir` and prover sizes of the first start, or a new data directory.",
	},
	{
		"proving-keys-damaged", http.StatusConflict, prover.ErrKeysDamaged, "Proving key files are damaged.",
		"Remove the directory that the message names; development keys are made again.",
	},
	{
		"proving-keys-missing", http.StatusNotFound, prover.ErrKeysMissing, "There are no keys for this circuit.",
		"Check `prover.keysDir` and the sizes of the prover.",
	},
	{
		"prover-sizes", http.StatusBadRequest, prover.ErrParams, "The sizes of the circuit are out of range.",
		"Correct the settings below `prover`.",
	},
	{
		"port-in-use", http.StatusConflict, devchain.ErrPortInUse, "Something else listens on the port.",
		"Stop it, or set `devchain.httpPort` and `devchain.wsPort` to free ports or 0.",
	},
	{
		"events-address", http.StatusConflict, eventserver.ErrListen, "Events cannot be served at this address.",
		"When something else listens there, stop it, or choose another address: `serveEvents.listen` of a host, " +
			"--listen of `hostnode eventstore`. The address must be one of this machine.",
	},
	{
		"devchain-in-use", http.StatusConflict, devchain.ErrInUse, "Another process runs this development chain.",
		"Stop that process, or choose another directory with --data-dir.",
	},
	{
		"devchain-damaged", http.StatusConflict, devchain.ErrDamaged, "The embedded development chain is damaged.",
		"Restore the directory `chain` of the data directory from a copy, or begin again with an empty " +
			"data directory: " +
			"the tokens of this chain are worth nothing.",
	},
	{
		"chain-settings", http.StatusBadRequest, chain.ErrConfig,
		"With these settings no connection to the market can be made.",
		"Correct what the message names; the settings are those below `chain`, `fees` and `account`.",
	},
	{
		"chain-other", http.StatusConflict, rpc.ErrWrongChain, "The Ethereum node follows another chain.",
		"Check `chain.endpoint`.",
	},
	{
		"contract-missing", http.StatusConflict, rpc.ErrNoContract,
		"There is no marketplace contract at the address.",
		"Check `chain.contract` and that `chain.endpoint` is a node of the right chain.",
	},
	{
		"chain-unavailable", http.StatusServiceUnavailable, rpc.ErrUnavailable,
		"The Ethereum node does not answer.",
		"Check that the node at `chain.endpoint` runs; the host goes on by itself when it is back.",
	},
	{
		"outbox-other", http.StatusConflict, tx.ErrForeignOutbox,
		"The outbox of transactions belongs to another account or chain.",
		"Use the account key that this data directory was made with, and see that `chain.endpoint` and all of " +
			"`chain.fallbacks` are nodes of its chain; another chain needs another `--data-dir`.",
	},
	{
		"outbox-damaged", http.StatusInternalServerError, tx.ErrOutboxDamaged,
		"The outbox of transactions is damaged.",
		"Check the disk, then run `hostnode repair`: it completes the outbox from the event store and from what is " +
			"legible, shows what would be lost, asks, and keeps the damaged file beside. Do not remove it: " +
			"it may hold " +
			"transactions that were sent.",
	},
	{
		"account-taken-over", http.StatusConflict, errTakenOver,
		"Another process runs this host or sends transactions for its account, so this one has ended.",
		"Keep the one that has the data of the slots, and stop every other one that uses this key for good; " +
			"`hostnode status` says where the host was last heard.",
	},
	{
		"host-elsewhere", http.StatusConflict, node.ErrElsewhere,
		"By the record, or by the account's transactions on the chain, this host runs elsewhere with another data " +
			"directory, or did.",
		"Stop it there; two hosts with one account spoil each other's record and miss proofs. If it is gone for " +
			"good, if this is a restored backup, or if the transactions were sent by hand, begin once with " +
			"`hostnode run --take-over`; slots whose data is gone cannot be proven.",
	},
	{
		"account-in-use", http.StatusConflict, datadir.ErrAccountInUse,
		"A process that lives on this machine runs this account with another data directory.",
		"Stop that process, or leave this one stopped: the message names it and its directory. There is no other way " +
			"to begin.",
	},
}
