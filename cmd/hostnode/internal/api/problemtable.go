package api

import (
	"net/http"
	"slices"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/cluster"
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
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/prover"
)

// kinds is the table of all errors that an operator can see. The first row that
// matches an error counts, so a wrapping error must come before the one that it
// wraps.
var kinds = slices.Concat(hostKinds, sectorKinds, recordKinds, fileKinds)

// hostKinds are about settings, the host's process, its account and the chain.
var hostKinds = []kind{
	{
		"point-invalid", http.StatusBadRequest, errNoPoint, "That is no point in the record.",
		"Write one as the message says; times are compared with this machine's clock.",
	},
	{
		"bad-request", http.StatusBadRequest, ErrBadRequest, "The request makes no sense.",
		"Correct what the message names. Ids of slots are in `hostnode sales --all`, those of availabilities in " +
			"`hostnode availability list`.",
	},
	{
		"config-invalid", http.StatusBadRequest, config.ErrInvalid,
		"A setting is unknown, or its value is not allowed.",
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
		"availability-invalid", http.StatusBadRequest, capacity.ErrInvalid, "The availability is not valid.",
		"Size, duration, minimum price and collateral must all be more than zero.",
	},
	{
		"host-silent", http.StatusServiceUnavailable, ErrSilent, "The host's process runs but does not answer.",
		"Is it stopped (SIGSTOP, a debugger), or is the machine overloaded? `kill -CONT PID` lets a stopped " +
			"process go on; " +
			"the file hostnode.lock in the data directory has the PID.",
	},
	{
		"host-standby", http.StatusServiceUnavailable, ErrStandby, "The host is starting or stopping.",
		"`hostnode status` says what it is waiting for. Try again when it runs; its data can be inspected meanwhile.",
	},
	{
		"account-key-lost", http.StatusConflict, node.ErrKeyLost, "The key of the directory's account is missing.",
		"Restore the key from your copy: `hostnode key import`. Without it nobody can prove or free " +
			"what the account " +
			"hosts. A host with a new account needs another --data-dir.",
	},
	{
		"account-other", http.StatusConflict, datadir.ErrOtherAccount,
		"The data directory belongs to another account.",
		"Use the key of the account that the message names (--account-key-file, or `hostnode key import`), or " +
			"another --data-dir for this one. Nothing was changed.",
	},
	{
		"account-illegible", http.StatusConflict, datadir.ErrOwner,
		"The file that names the data directory's account is unreadable.",
		"If you are sure which account the directory belongs to, write its address (`hostnode key show`) into " +
			"the file that the message names.",
	},
	{
		"availability-over", http.StatusBadRequest, ErrOver,
		"Nothing could be sold of it: its end is not in the future.",
		"Give a time in the future, or `never` for no end. To sell nothing more of an availability: " +
			"`hostnode availability disable ID`.",
	},
	{
		"quota-exceeded", http.StatusConflict, errNoSpace, "The quota has no room for it.",
		"Make the availability smaller, raise `quota` in the configuration and start the host again, or " +
			"remove another availability; `hostnode status` shows how the quota is used.",
	},
	{
		"disk-too-small", http.StatusConflict, errDiskSmall,
		"The file system has no room for everything that would be on offer.",
		"Offer less, or make room on the file system of the data directory, where `storage.keepFree` must stay " +
			"free.",
	},
	{
		"availability-exists", http.StatusConflict, capacity.ErrExists, "Another availability has this id.",
		"Leave the id out; the host chooses one.",
	},
	{
		"availability-unknown", http.StatusNotFound, capacity.ErrUnknownAvailability,
		"There is no such availability.", "`hostnode availability list` shows all of them with their ids.",
	},
	{
		"availability-in-use", http.StatusConflict, capacity.ErrInUse,
		"The change would take away what sales need.",
		"Leave what the message says that sales use, or stop selling with `hostnode availability disable ID`, and " +
			"try again when they have ended.",
	},
	{
		"ledger-full", http.StatusConflict, capacity.ErrLimit, "The ledger has reached its limit of entries.",
		"Remove availabilities that are not needed, or replace many small ones by a large one.",
	},
	{
		"sale-unknown", http.StatusNotFound, ErrUnknownSale,
		"This host has never had a sale of that slot, and its queue knows none that begins so.",
		"`hostnode sales --all` shows all sales with their slots.",
	},
	{
		"stream-unknown", http.StatusNotFound, replay.ErrUnknownStream, "There is no such stream.",
		"Give the stream's name or the beginning of it, such as `capacity`, `sector-7` or the first digits of a " +
			"slot; `hostnode sales --all` shows the slots of all sales.",
	},
	{
		"before-record", http.StatusNotFound, replay.ErrBefore, "Nothing was recorded yet at that point.",
		"Choose a later point; the message says when the first event was recorded.",
	},
	{
		"beyond-record", http.StatusNotFound, replay.ErrBeyond, "The last event is before that point.",
		"Choose an earlier point, or leave --at out; the message names the last event.",
	},
	{"id-ambiguous", http.StatusConflict, ErrAmbiguous, "Several ids begin like that.", "Give more digits of the id."},
	{
		"host-starting", http.StatusServiceUnavailable, actors.ErrStarting,
		"The host is waiting for the chain.",
		"Try again soon. If that does not help, check `chain.endpoint` and the host's log.",
	},
	{
		"host-stopped", http.StatusServiceUnavailable, actors.ErrStopped, "The host is stopping.",
		"Start it again: `hostnode run`.",
	},
	{
		"host-busy", http.StatusServiceUnavailable, shell.ErrOverloaded, "Too many commands are waiting for the host.",
		"Try again soon.",
	},
	{
		"host-not-running", http.StatusServiceUnavailable, ErrNotRunning, "No host answers on the socket.",
		"Start one: `hostnode run`; or name another directory with --data-dir.",
	},
	{
		"record-away", http.StatusServiceUnavailable, shell.ErrStoreAway,
		"The event store does not answer the host, so nothing can be decided.",
		"`hostnode status` says since when and why. The host goes on by itself when the store is back; " +
			"then run the command again. It may have taken effect already; repeating it is harmless, " +
			"except that `availability add` adds another one: look at `hostnode availability list` first.",
	},
	{
		"part-down", http.StatusServiceUnavailable, shell.ErrPartDown,
		"A part of the host has failed and not been restarted yet.",
		"Try again soon. The message says which part and why, and the host's log has more. If its events " +
			"cannot be read, run `hostnode audit`. What is hosted is proven meanwhile.",
	},
	{
		"quarantined", http.StatusConflict, quarantine.ErrQuarantined,
		"This command made a part of the host fail before, and is refused.",
		"Find the cause in the host's log; `hostnode quarantine retry WORK` tries it again.",
	},
	{
		"not-quarantined", http.StatusNotFound, shell.ErrNotQuarantined,
		"There is nothing with this name in quarantine.",
		"`hostnode quarantine` lists what there is.",
	},
	{
		"host-broken", http.StatusInternalServerError, actors.ErrBroken, "A bug ended the host.",
		"Start it again; until then, what is hosted is not proven. It goes on from its events. Let a service " +
			"manager restart it. The host's log has the cause; please report it.",
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
		"If it is a host that is starting or stopping, try again soon; otherwise stop that " +
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
		"data-dir-format", http.StatusConflict, datadir.ErrFormat, "The format of the data directory is unreadable.",
		"Check that you mean this --data-dir. If you do, write the file again: `echo 'hostnode 1' > DIR/format`. " +
			"Nothing else was changed.",
	},
	{
		"socket-path", http.StatusConflict, datadir.ErrSocketPath,
		"There is no path short enough for the host's socket.",
		"Use a data directory with a shorter path, or a shorter TMPDIR.",
	},
	{
		"key-missing", http.StatusNotFound, keys.ErrMissing, "There is no account key.",
		"`hostnode key import FILE` installs yours; `hostnode key new` makes one for a host that never had one.",
	},
	{
		"key-exists", http.StatusConflict, keys.ErrExists, "There is an account key already.",
		"Keep it, or move the file away first. If the key is lost, so are its tokens.",
	},
	{
		"key-unprotected", http.StatusConflict, keys.ErrPermissions, "Others may read the account key.",
		"Make the file readable only by its owner (mode 0600). If others may have read it, change to a new key.",
	},
	{
		"key-malformed", http.StatusBadRequest, keys.ErrMalformed, "That is not a private key.",
		"A key file holds 64 hex digits, with or without 0x, and nothing else. If it was damaged, move it away and " +
			"install your copy of the key: `hostnode key import FILE`.",
	},
	{
		"proving-keys-other", http.StatusConflict, localchain.ErrOtherKeys,
		"The contract was deployed with other proving keys.",
		"Use the `prover.keysDir` and prover sizes of the first start, or a new data directory.",
	},
	{
		"proving-keys-damaged", http.StatusConflict, prover.ErrKeysDamaged, "Files of the proving keys are damaged.",
		"Nothing was changed. Put the file that the message names back from a backup, or from another host of the " +
			"same contract, and check the disk. No other keys can replace these: the contract takes proofs of no " +
			"others. If no contract was ever deployed with them, remove their directory, and new ones are made.",
	},
	{
		"proving-keys-missing", http.StatusNotFound, prover.ErrKeysMissing,
		"There are no proving keys for this circuit.",
		"Nothing was made in their place, because the contract takes proofs of no other keys. Check `prover.keysDir` " +
			"and the sizes of the prover, and that the disk with the keys is mounted; or put the keys back from a " +
			"backup, or from another host of the same contract.",
	},
	{
		"prover-sizes", http.StatusBadRequest, prover.ErrParams, "The sizes of the circuit are out of range.",
		"Correct the settings below `prover`.",
	},
	{
		"port-in-use", http.StatusConflict, devchain.ErrPortInUse, "Another program listens on the port.",
		"Stop that program, or choose a free port: `devchain.httpPort` and `devchain.wsPort` (0 for none), --listen " +
			"of `hostnode client serve`.",
	},
	{
		"events-address", http.StatusConflict, eventserver.ErrListen, "Events cannot be served at this address.",
		"If another program listens there, stop it, or choose another address: `serveEvents.listen` of a host, " +
			"--listen of `hostnode eventstore`. The address must be one of this machine.",
	},
	{
		"devchain-in-use", http.StatusConflict, devchain.ErrInUse, "Another process runs this development chain.",
		"Stop that process, or choose another directory with --data-dir.",
	},
	{
		"devchain-damaged", http.StatusConflict, devchain.ErrDamaged, "The embedded development chain is damaged.",
		"Restore the directory `chain` of the data directory from a copy, or start again with an empty " +
			"data directory: " +
			"the tokens of this chain are worth nothing anyway.",
	},
	{
		"chain-settings", http.StatusBadRequest, chain.ErrConfig,
		"With these settings no connection to the market can be made.",
		"Correct what the message names, in the sections `chain`, `fees` and `account`.",
	},
	{
		"chain-other", http.StatusConflict, rpc.ErrWrongChain, "The Ethereum node follows another chain.",
		"Check `chain.endpoint`.",
	},
	{
		"contract-missing", http.StatusConflict, rpc.ErrNoContract,
		"There is no marketplace contract at the address.",
		"Check `chain.contract`, and that `chain.endpoint` is a node of the right chain.",
	},
	{
		"devchain-stopped", http.StatusServiceUnavailable, localchain.ErrStopped,
		"The development chain does not run.",
		"Start the host as the message says, or `hostnode devchain` with the same --data-dir.",
	},
	{
		"chain-unavailable", http.StatusServiceUnavailable, rpc.ErrUnavailable,
		"The Ethereum node does not answer.",
		"Check that a node runs at the address that the message names: `chain.endpoint` (--chain-endpoint), or " +
			"--chain of `hostnode audit`. A host goes on by itself when it is back.",
	},
	{
		"outbox-other", http.StatusConflict, tx.ErrForeignOutbox,
		"The outbox of transactions belongs to another account or chain.",
		"Use the account key that this data directory was made with, and make sure that `chain.endpoint` and all of " +
			"`chain.fallbacks` are nodes of its chain; another chain needs another `--data-dir`.",
	},
	{
		"outbox-damaged", http.StatusInternalServerError, tx.ErrOutboxDamaged,
		"The outbox of transactions is damaged.",
		"Check the disk, then run `hostnode repair`. It completes the outbox from the event store and from what is " +
			"readable, shows what would be lost, asks, and keeps the damaged file. Do not remove that: it may hold " +
			"transactions that were sent.",
	},
	{
		"account-taken-over", http.StatusConflict, errTakenOver,
		"Another process runs this host or sends transactions for its account, so this one has ended.",
		"Keep the process that has the data of the slots, and stop all others that use this key for good; " +
			"`hostnode status` says where the host last ran.",
	},
	{
		"host-elsewhere", http.StatusConflict, node.ErrElsewhere,
		"By its events, or by the account's transactions on the chain, this host runs elsewhere with another data " +
			"directory, or did.",
		"Stop it there: two hosts with one account disturb each other and miss proofs. If it is gone for " +
			"good, if this is a restored backup, or if the transactions were sent by hand, start once with " +
			"`hostnode run --take-over`; slots whose data is gone cannot be proven.",
	},
	{
		"host-has-members", http.StatusConflict, membership.ErrHasMembers,
		"A process without settings of a cluster cannot run a host that has members.",
		"Set `cluster.name` and `cluster.member` as the message says; `hostnode members` shows the members. Only a " +
			"host whose one member was once the whole host can be one process again, after that member has stopped.",
	},
	{
		"cluster-other", http.StatusConflict, membership.ErrOtherCluster,
		"The record of the host knows the name of the cluster that its members are in, and this member has another, " +
			"so that they would not find each other.",
		"Correct `cluster.name`. To give the cluster another name, stop all members, change it everywhere, and start " +
			"the first one once with `hostnode run --take-over`.",
	},
	{
		"member-refused", http.StatusConflict, cluster.ErrRefused,
		"The other members of the host do not take this one: another process has its name and is alive, or they work " +
			"for another chain, contract, proving key or form of the record, or with certificates of another " +
			"authority.",
		"Correct what the message names: give each member a name of its own, and all of them the same settings of " +
			"the chain and the prover, and certificates of one authority.",
	},
	{
		"cluster-address", http.StatusConflict, cluster.ErrListen, "Other members cannot be heard at this address.",
		"If another program listens there, stop it, or choose another address for `cluster.listen`. It must be one " +
			"of this machine.",
	},
	{
		"member-settings", http.StatusBadRequest, cluster.ErrConfig,
		"A setting of the cluster, or one of its certificates, cannot be used.",
		"Correct what the message names; `hostnode cluster certs` makes certificates.",
	},
	{
		"member-other", http.StatusConflict, datadir.ErrOtherMember,
		"The data directory belongs to another member of the host.",
		"Start the member with its own data directory, whose slots it proves, or name it as the message says.",
	},
	{
		"member-unknown", http.StatusNotFound, actors.ErrUnknownMember,
		"The host has no member of that name.",
		"Use one of the names that the message lists, if it lists any (`hostnode members` shows their machines); " +
			"name no member if the host is one process.",
	},
	{
		"member-away", http.StatusServiceUnavailable, events.ErrMemberAway,
		"A member of the host does not answer. The command may have reached it all the same.",
		"Look with `hostnode members` whether it runs, and start it, or look at the way to its `cluster.listen`; " +
			"then repeat the command, which is harmless if it has taken effect.",
	},
	{
		"no-owner", http.StatusServiceUnavailable, events.ErrNoOwner,
		"No member of the host has the term, so nobody runs the queue and sends transactions.",
		"Wait some seconds and repeat the command. If it stays so, look with `hostnode members` who runs, and start " +
			"a member with `account.transactions: true`; etcd and the event store must answer.",
	},
	{
		"member-first", http.StatusConflict, membership.ErrFirstMember,
		"The first member of a host that was one process must start with that process's data directory.",
		"Add the settings of the cluster to the process that has run the host until now, and start it; then start " +
			"this member. If its data directory is gone for good, start this one once with " +
			"`hostnode run --take-over`; slots whose data is gone cannot be proven.",
	},
	{
		"account-in-use", http.StatusConflict, datadir.ErrAccountInUse,
		"Another process on this machine runs this account with another data directory.",
		"Stop that process, which the message names with its directory, or leave this one stopped. There is no " +
			"other way.",
	},
}
