# Messages that do not land: the world is asked before anything is sent again.

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

done SectorChainPreCommitFailed
{"reason": "out of gas"}
----
SectorChainPreCommitFailed reason="out of gas"
SectorRetryScheduled step=Diagnose until=+15s reason="out of gas"
  PreCommitFailed: waits until +15s

wait
----
SectorStepScheduled step=Diagnose attempt=1 key=Diagnose:1:1
  PreCommitFailed: Diagnose:1:1

# The chain does not answer: a pause, and no failure.
away reason=no_answer_from_the_chain
----
SectorRetryScheduled step=Diagnose until=+30s reason="no answer from the chain" outage=true
  PreCommitFailed: waits until +30s

crash
----
  PreCommitFailed: waits until +30s

wait
----
SectorStepScheduled step=Diagnose attempt=2 key=Diagnose:1:2
  PreCommitFailed: Diagnose:1:2

found invalid_proof
----
error: a report that cannot be true: "invalid proof" says nothing in state "PreCommitFailed"

found not_there
----
SectorRetryPreCommit
SectorStepScheduled step=SendPreCommit attempt=2 key=SendPreCommit:1:2
  PreCommitting: SendPreCommit:1:2

# It was sent, and the host did not hear of it.
done SectorChainPreCommitFailed
----
SectorChainPreCommitFailed reason="out of gas"
SectorRetryScheduled step=Diagnose until=+1m0s reason="out of gas"
  PreCommitFailed: waits until +1m0s

wait
----
SectorStepScheduled step=Diagnose attempt=3 key=Diagnose:1:3
  PreCommitFailed: Diagnose:1:3

found landed
----
SectorRetryWaitSeed
SectorStepScheduled step=WaitSeed attempt=1 key=WaitSeed:1:1
  WaitSeed: WaitSeed:1:1

# A reorganisation takes it back.
chain
----
SectorChainPreCommitFailed reason="the chain does not have it any more"
SectorRetryScheduled step=Diagnose until=+2m0s reason="the chain does not have it any more"
  PreCommitFailed: waits until +2m0s

wait
----
SectorStepScheduled step=Diagnose attempt=4 key=Diagnose:1:4
  PreCommitFailed: Diagnose:1:4

found not_there
----
SectorRetryPreCommit
SectorStepScheduled step=SendPreCommit attempt=3 key=SendPreCommit:1:3
  PreCommitting: SendPreCommit:1:3

done SectorPreCommitted
----
SectorPreCommitted message=0xabab
SectorStepScheduled step=WaitSeed attempt=2 key=WaitSeed:1:2
  WaitSeed: WaitSeed:1:2

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

chain precommitted
----
nothing follows

done SectorCommitFailed
{"reason": "dropped"}
----
SectorCommitFailed reason=dropped
SectorRetryScheduled step=Diagnose until=+2m15s reason=dropped
  CommitFailed: waits until +2m15s

wait
----
SectorStepScheduled step=Diagnose attempt=5 key=Diagnose:1:5
  CommitFailed: Diagnose:1:5

# The proof is at hand: it is sent again, not made again.
found not_there
----
SectorRetryComputeProof
SectorStepScheduled step=SendCommit attempt=2 key=SendCommit:1:2
  Committing: SendCommit:1:2

done SectorCommitFailed
----
SectorCommitFailed reason="out of gas"
SectorRetryScheduled step=Diagnose until=+2m45s reason="out of gas"
  CommitFailed: waits until +2m45s

wait
----
SectorStepScheduled step=Diagnose attempt=6 key=Diagnose:1:6
  CommitFailed: Diagnose:1:6

found landed
----
SectorRetryCommitWait
SectorStepScheduled step=WaitCommit attempt=2 key=WaitCommit:1:2
  CommitWait: WaitCommit:1:2

# The precommit is gone, too.
chain
----
SectorCommitFailed reason="its precommit: the chain does not have it any more"
SectorRetryScheduled step=Diagnose until=+3m45s reason="its precommit: the chain does not have it any more"
  CommitFailed: waits until +3m45s

wait
----
SectorStepScheduled step=Diagnose attempt=7 key=Diagnose:1:7
  CommitFailed: Diagnose:1:7

found precommit_gone
----
SectorRetryPreCommit
SectorStepScheduled step=SendPreCommit attempt=4 key=SendPreCommit:1:4
  PreCommitting: SendPreCommit:1:4
