# Files cannot be removed after the proof: that is tried again. A reorganisation takes the proof back.

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

done SectorFinalizeFailed
----
SectorFinalizeFailed reason="the disk is full"
SectorRetryScheduled until=+15s reason="the disk is full"
  FinalizeFailed: waits until +15s

wait
----
SectorRetryFinalize
SectorStepScheduled step=Finalize attempt=2 key=Finalize:1:2
  FinalizeSector: Finalize:1:2

chain precommitted
----
SectorCommitFailed reason="the chain does not have it any more"
SectorRetryScheduled step=Diagnose until=+30s reason="the chain does not have it any more"
  CommitFailed: waits until +30s

wait
----
SectorStepScheduled step=Diagnose attempt=1 key=Diagnose:1:1
  CommitFailed: Diagnose:1:1

found not_there
----
SectorRetryComputeProof
SectorStepScheduled step=SendCommit attempt=2 key=SendCommit:1:2
  Committing: SendCommit:1:2

done SectorCommitted
----
SectorCommitted message=0xabab
SectorStepScheduled step=WaitCommit attempt=2 key=WaitCommit:1:2
  CommitWait: WaitCommit:1:2

done SectorProving
----
SectorProving
SectorStepScheduled step=Finalize attempt=3 key=Finalize:1:3
  FinalizeSector: Finalize:1:3

done SectorFinalized
----
SectorFinalized
SectorStepScheduled step=ReleaseScratch attempt=1 key=ReleaseScratch:1:1
  Proving: ReleaseScratch:1:1

chain
----
SectorCommitFailed reason="the chain does not have it any more"
SectorRetryScheduled step=Diagnose until=+45s reason="the chain does not have it any more"
  CommitFailed: waits until +45s
