// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
  ActiveSlot,
  Ask,
  Request,
  RequestId,
  RequestState,
  SlotId,
  SlotState
} from "./Types.sol";
import {Pricing} from "./Pricing.sol";
import {Proofs} from "./Proofs.sol";
import {Sets} from "./Sets.sol";
import {SlotReservations} from "./SlotReservations.sol";

/// @title What the marketplace remembers and what follows from it
/// @notice Nobody is there to write down that a request has expired or ended, so
/// the stored states lag behind and the true ones are derived from the clock.
/// Always ask `requestState` and `slotState`, never the stored field.
abstract contract MarketplaceState is Proofs, SlotReservations {
  using Sets for Sets.Set;
  using Pricing for Ask;

  error Marketplace_SlotIsFree();
  error Marketplace_StartNotBeforeExpiry();
  error Marketplace_UnknownRequest();

  /// What happened to a request since it was made.
  struct Progress {
    RequestState state; // as far as it was written down
    uint64 slotsFilled; // right now
    uint64 endsAt; // timestamp; counted from submission, not from the start
    uint64 expiresAt; // timestamp
    // The client paid for all slots up front. What was not promised to a host
    // is its own; this is that rest, in token base units.
    uint256 fundsToReturnToClient;
  }

  struct Slot {
    RequestId requestId; // zero until somebody first fills the slot
    uint256 currentCollateral; // what is left of it, in token base units
    address host;
    SlotState state; // as far as it was written down
    uint64 filledAt; // timestamp; the host is paid from here on
    uint64 slotIndex;
  }

  mapping(RequestId => Request) internal _requests;
  mapping(RequestId => Progress) internal _progress;
  mapping(SlotId => Slot) internal _slots;
  mapping(address => Sets.Set) internal _requestsOf;
  mapping(address => Sets.Set) internal _slotsOf;

  /// @notice The sender's requests that still have to be settled.
  function myRequests() external view returns (bytes32[] memory) {
    return _requestsOf[msg.sender].elements;
  }

  /// @notice The slots that the sender fills or has not freed after their end.
  function mySlots() external view returns (bytes32[] memory) {
    return _slotsOf[msg.sender].elements;
  }

  function getRequest(RequestId requestId) external view returns (Request memory) {
    return _known(requestId);
  }

  /// @notice The request of a slot that was filled at some time.
  function getActiveSlot(SlotId slotId) external view returns (ActiveSlot memory) {
    Slot storage slot = _slots[slotId];
    if (slot.state == SlotState.Free) revert Marketplace_SlotIsFree();
    return ActiveSlot(_requests[slot.requestId], slot.slotIndex);
  }

  /// @return the host of a slot, zero when it has none.
  function getHost(SlotId slotId) external view returns (address) {
    return _slots[slotId].host;
  }

  /// @notice What is left of a slot's collateral.
  function currentCollateral(SlotId slotId) external view returns (uint256) {
    return _slots[slotId].currentCollateral;
  }

  /// @return the timestamp at which a request expires, zero when it is unknown.
  function requestExpiry(RequestId requestId) external view returns (uint64) {
    return _progress[requestId].expiresAt;
  }

  /// @return the timestamp at which a request ends or has ended.
  function requestEnd(RequestId requestId) external view returns (uint64) {
    RequestState state = requestState(requestId);
    Progress storage progress = _progress[requestId];
    if (state == RequestState.New || state == RequestState.Started) return progress.endsAt;
    if (state == RequestState.Cancelled) return progress.expiresAt;
    uint64 present = uint64(block.timestamp);
    return progress.endsAt < present ? progress.endsAt : present;
  }

  /// @notice The state of a request now.
  function requestState(RequestId requestId) public view returns (RequestState) {
    _known(requestId);
    Progress storage progress = _progress[requestId];
    RequestState state = progress.state;
    bool running = state == RequestState.New || state == RequestState.Started;
    if (state == RequestState.New && block.timestamp > progress.expiresAt) {
      return RequestState.Cancelled;
    }
    if (running && block.timestamp > progress.endsAt) return RequestState.Finished;
    return state;
  }

  /// @notice The state of a slot now. A slot that was never filled is free for
  /// ever, also when its request does not exist or is over.
  function slotState(
    SlotId slotId
  ) public view override(Proofs, SlotReservations) returns (SlotState) {
    Slot storage slot = _slots[slotId];
    if (RequestId.unwrap(slot.requestId) == 0) return SlotState.Free;
    if (slot.state == SlotState.Paid) return SlotState.Paid;
    RequestState state = requestState(slot.requestId);
    if (state == RequestState.Cancelled) return SlotState.Cancelled;
    if (state == RequestState.Finished) return SlotState.Finished;
    if (state == RequestState.Failed) return SlotState.Failed;
    return slot.state;
  }

  function _proofProbability(SlotId slotId) internal view override returns (uint256) {
    return _requests[_slots[slotId].requestId].ask.proofProbability;
  }

  /// @dev Reverts when there is no such request. Every request has a client.
  function _known(RequestId requestId) internal view returns (Request storage request) {
    request = _requests[requestId];
    if (request.client == address(0)) revert Marketplace_UnknownRequest();
  }

  /// @dev What a slot of the request earns in that time.
  function _slotPayout(
    Request storage request,
    uint64 start,
    uint64 end
  ) internal view returns (uint256) {
    if (start >= end) revert Marketplace_StartNotBeforeExpiry();
    return (end - start) * request.ask.pricePerSlotPerSecond();
  }
}
