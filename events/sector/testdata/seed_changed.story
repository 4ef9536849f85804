# The seed changes while the proof is made, and again when it waits to be sent.

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

chain precommitted seed=7
----
SectorSeedReady value=0x0700 epoch=7
SectorStepScheduled step=Commit attempt=2 key=Commit:1:2
  Committing: Commit:1:2

# Asked twice: once.
chain precommitted seed=7
----
nothing follows

# The proof for the old seed comes too late.
late SectorProofReady
----
nothing follows

done SectorProofReady
----
SectorProofReady proof=0x0304
SectorStepScheduled step=SendCommit attempt=1 key=SendCommit:1:1
  Committing: SendCommit:1:1

chain precommitted seed=8
----
SectorSeedReady value=0x0800 epoch=8
SectorStepScheduled step=Commit attempt=3 key=Commit:1:3
  Committing: Commit:1:3

show
----
sector 1, 2048 bytes, 2 pieces, 0 pending, 0 left at 2048
ticket of 300, seed of 8, proof "", 0 invalid; space 8292, deposit 5000: 0 returned, 0 lost
last error "", failures map[], wanted by ""

done SectorComputeProofFailed
{"reason": "no memory"}
----
SectorComputeProofFailed reason="no memory"
SectorRetryScheduled until=+15s reason="no memory"
  ComputeProofFailed: waits until +15s

wait
----
SectorRetryComputeProof
SectorStepScheduled step=Commit attempt=4 key=Commit:1:4
  Committing: Commit:1:4

done SectorProofReady
----
SectorProofReady proof=0x0304
SectorStepScheduled step=SendCommit attempt=2 key=SendCommit:1:2
  Committing: SendCommit:1:2

done SectorCommitFailed
{"reason": "wrong seed"}
----
SectorCommitFailed reason="wrong seed"
SectorRetryScheduled step=Diagnose until=+30s reason="wrong seed"
  CommitFailed: waits until +30s

wait
----
SectorStepScheduled step=Diagnose attempt=1 key=Diagnose:1:1
  CommitFailed: Diagnose:1:1

found seed_changed
----
SectorRetryWaitSeed
SectorStepScheduled step=WaitSeed attempt=2 key=WaitSeed:1:2
  WaitSeed: WaitSeed:1:2

done SectorSeedReady
----
SectorSeedReady value=0xabab epoch=320
SectorStepScheduled step=Commit attempt=5 key=Commit:1:5
  Committing: Commit:1:5

# The commit did land before the host heard of it.
chain active
----
SectorRetryCommitWait
SectorProving
SectorStepScheduled step=Finalize attempt=1 key=Finalize:1:1
  FinalizeSector: Finalize:1:1

chain active
----
nothing follows
