# Sealing fails until it is parked; somebody goes on with it.

say SectorStart
----
SectorStart sector=1 provider=0xcdcd size=2048 pieces=[{SectorPiece cid=baga6ea4seaqa size=1024 payload=1000}] by=operator
SectorStepScheduled step=OpenSpace attempt=1 key=OpenSpace:1:1
  Packing: OpenSpace:1:1

done SectorOpened
----
SectorOpened unsealed=2048 sealed=2048 tree=4096 scratch=100 deposit=5000
SectorStepScheduled step=Pack attempt=1 key=Pack:1:1
  Packing: Pack:1:1

done SectorPacked
----
SectorPacked fillers=[{SectorPiece cid=baga6ea4seaqb size=1024}]
SectorStepScheduled step=GetTicket attempt=1 key=GetTicket:1:1
  PreCommit1: GetTicket:1:1

done SectorTicket
----
SectorTicket value=0xabab epoch=300
SectorStepScheduled step=PreCommit1 attempt=1 key=PreCommit1:1:1
  PreCommit1: PreCommit1:1:1

done SectorSealPreCommitFailed
{"reason": "the disk is full"}
----
SectorSealPreCommitFailed reason="the disk is full"
SectorRetryScheduled until=+15s reason="the disk is full"
  SealFailed: waits until +15s

wait
----
SectorRetrySeal
SectorStepScheduled step=GetTicket attempt=2 key=GetTicket:1:2
  PreCommit1: GetTicket:1:2

done SectorTicket
{"epoch": "301"}
----
SectorTicket value=0xabab epoch=301
SectorStepScheduled step=PreCommit1 attempt=2 key=PreCommit1:1:2
  PreCommit1: PreCommit1:1:2

done SectorSealPreCommitFailed
{"reason": "the disk is full"}
----
SectorSealPreCommitFailed reason="the disk is full"
SectorRetryScheduled until=+45s reason="the disk is full"
  SealFailed: waits until +45s

wait
----
SectorRetrySeal
SectorStepScheduled step=GetTicket attempt=3 key=GetTicket:1:3
  PreCommit1: GetTicket:1:3

done SectorTicket
{"epoch": "302"}
----
SectorTicket value=0xabab epoch=302
SectorStepScheduled step=PreCommit1 attempt=3 key=PreCommit1:1:3
  PreCommit1: PreCommit1:1:3

done SectorSealPreCommitFailed
{"reason": "the disk is full"}
----
SectorSealPreCommitFailed reason="the disk is full"
SectorRetryScheduled until=+1m45s reason="the disk is full"
  SealFailed: waits until +1m45s

wait
----
SectorRetrySeal
SectorStepScheduled step=GetTicket attempt=4 key=GetTicket:1:4
  PreCommit1: GetTicket:1:4

done SectorTicket
{"epoch": "303"}
----
SectorTicket value=0xabab epoch=303
SectorStepScheduled step=PreCommit1 attempt=4 key=PreCommit1:1:4
  PreCommit1: PreCommit1:1:4

# A fourth time.
done SectorSealPreCommitFailed
{"reason": "the disk is full"}
----
SectorSealPreCommitFailed reason="the disk is full"
SectorParked reason="failed 4 times: the disk is full" actions=[SectorRestart SectorForceState SectorRemove]
  SealFailed: parked: failed 4 times: the disk is full; SectorRestart, SectorForceState, SectorRemove

crash
----
  SealFailed: parked: failed 4 times: the disk is full; SectorRestart, SectorForceState, SectorRemove

wait for=10h
----
nothing follows

say SectorRestart by=operator
----
SectorRestart by=operator
SectorRetrySeal
SectorStepScheduled step=GetTicket attempt=5 key=GetTicket:1:5
  PreCommit1: GetTicket:1:5

# Asked twice: once.
say SectorRestart by=operator
----
nothing follows

done SectorTicket
----
SectorTicket value=0xabab epoch=300
SectorStepScheduled step=PreCommit1 attempt=5 key=PreCommit1:1:5
  PreCommit1: PreCommit1:1:5

done SectorPreCommit1
----
SectorPreCommit1 out=0x0102
SectorStepScheduled step=PreCommit2 attempt=1 key=PreCommit2:1:1
  PreCommit2: PreCommit2:1:1

# The result of the attempt before comes now.
late SectorPreCommit2
----
nothing follows

# A sealer outside calls back about a step that is over.
say SectorPreCommit1 by=sealer
----
SectorEventRefused event=SectorPreCommit1 by=sealer reason="SectorPreCommit1 is not allowed in state \"PreCommit2\"; it allows [SectorOldTicket SectorPackingFailed SectorPreCommit2 SectorSealPreCommitFailed], and Restart, ForceState, Terminate and Remove"
  PreCommit2: PreCommit2:1:1

done SectorSealPreCommitFailed
{"reason": "bad sector"}
----
SectorSealPreCommitFailed reason="bad sector"
SectorRetryScheduled until=+10h2m0s reason="bad sector"
  SealFailed: waits until +10h2m0s
