// Package devchain is an Ethereum chain for one machine, kept in a directory: a real node with
// JSON-RPC, built from go-ethereum's library packages, that seals a block only when told to.
//
// Its time is its own. The genesis block has the time of the first start, and every block comes one
// second after its parent, whatever the clocks say. So time stands still while the process is down,
// and nobody misses a proof because the machine slept. The process that starts the chain sets its pace: see
// Chain.Run and FixedPace.
//
// The directory survives the death of the process at any moment: a block that a client has seen is
// never lost (leveldb as an archive, spec/ethereum.md §11). At the first start 257 empty blocks are
// sealed, because the marketplace cannot be deployed earlier.
//
// The rules are those of Osaka, pinned: go-ethereum's own development mode uses future rules, under
// which gas costs several times as much (spec/ethereum.md §3).
//
// Another process can control the chain over IPC with the namespace devchain (Remote): seal(n),
// fork(hash, drop), reorganize(depth, drop), warp(seconds), fund(address, wei), pause(on),
// hold(on), raiseBaseFee(gwei). The last three stay on until they are turned off or the process
// ends. HTTP and WebSocket offer none of it.
//
// Not for: any chain that matters. A client that reaches the endpoints can create money from nothing;
// they are on loopback only, and the daemon refuses development accounts on any other chain.
package devchain
