// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {RequestId, SlotId, SlotReservationsConfig, SlotState, slotIdOf} from "./Types.sol";
import {Sets} from "./Sets.sol";

/// @title Who may fill a slot
/// @notice A few hosts may reserve a slot, first come, first served, so that
/// not everybody downloads the content only to lose the race. A reservation is
/// free and stays until the slot is taken from its host. It says nothing about
/// the request: whether that exists or expired is seen when the slot is filled.
abstract contract SlotReservations {
  using Sets for Sets.Set;

  error SlotReservations_ReservationNotAllowed();

  /// @notice The last reservation of the slot was taken.
  event SlotReservationsFull(RequestId indexed requestId, uint64 slotIndex);

  uint8 private immutable _maxReservations;
  mapping(SlotId => Sets.Set) private _reservations;

  constructor(SlotReservationsConfig memory config) {
    _maxReservations = config.maxReservations;
  }

  function slotState(SlotId slotId) public view virtual returns (SlotState);

  function reserveSlot(RequestId requestId, uint64 slotIndex) external {
    if (!canReserveSlot(requestId, slotIndex)) {
      revert SlotReservations_ReservationNotAllowed();
    }
    Sets.Set storage hosts = _reservations[slotIdOf(requestId, slotIndex)];
    hosts.add(_element(msg.sender));
    if (hosts.size() == _maxReservations) {
      emit SlotReservationsFull(requestId, slotIndex);
    }
  }

  /// @notice Whether the sender may reserve; false when it already did.
  function canReserveSlot(RequestId requestId, uint64 slotIndex) public view returns (bool) {
    SlotId slotId = slotIdOf(requestId, slotIndex);
    SlotState state = slotState(slotId);
    Sets.Set storage hosts = _reservations[slotId];
    return
      (state == SlotState.Free || state == SlotState.Repair) &&
      hosts.size() < _maxReservations &&
      !hosts.contains(_element(msg.sender));
  }

  function _hasReserved(SlotId slotId, address host) internal view returns (bool) {
    return _reservations[slotId].contains(_element(host));
  }

  function _clearReservations(SlotId slotId) internal {
    _reservations[slotId].clear();
  }

  function _element(address host) private pure returns (bytes32) {
    return bytes32(uint256(uint160(host)));
  }
}
