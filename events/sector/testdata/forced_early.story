# A sector that was forced before it began can only be forced or removed.

say SectorForceState by=operator
{"state": "Proving"}
----
SectorForceState state=Proving by=operator reason="sealed on a bad disk"
SectorParked reason="it was forced before it began: it has no number, no size and no pieces" actions=[SectorForceState SectorRemove]
  Proving: parked: it was forced before it began: it has no number, no size and no pieces; SectorForceState, SectorRemove

say SectorForceState by=operator
{"state": "Empty"}
----
SectorForceState state=Empty by=operator reason="sealed on a bad disk"
SectorParked reason="it was forced before it began: it has no number, no size and no pieces" actions=[SectorForceState SectorRemove]
  Empty: parked: it was forced before it began: it has no number, no size and no pieces; SectorForceState, SectorRemove

say SectorStart
----
error: SectorStart is not allowed in state "Empty"; it allows [SectorAddPiece SectorStartPacking], and Restart, ForceState, Terminate and Remove
