# What is forced: a state that nobody knows, one that cannot go on, one that can; and before the sector began.

say SectorRestart by=operator
----
nothing follows

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

say SectorForceState by=operator
{"state": "Procrastinating"}
----
error: force "Procrastinating": unknown state; there are [Empty WaitDeals AddPiece Packing GetTicket PreCommit1 PreCommit2 PreCommitting WaitSeed Committing CommitWait FinalizeSector Proving AddPieceFailed PackingFailed SealFailed PreCommitFailed ComputeProofFailed CommitFailed FinalizeFailed FailedUnrecoverable Faulty FaultReported FaultedFinal Recovering RecoveryReported Terminating TerminateWait TerminateFinality TerminateFailed Removing RemoveFailed Removed]

say SectorForceState by=operator
{"state": "Removed"}
----
error: force Removed: its files would be forgotten; remove the sector instead

say SectorForceState by=operator
{"state": "Committing"}
----
SectorForceState state=Committing by=operator reason="sealed on a bad disk"
SectorParked reason="state Committing cannot go on: it has no commitments: force PreCommit1" actions=[SectorForceState SectorRemove]
  Committing: parked: state Committing cannot go on: it has no commitments: force PreCommit1; SectorForceState, SectorRemove

# Asked twice: once.
say SectorForceState by=operator
{"state": "Committing"}
----
nothing follows

say SectorRestart by=operator
----
nothing follows

say SectorForceState by=operator
{"state": "FailedUnrecoverable"}
----
SectorForceState state=FailedUnrecoverable by=operator reason="sealed on a bad disk"
SectorParked reason="nothing is known that could be done about it" actions=[SectorForceState SectorRemove]
  FailedUnrecoverable: parked: nothing is known that could be done about it; SectorForceState, SectorRemove

say SectorForceState by=operator
{"state": "PreCommit1"}
----
SectorForceState state=PreCommit1 by=operator reason="sealed on a bad disk"
SectorStepScheduled step=GetTicket attempt=2 key=GetTicket:1:2
  PreCommit1: GetTicket:1:2

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

say SectorProving by=operator
----
SectorEventRefused event=SectorProving by=operator reason="SectorProving is not allowed in state \"PreCommitting\"; it allows [SectorChainPreCommitFailed SectorPreCommitted SectorSealPreCommitFailed], and Restart, ForceState, Terminate and Remove"
  PreCommitting: SendPreCommit:1:1
