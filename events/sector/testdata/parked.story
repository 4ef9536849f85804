# A step fails until the sector is parked; outages do not count. It goes on when somebody says so.

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

away reason=the_sealer_is_gone
----
SectorRetryScheduled step=PreCommit1 until=+15s reason="the sealer is gone" outage=true
  PreCommit1: waits until +15s

wait
----
SectorStepScheduled step=PreCommit1 attempt=2 key=PreCommit1:1:2
  PreCommit1: PreCommit1:1:2

away reason=the_sealer_is_gone
----
SectorRetryScheduled step=PreCommit1 until=+45s reason="the sealer is gone" outage=true
  PreCommit1: waits until +45s

wait
----
SectorStepScheduled step=PreCommit1 attempt=3 key=PreCommit1:1:3
  PreCommit1: PreCommit1:1:3

done SectorFatalError
----
SectorFatalError reason="the sealer said no"
SectorRetryScheduled step=PreCommit1 until=+1m0s reason="the sealer said no"
  PreCommit1: waits until +1m0s

# Asked twice: once.
say SectorFatalError
----
nothing follows

wait
----
SectorStepScheduled step=PreCommit1 attempt=4 key=PreCommit1:1:4
  PreCommit1: PreCommit1:1:4

done SectorFatalError
----
SectorFatalError reason="the sealer said no"
SectorRetryScheduled step=PreCommit1 until=+1m30s reason="the sealer said no"
  PreCommit1: waits until +1m30s

# Asked twice: once.
say SectorFatalError
----
nothing follows

wait
----
SectorStepScheduled step=PreCommit1 attempt=5 key=PreCommit1:1:5
  PreCommit1: PreCommit1:1:5

done SectorFatalError
----
SectorFatalError reason="the sealer said no"
SectorRetryScheduled step=PreCommit1 until=+2m30s reason="the sealer said no"
  PreCommit1: waits until +2m30s

# Asked twice: once.
say SectorFatalError
----
nothing follows

wait
----
SectorStepScheduled step=PreCommit1 attempt=6 key=PreCommit1:1:6
  PreCommit1: PreCommit1:1:6

done SectorFatalError
----
SectorFatalError reason="the sealer said no"
SectorParked reason="failed 4 times: the sealer said no" actions=[SectorRestart SectorForceState SectorRemove]
  PreCommit1: parked: failed 4 times: the sealer said no; SectorRestart, SectorForceState, SectorRemove

crash
----
  PreCommit1: parked: failed 4 times: the sealer said no; SectorRestart, SectorForceState, SectorRemove

show
----
sector 1, 2048 bytes, 2 pieces, 0 pending, 0 left at 2048
ticket of 300, seed of 0, proof "", 0 invalid; space 8292, deposit 5000: 0 returned, 0 lost
last error "the sealer said no", failures map[PreCommit1:4], wanted by ""

say SectorPreCommit1 by=sealer
----
SectorPreCommit1 out=0x0102
SectorStepScheduled step=PreCommit2 attempt=1 key=PreCommit2:1:1
  PreCommit2: PreCommit2:1:1

say SectorRestart by=operator
----
nothing follows
