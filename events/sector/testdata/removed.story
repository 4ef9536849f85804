# A sector is removed while it is sealed: files first, then space, then the deposit. Space that comes late goes, too.

say SectorStart
----
SectorStart sector=1 provider=0xcdcd size=2048 pieces=[{SectorPiece cid=baga6ea4seaqa size=1024 payload=1000}] by=operator
SectorStepScheduled step=OpenSpace attempt=1 key=OpenSpace:1:1
  Packing: OpenSpace:1:1

say SectorRemove by=operator
{"reason": "wrong piece"}
----
SectorRemove by=operator reason="wrong piece"
SectorStepScheduled step=Remove attempt=1 key=Remove:1:1
  Removing: Remove:1:1

# The ledger's answer was on its way.
late SectorOpened
----
nothing follows

say SectorOpened
----
SectorOpened unsealed=2048 sealed=2048 tree=4096 scratch=100 deposit=5000
  Removing: Remove:1:1

done SectorRemoveFailed
{"reason": "the disk is read-only"}
----
SectorRemoveFailed reason="the disk is read-only"
SectorRetryScheduled until=+15s reason="the disk is read-only"
  RemoveFailed: waits until +15s

wait
----
SectorRetryRemove
SectorStepScheduled step=Remove attempt=2 key=Remove:1:2
  Removing: Remove:1:2

done SectorRemoved
----
SectorRemoved
SectorStepScheduled step=ReleaseSpace attempt=1 key=ReleaseSpace:1:1
  Removed: ReleaseSpace:1:1

done SectorReleased
----
SectorReleased parts=[scratch]
SectorStepScheduled step=Settle attempt=1 key=Settle:1:1
  Removed: Settle:1:1

done SectorSettled
{"returned": "5000", "lost": "0"}
----
SectorSettled returned=5000 lost=0
  Removed: over

say SectorRemove by=operator
----
nothing follows

# Again space that nobody waited for.
say SectorOpened
----
SectorOpened unsealed=2048 sealed=2048 tree=4096 scratch=100 deposit=5000
SectorStepScheduled step=ReleaseSpace attempt=2 key=ReleaseSpace:1:2
  Removed: ReleaseSpace:1:2

say SectorReleased
----
SectorReleased parts=[scratch]
SectorStepScheduled step=Settle attempt=2 key=Settle:1:2
  Removed: Settle:1:2

done SectorReleased
----
nothing follows

say SectorSettled
----
SectorSettled returned=4000 lost=1000
  Removed: over

crash
----
  Removed: over

# It is over; somebody forces it all the same.
say SectorForceState by=operator
{"state": "Packing"}
----
SectorForceState state=Packing by=operator reason="sealed on a bad disk"
SectorParked reason="state Packing cannot go on: its space was given back: only a new sector has some" actions=[SectorForceState SectorRemove]
  Packing: parked: state Packing cannot go on: its space was given back: only a new sector has some; SectorForceState, SectorRemove
