// Package datadir knows the layout of the data directory and guards it.
//
//	format            version of the layout, "hostnode 1"
//	hostnode.lock     held by the one process that uses the directory; names its pid
//	hostnode.sock     where commands talk to a running host
//	socket.path       where that is instead, when the directory's own path is too long
//	hostnode.yaml     settings, if the operator wants a file
//	account           the address of the account that the directory belongs to
//	account.key       the account's private key
//	events/           the event store
//	token.json        what the market's token is called, and its decimals
//	slots/            slots of others, with their trees
//	sectors/          the files of sectors
//	pieces/           the data of pieces that are in sectors, or will be
//	chain/            the development chain
//	outbox/           transactions that were signed and perhaps sent
//	views/            projections; can be deleted, they are made again
//
// Open makes what is missing, checks the format and takes the lock. A Layout only
// knows names; commands use it to find the socket of a running host.
package datadir
