# A fault is declared, mended, and over; a second comes while it is mended; the chain ends a third.

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

done SectorFinalized
----
SectorFinalized
SectorStepScheduled step=ReleaseScratch attempt=1 key=ReleaseScratch:1:1
  Proving: ReleaseScratch:1:1

done SectorReleased
----
SectorReleased parts=[scratch]
  Proving: nothing to do

say SectorFaulty
----
SectorFaulty reason="leaf 7 is damaged"
SectorStepScheduled step=DeclareFault attempt=1 key=DeclareFault:1:1
  Faulty: DeclareFault:1:1

done SectorFaultReported
----
SectorFaultReported message=0xabab
SectorStepScheduled step=WaitFault attempt=1 key=WaitFault:1:1
  FaultReported: WaitFault:1:1

chain active faulty
----
SectorFaultedFinal
SectorStepScheduled step=Restore attempt=1 key=Restore:1:1
  FaultedFinal: Restore:1:1

done SectorRestored
----
SectorRestored
SectorStepScheduled step=DeclareRecovery attempt=1 key=DeclareRecovery:1:1
  Recovering: DeclareRecovery:1:1

done SectorRecoveryDeclared
----
SectorRecoveryDeclared message=0xabab
SectorStepScheduled step=WaitRecovery attempt=1 key=WaitRecovery:1:1
  RecoveryReported: WaitRecovery:1:1

# The proof of the next window is not in yet.
chain active faulty
----
nothing follows

say SectorFaulty
----
SectorFaulty reason="leaf 7 is damaged"
SectorStepScheduled step=Restore attempt=2 key=Restore:1:2
  FaultedFinal: Restore:1:2

done SectorRestored
----
SectorRestored
SectorStepScheduled step=DeclareRecovery attempt=2 key=DeclareRecovery:1:2
  Recovering: DeclareRecovery:1:2

done SectorRecoveryDeclared
----
SectorRecoveryDeclared message=0xabab
SectorStepScheduled step=WaitRecovery attempt=2 key=WaitRecovery:1:2
  RecoveryReported: WaitRecovery:1:2

chain active
----
SectorRecovered
  Proving: nothing to do

chain active faulty
----
SectorFaulty reason="the chain calls it faulty"
SectorStepScheduled step=DeclareFault attempt=2 key=DeclareFault:1:2
  Faulty: DeclareFault:1:2

chain terminated
----
SectorTerminated
SectorStepScheduled step=WaitFinality attempt=1 key=WaitFinality:1:1
  TerminateFinality: WaitFinality:1:1
