# A proof is not valid: it is made again once, then the sector is sealed again.

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

done SectorCommitFailed
----
SectorCommitFailed reason="out of gas"
SectorRetryScheduled step=Diagnose until=+15s reason="out of gas"
  CommitFailed: waits until +15s

wait
----
SectorStepScheduled step=Diagnose attempt=1 key=Diagnose:1:1
  CommitFailed: Diagnose:1:1

found invalid_proof
----
SectorRetryInvalidProof
SectorStepScheduled step=Commit attempt=2 key=Commit:1:2
  Committing: Commit:1:2

done SectorProofReady
----
SectorProofReady proof=0x0304
SectorStepScheduled step=SendCommit attempt=2 key=SendCommit:1:2
  Committing: SendCommit:1:2

done SectorCommitted
----
SectorCommitted message=0xabab
SectorStepScheduled step=WaitCommit attempt=2 key=WaitCommit:1:2
  CommitWait: WaitCommit:1:2

done SectorCommitFailed
----
SectorCommitFailed reason="out of gas"
SectorRetryScheduled step=Diagnose until=+45s reason="out of gas"
  CommitFailed: waits until +45s

wait
----
SectorStepScheduled step=Diagnose attempt=2 key=Diagnose:1:2
  CommitFailed: Diagnose:1:2

found invalid_proof reason=it_does_not_verify
----
SectorSealPreCommitFailed reason="a second proof is invalid: it does not verify"
SectorRetryScheduled until=+1m0s reason="a second proof is invalid: it does not verify"
  SealFailed: waits until +1m0s

wait
----
SectorRetrySeal
SectorStepScheduled step=GetTicket attempt=2 key=GetTicket:1:2
  PreCommit1: GetTicket:1:2

show
----
sector 1, 2048 bytes, 2 pieces, 0 pending, 0 left at 2048
ticket of 0, seed of 0, proof "", 0 invalid; space 8292, deposit 5000: 0 returned, 0 lost
last error "a second proof is invalid: it does not verify", failures map[CommitFailed:2 SealFailed:1], wanted by ""
