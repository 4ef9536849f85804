// Package devchain is an Ethereum chain for one machine, kept in a directory: a real
// node with JSON-RPC, made of go-ethereum's library packages, that seals its blocks
// only when it is told to.
//
// Its time is its own. The genesis block has the time of the first start; every block
// comes one second after its parent, whatever the clocks say. So time stands still
// while the process is down, and nobody misses a proof because a machine slept. Who
// starts the chain paces it: see Chain.Run and FixedPace.
//
// The directory survives the death of the process at any moment: a block that a client
// has seen is never lost (leveldb as an archive, spec/ethereum.md §11). On the first start 257
// empty blocks are sealed, because the marketplace cannot be deployed before.
//
// The rules are those of Osaka, pinned: go-ethereum's own development default runs
// future rules, under which gas costs several times as much (spec/ethereum.md §3).
//
// A second process controls the chain over IPC with the namespace devchain (Remote):
// seal(n), fork(hash, drop), reorganize(depth, drop), warp(seconds), fund(address, wei),
// pause(on), hold(on), raiseBaseFee(gwei). The last three stay on until they are turned
// off or the process ends. HTTP and WebSocket do not offer any of it.
//
// Not for: any chain that matters. Whoever reaches the endpoints can make money from
// nothing; they are on loopback only, and the daemon refuses development accounts on
// any other chain.
package devchain
