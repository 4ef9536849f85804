package api

import (
	"net/http"
	"syscall"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/serverviews"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/storage"
)

// recordKinds are about what is stored: slots, event store, views.
var recordKinds = []kind{
	{
		"slots-in-use", http.StatusConflict, storage.ErrInUse, "Another process has the slots open.",
		"Stop that process.",
	},
	{
		"slots-newer", http.StatusConflict, storage.ErrNewerFormat,
		"A newer version of hostnode wrote the slots.",
		"Use that version. If no newer version was ever used here, the file `slots/FORMAT` is damaged: remove it; " +
			"it is made again.",
	},
	{
		"store-in-use", http.StatusConflict, embedded.ErrInUse, "Another process has the event store open.",
		"Stop that process.",
	},
	{
		"store-damaged", http.StatusInternalServerError, events.ErrDamaged,
		"Stored events do not match their checksums.",
		"Check the disk. Restore the directory `events` from a backup, or, without one, accept the loss: " +
			"stop the host and " +
			"run `hostnode repair`, which shows what would be lost and asks. `hostnode audit` names all damage.",
	},
	{
		"store-newer", http.StatusConflict, embedded.ErrNewerFormat,
		"A newer version of hostnode wrote the event store.", "Use that version.",
	},
	{
		"store-foreign", http.StatusConflict, embedded.ErrNotAStore, "The directory is not an event store.",
		"Check --data-dir; move foreign files out of its directory `events`.",
	},
	{
		"store-url", http.StatusBadRequest, esdb.ErrURL, "The connection string of the event store cannot be used.",
		"Correct `eventStore.url` (--store) as the message says; `hostnode config example` has an example.",
	},
	{
		"store-settings", http.StatusBadRequest, esdb.ErrSettings,
		"With these settings no connection to the event store can be made.",
		"The end of the message says what to check: the host and settings in `eventStore.url` (--store), or " +
			"the server's certificate.",
	},
	{
		"store-away", http.StatusServiceUnavailable, events.ErrAway, "The event store does not answer.",
		"Check that its server runs and that the address is right; then run the command again.",
	},
	{
		"store-denied", http.StatusForbidden, events.ErrDenied, "The event store refuses this user.",
		"Check the user, its password file and its rights there.",
	},
	{
		"event-newer", http.StatusConflict, events.ErrNewerEvent,
		"An event was written by a newer version of hostnode.", "Use that version.",
	},
	{
		"event-unknown", http.StatusConflict, events.ErrUnknownEvent,
		"There is an event that this version of hostnode does not know.",
		"Use the version that wrote it. If another program wrote it, `hostnode audit` says where; " +
			"only a host may write its streams.",
	},
	{
		"record-moved", http.StatusConflict, events.ErrWrongRevision,
		"New events were appended while this was decided.",
		"Run the command again. If that does not help, another program writes the streams of this host; " +
			"find and stop it.",
	},
	{
		"record-elsewhere", http.StatusConflict, datadir.ErrNoRecord,
		"The host of this data directory keeps its events in another event store, or has lost them.",
		"Name the store with --store, or as `eventStore.url` in the configuration " +
			"(hostnode.yaml in the data directory). " +
			"If they were in the directory `events`, restore that from a backup.",
	},
	{
		"store-failed", http.StatusInternalServerError, events.ErrStoreFailed,
		"The event store has failed and accepts no more events.",
		"Check that the disk is neither full nor failing, then start the host again. " +
			"What was acknowledged is safe.",
	},
	{
		"disk-full", http.StatusInsufficientStorage, syscall.ENOSPC, "A disk is full.",
		"Make room on the disk that the message names, then start again. What was acknowledged is safe.",
	},
	{
		"projection-faulted", http.StatusBadGateway, serverviews.ErrFaulted,
		"A projection in the event store was started, but has stopped.",
		"The message has the server's reason. If an event took too long, start the server with a larger " +
			"--projection-execution-timeout; then run `hostnode projections install` again.",
	},
	{
		"projection-stuck", http.StatusBadGateway, serverviews.ErrStuck,
		"The event store does not finish what a projection was to do.",
		"The message says what. Look at the projection in the server's web page and log; restart the server if it " +
			"does not move, then repeat the command.",
	},
	{
		"no-projections", http.StatusNotImplemented, serverviews.ErrNoProjections,
		"There are no projections in this event store.",
		"None are needed: `hostnode status`, `availability list`, `sales` and `queue` show hostnode's own " +
			"views. Projections need an EventStoreDB that runs them: start it with RunProjections=All.",
	},
}
