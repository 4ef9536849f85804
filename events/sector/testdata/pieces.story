# Pieces come one by one; a bad one is tried again; a full sector packs itself.

say SectorStartEmpty
{"size": "4096"}
----
SectorStartEmpty sector=1 provider=0xcdcd size=4096 by=operator
SectorStepScheduled step=OpenSpace attempt=1 key=OpenSpace:1:1
  Empty: OpenSpace:1:1

# Nothing is written before the ledger holds space.
done SectorOpened
----
SectorOpened unsealed=2048 sealed=2048 tree=4096 scratch=100 deposit=5000
  Empty: nothing to do

say SectorAddPiece by=operator
{"piece": {"cid": "a", "size": "2048", "payload": "2000"}}
----
SectorAddPiece piece={SectorPiece cid=a size=2048 payload=2000} by=operator
SectorStepScheduled step=AddPiece attempt=1 key=AddPiece:1:1
  AddPiece: AddPiece:1:1

# A second waits in line.
say SectorAddPiece by=operator
{"piece": {"cid": "b", "size": "1024", "payload": "1000"}}
----
SectorAddPiece piece={SectorPiece cid=b size=1024 payload=1000} by=operator
  AddPiece: AddPiece:1:1

say SectorAddPiece by=operator
{"piece": {"cid": "b", "size": "1024", "payload": "1000"}}
----
error: piece b: the piece is in the sector already

say SectorAddPiece by=operator
{"piece": {"cid": "c", "size": "2048", "payload": "2000"}}
----
error: piece c: the piece does not fit into the sector: it has 2048 bytes, of 4096 are 1024 left

say SectorAddPiece by=operator
{"piece": {"cid": "c", "size": "1000", "payload": "900"}}
----
error: piece c: impossible size: 1000 bytes for 900 of data, want a power of two from 128 that holds them, and some data

show
----
sector 1, 4096 bytes, 0 pieces, 2 pending, 1024 left at 0
ticket of 0, seed of 0, proof "", 0 invalid; space 8292, deposit 5000: 0 returned, 0 lost
last error "", failures map[], wanted by ""

done SectorPieceAdded
----
SectorPieceAdded
SectorStepScheduled step=AddPiece attempt=2 key=AddPiece:1:2
  WaitDeals: AddPiece:1:2

done SectorAddPieceFailed
{"reason": "the file is truncated"}
----
SectorAddPieceFailed reason="the file is truncated"
SectorRetryScheduled until=+15s reason="the file is truncated"
  AddPieceFailed: waits until +15s

wait for=1s
----
nothing follows

wait
----
SectorRetryWaitDeals
SectorStepScheduled step=AddPiece attempt=3 key=AddPiece:1:3
  WaitDeals: AddPiece:1:3

done SectorPieceAdded
----
SectorPieceAdded
  WaitDeals: nothing to do

show
----
sector 1, 4096 bytes, 2 pieces, 0 pending, 1024 left at 3072
ticket of 0, seed of 0, proof "", 0 invalid; space 8292, deposit 5000: 0 returned, 0 lost
last error "the file is truncated", failures map[], wanted by ""

say SectorAddPiece by=operator
{"piece": {"cid": "d", "size": "1024", "payload": "1000"}}
----
SectorAddPiece piece={SectorPiece cid=d size=1024 payload=1000} by=operator
SectorStepScheduled step=AddPiece attempt=4 key=AddPiece:1:4
  AddPiece: AddPiece:1:4

done SectorPieceAdded
----
SectorPieceAdded
SectorStartPacking by="the host, because the sector is full"
SectorStepScheduled step=Pack attempt=1 key=Pack:1:1
  Packing: Pack:1:1

# A sealer that lies about what it filled.
done SectorPacked
{"fillers": [{"cid": "z", "size": "1024"}]}
----
error: a report that cannot be true: packed to 5120 bytes of 4096

done SectorPacked bare
----
SectorPacked
SectorStepScheduled step=GetTicket attempt=1 key=GetTicket:1:1
  PreCommit1: GetTicket:1:1
