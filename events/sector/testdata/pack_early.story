# Somebody wants the sector packed while a piece is under way; packing fails, and is repeated by hand.

say SectorStartEmpty
----
SectorStartEmpty sector=1 provider=0xcdcd size=2048 by=operator
SectorStepScheduled step=OpenSpace attempt=1 key=OpenSpace:1:1
  Empty: OpenSpace:1:1

done SectorOpened
----
SectorOpened unsealed=2048 sealed=2048 tree=4096 scratch=100 deposit=5000
  Empty: nothing to do

say SectorAddPiece
----
SectorAddPiece piece={SectorPiece cid=baga6ea4seaqa size=1024 payload=1000} by=operator
SectorStepScheduled step=AddPiece attempt=1 key=AddPiece:1:1
  AddPiece: AddPiece:1:1

say SectorStartPacking by=operator
----
SectorStartPacking by=operator
  AddPiece: AddPiece:1:1

say SectorStartPacking by=operator
----
nothing follows

done SectorPieceAdded
----
SectorPieceAdded
SectorStartPacking by="the host, because the sector was to be packed when its pieces had come"
SectorStepScheduled step=Pack attempt=1 key=Pack:1:1
  Packing: Pack:1:1

done SectorPackingFailed
{"reason": "piece baga6ea4seaqa is not what its commitment says"}
----
SectorPackingFailed reason="piece baga6ea4seaqa is not what its commitment says"
SectorParked reason="its pieces cannot be sealed: piece baga6ea4seaqa is not what its commitment says" actions=[SectorRestart SectorForceState SectorRemove]
  PackingFailed: parked: its pieces cannot be sealed: piece baga6ea4seaqa is not what its commitment says; SectorRestart, SectorForceState, SectorRemove

say SectorRestart by=operator
----
SectorRestart by=operator
SectorRetryPacking
SectorStepScheduled step=Pack attempt=2 key=Pack:1:2
  Packing: Pack:1:2

done SectorPacked
----
SectorPacked fillers=[{SectorPiece cid=baga6ea4seaqb size=1024}]
SectorStepScheduled step=GetTicket attempt=1 key=GetTicket:1:1
  PreCommit1: GetTicket:1:1
