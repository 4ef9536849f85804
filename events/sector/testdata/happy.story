# A sector from its first piece to its last byte: packed, sealed, precommitted, proven, hosted, terminated, removed.

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

crash
----
  PreCommit1: GetTicket:1:1

done SectorTicket
----
SectorTicket value=0xabab epoch=300
SectorStepScheduled step=PreCommit1 attempt=1 key=PreCommit1:1:1
  PreCommit1: PreCommit1:1:1

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

done SectorPreCommitted
----
SectorPreCommitted message=0xabab
SectorStepScheduled step=WaitSeed attempt=1 key=WaitSeed:1:1
  WaitSeed: WaitSeed:1:1

done SectorSeedReady
----
SectorSeedReady value=0xabab epoch=320
SectorStepScheduled step=Commit attempt=1 key=Commit:1:1
  Committing: Commit:1:1

done SectorProofReady
----
SectorProofReady proof=0x0304
SectorStepScheduled step=SendCommit attempt=1 key=SendCommit:1:1
  Committing: SendCommit:1:1

done SectorCommitted
----
SectorCommitted message=0xabab
SectorStepScheduled step=WaitCommit attempt=1 key=WaitCommit:1:1
  CommitWait: WaitCommit:1:1

chain active
----
SectorProving
SectorStepScheduled step=Finalize attempt=1 key=Finalize:1:1
  FinalizeSector: Finalize:1:1

done SectorFinalized
----
SectorFinalized
SectorStepScheduled step=ReleaseScratch attempt=1 key=ReleaseScratch:1:1
  Proving: ReleaseScratch:1:1

done SectorReleased
----
SectorReleased parts=[scratch]
  Proving: nothing to do

show
----
sector 1, 2048 bytes, 2 pieces, 0 pending, 0 left at 2048
ticket of 300, seed of 320, proof "", 0 invalid; space 8292, deposit 5000: 0 returned, 0 lost
last error "", failures map[], wanted by ""

say SectorTerminate by=operator
----
SectorTerminate by=operator reason="the disk is old"
SectorStepScheduled step=Terminate attempt=1 key=Terminate:1:1
  Terminating: Terminate:1:1

# Asked twice: once.
say SectorTerminate by=operator
----
nothing follows

done SectorTerminating
----
SectorTerminating message=0xabab
SectorStepScheduled step=WaitTermination attempt=1 key=WaitTermination:1:1
  TerminateWait: WaitTermination:1:1

chain terminated
----
SectorTerminated
SectorStepScheduled step=WaitFinality attempt=1 key=WaitFinality:1:1
  TerminateFinality: WaitFinality:1:1

# Final: now the files may go.
done SectorRemove
----
SectorRemove by=operator reason="never mind"
SectorStepScheduled step=Remove attempt=1 key=Remove:1:1
  Removing: Remove:1:1

done SectorRemoved
----
SectorRemoved
SectorStepScheduled step=ReleaseSpace attempt=1 key=ReleaseSpace:1:1
  Removed: ReleaseSpace:1:1

done SectorReleased
{"parts": ["unsealed", "sealed", "tree"]}
----
SectorReleased parts=[unsealed sealed tree]
SectorStepScheduled step=Settle attempt=1 key=Settle:1:1
  Removed: Settle:1:1

# The chain still holds the deposit: that is a pause, and no failure.
away reason=the_deposit_is_still_at_stake
----
SectorRetryScheduled step=Settle until=+15s reason="the deposit is still at stake" outage=true
  Removed: waits until +15s

wait
----
SectorStepScheduled step=Settle attempt=2 key=Settle:1:2
  Removed: Settle:1:2

done SectorSettled
----
SectorSettled returned=4000 lost=1000
  Removed: over

crash
----
  Removed: over

show
----
sector 1, 2048 bytes, 2 pieces, 0 pending, 0 left at 2048
ticket of 300, seed of 320, proof "", 0 invalid; space 8292, deposit 5000: 4000 returned, 1000 lost
last error "the deposit is still at stake", failures map[], wanted by "operator: never mind"
