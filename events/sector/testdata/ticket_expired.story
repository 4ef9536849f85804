# The ticket is too old: before sealing a new one is drawn, after it everything is sealed again.

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

done SectorOldTicket
----
SectorOldTicket reason="the ticket is of block 1"
SectorStepScheduled step=GetTicket attempt=2 key=GetTicket:1:2
  GetTicket: GetTicket:1:2

done SectorTicket
{"epoch": "900"}
----
SectorTicket value=0xabab epoch=900
SectorStepScheduled step=PreCommit1 attempt=2 key=PreCommit1:1:2
  PreCommit1: PreCommit1:1:2

done SectorPreCommit1
----
SectorPreCommit1 out=0x0102
SectorStepScheduled step=PreCommit2 attempt=1 key=PreCommit2:1:1
  PreCommit2: PreCommit2:1:1

done SectorPreCommit2
----
SectorPreCommit2 commD=0xabab commR=0xabab proves=possession
SectorStepScheduled step=SendPreCommit attempt=1 key=SendPreCommit:1:1
  PreCommitting: SendPreCommit:1:1

done SectorChainPreCommitFailed
{"reason": "reverted"}
----
SectorChainPreCommitFailed reason=reverted
SectorRetryScheduled step=Diagnose until=+15s reason=reverted
  PreCommitFailed: waits until +15s

wait
----
SectorStepScheduled step=Diagnose attempt=1 key=Diagnose:1:1
  PreCommitFailed: Diagnose:1:1

found bad_seal reason=the_ticket_expired
----
SectorSealPreCommitFailed reason="the ticket expired"
SectorRetryScheduled until=+30s reason="the ticket expired"
  SealFailed: waits until +30s

wait
----
SectorRetrySeal
SectorStepScheduled step=GetTicket attempt=3 key=GetTicket:1:3
  PreCommit1: GetTicket:1:3

show
----
sector 1, 2048 bytes, 2 pieces, 0 pending, 0 left at 2048
ticket of 0, seed of 0, proof "", 0 invalid; space 8292, deposit 5000: 0 returned, 0 lost
last error "the ticket expired", failures map[PreCommitFailed:1 SealFailed:1], wanted by ""
