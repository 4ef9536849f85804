// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
  Ask,
  CollateralConfig,
  MarketplaceConfig,
  Period,
  Request,
  RequestId,
  RequestState,
  SlotId,
  SlotState,
  requestIdOf,
  slotIdOf
} from "./Types.sol";
import {Collateral} from "./Collateral.sol";
import {Groth16Proof, IGroth16Verifier} from "./Groth16.sol";
import {IERC20} from "./IERC20.sol";
import {MarketplaceState} from "./MarketplaceState.sol";
import {Pricing} from "./Pricing.sol";
import {Proofs} from "./Proofs.sol";
import {PublicInputs} from "./PublicInputs.sol";
import {Sets} from "./Sets.sol";
import {SlotReservations} from "./SlotReservations.sol";

/// @title A market for storage
/// @notice A client asks for storage in a number of slots and pays up front.
/// Hosts reserve and fill the slots, each with a proof and a collateral, and go
/// on proving. At the end each host collects its pay and its collateral, and the
/// client collects what nobody earned. A missed proof costs a part of the
/// collateral; too many cost the slot, and another host may repair it.
/// @dev Its interface and its rules are those of the Codex marketplace, down to
/// the order of the checks, so that a host cannot tell the two apart.
contract Marketplace is MarketplaceState {
  using Collateral for Ask;
  using Collateral for CollateralConfig;
  using Pricing for Ask;
  using Sets for Sets.Set;

  error Marketplace_AlreadyPaid();
  error Marketplace_DurationExceedsLimit();
  error Marketplace_InsufficientCollateral();
  error Marketplace_InsufficientDuration();
  error Marketplace_InsufficientProofProbability();
  error Marketplace_InsufficientReward();
  error Marketplace_InsufficientSlots();
  error Marketplace_InvalidCid();
  error Marketplace_InvalidClientAddress();
  error Marketplace_InvalidExpiry();
  error Marketplace_InvalidMaxSlotLoss();
  error Marketplace_InvalidSlot();
  error Marketplace_InvalidSlotHost();
  error Marketplace_InvalidState();
  error Marketplace_MaximumSlashingTooHigh();
  error Marketplace_NothingToWithdraw();
  error Marketplace_ProofNotSubmittedByHost();
  error Marketplace_RepairRewardPercentageTooHigh();
  error Marketplace_RequestAlreadyExists();
  error Marketplace_ReservationRequired();
  error Marketplace_SlashPercentageTooHigh();
  error Marketplace_SlotNotAcceptingProofs();
  error Marketplace_SlotNotFree();
  error Marketplace_TransferFailed();

  /// @param expiry is a timestamp here, not the duration of the request.
  event StorageRequested(RequestId requestId, Ask ask, uint64 expiry);
  event RequestFulfilled(RequestId indexed requestId);
  event RequestFailed(RequestId indexed requestId);
  event RequestCancelled(RequestId indexed requestId);
  event SlotFilled(RequestId indexed requestId, uint64 slotIndex);
  event SlotFreed(RequestId indexed requestId, uint64 slotIndex);

  IERC20 public immutable token;
  MarketplaceConfig private _config;

  constructor(
    MarketplaceConfig memory config,
    IERC20 token_,
    IGroth16Verifier verifier
  ) SlotReservations(config.reservations) Proofs(config.proofs, verifier) {
    CollateralConfig memory c = config.collateral;
    if (c.repairRewardPercentage > 100) revert Marketplace_RepairRewardPercentageTooHigh();
    if (c.slashPercentage > 100) revert Marketplace_SlashPercentageTooHigh();
    // In 8 bits: a product above 255 panics, which refuses it as well.
    if (c.maxNumberOfSlashes * c.slashPercentage > 100) {
      revert Marketplace_MaximumSlashingTooHigh();
    }
    _config = config;
    token = token_;
  }

  function configuration() external view returns (MarketplaceConfig memory) {
    return _config;
  }

  /// @notice Asks for storage and pays for all of it. Needs an allowance.
  /// @dev The merkle root is not checked here. One that is no field element makes
  /// a request that nobody can ever fill.
  function requestStorage(Request calldata request) external {
    RequestId id = requestIdOf(request);
    _checkRequest(id, request);

    _requests[id] = request;
    uint64 present = uint64(block.timestamp);
    uint64 expiresAt = present + request.expiry;
    uint256 price = _requests[id].ask.maxPrice();
    Progress storage progress = _progress[id];
    progress.endsAt = present + request.ask.duration;
    progress.expiresAt = expiresAt;
    progress.fundsToReturnToClient = price;
    _requestsOf[msg.sender].add(RequestId.unwrap(id));

    _pull(price);
    emit StorageRequested(id, request.ask, expiresAt);
  }

  /// @notice Takes a slot that the sender has reserved. Needs an allowance.
  /// @dev The proof also counts as the proof of this period.
  function fillSlot(
    RequestId requestId,
    uint64 slotIndex,
    Groth16Proof calldata proof
  ) external {
    Request storage request = _known(requestId);
    if (slotIndex >= request.ask.slots) revert Marketplace_InvalidSlot();
    SlotId slotId = slotIdOf(requestId, slotIndex);
    if (!_hasReserved(slotId, msg.sender)) revert Marketplace_ReservationRequired();

    // First the ids: without them the state of a slot of a request that is over
    // would read free.
    Slot storage slot = _slots[slotId];
    slot.requestId = requestId;
    slot.slotIndex = slotIndex;
    SlotState state = slotState(slotId);
    bool repair = state == SlotState.Repair;
    if (!repair && state != SlotState.Free) revert Marketplace_SlotNotFree();

    uint64 present = uint64(block.timestamp);
    slot.host = msg.sender;
    slot.filledAt = present;
    _startProofs(slotId);
    submitProof(slotId, proof);

    Progress storage progress = _progress[requestId];
    progress.slotsFilled += 1;
    progress.fundsToReturnToClient -= _slotPayout(request, present, progress.endsAt);
    uint256 collateral = request.ask.collateralPerSlot();
    slot.currentCollateral = collateral;
    slot.state = SlotState.Filled;
    _slotsOf[msg.sender].add(SlotId.unwrap(slotId));

    _pull(repair ? _config.collateral.repairCollateral(collateral) : collateral);
    emit SlotFilled(requestId, slotIndex);
    if (progress.slotsFilled == request.ask.slots && progress.state == RequestState.New) {
      progress.state = RequestState.Started;
      emit RequestFulfilled(requestId);
    }
  }

  /// @notice Gives up a slot, or collects for one whose request is over; pays to
  /// the sender.
  function freeSlot(SlotId slotId) external {
    freeSlot(slotId, msg.sender, msg.sender);
  }

  /// @notice Gives up a slot, or collects for one whose request is over.
  /// Beware: to give up a slot before its end costs all pay and all collateral.
  function freeSlot(
    SlotId slotId,
    address rewardRecipient,
    address collateralRecipient
  ) public {
    Slot storage slot = _slots[slotId];
    if (slot.state == SlotState.Free) revert Marketplace_SlotIsFree();
    if (slot.host != msg.sender) revert Marketplace_InvalidSlotHost();
    SlotState state = slotState(slotId);
    if (state == SlotState.Paid) revert Marketplace_AlreadyPaid();

    RequestId requestId = slot.requestId;
    Progress storage progress = _progress[requestId];
    if (state == SlotState.Finished) {
      progress.state = RequestState.Finished;
      address client = _requests[requestId].client;
      _requestsOf[client].remove(RequestId.unwrap(requestId));
      _payHost(slotId, progress.endsAt, rewardRecipient, collateralRecipient);
    } else if (state == SlotState.Cancelled) {
      _payHost(slotId, progress.expiresAt, rewardRecipient, collateralRecipient);
    } else if (state == SlotState.Failed) {
      // The request is lost, and with it what all of its hosts had at stake.
      _slotsOf[msg.sender].remove(SlotId.unwrap(slotId));
    } else {
      _forceFree(slotId);
    }
  }

  /// @notice Proves that the sender still stores a slot.
  /// @dev Once per period, whether it was due or not.
  function submitProof(SlotId slotId, Groth16Proof calldata proof) public {
    Slot storage slot = _slots[slotId];
    Request storage request = _known(slot.requestId);
    if (slot.host != msg.sender) revert Marketplace_ProofNotSubmittedByHost();
    uint256[] memory inputs = PublicInputs.list(
      getChallenge(slotId),
      request.content.merkleRoot,
      slot.slotIndex
    );
    _receiveProof(slotId, proof, inputs);
  }

  /// @notice Reverts unless `markProofAsMissing` would be accepted.
  function canMarkProofAsMissing(SlotId slotId, Period period) external view {
    _checkAcceptsProofs(slotId);
    _checkMissing(slotId, period);
  }

  /// @notice Points at a proof that did not come. Anybody may, and is rewarded.
  function markProofAsMissing(SlotId slotId, Period period) external {
    _checkAcceptsProofs(slotId);
    _markMissing(slotId, period);

    Slot storage slot = _slots[slotId];
    CollateralConfig storage config = _config.collateral;
    uint256 full = _requests[slot.requestId].ask.collateralPerSlot();
    uint256 slashed = config.slashAmount(full);
    slot.currentCollateral -= slashed;
    _pay(msg.sender, config.validatorReward(slashed));
    if (missingProofs(slotId) >= config.maxNumberOfSlashes) _forceFree(slotId);
  }

  /// @notice Collects what the sender's request did not spend.
  function withdrawFunds(RequestId requestId) external {
    withdrawFunds(requestId, msg.sender);
  }

  /// @notice Collects what the sender's request did not spend, for somebody else.
  function withdrawFunds(RequestId requestId, address withdrawRecipient) public {
    Request storage request = _known(requestId);
    if (request.client != msg.sender) revert Marketplace_InvalidClientAddress();
    RequestState state = requestState(requestId);
    if (state == RequestState.New || state == RequestState.Started) {
      revert Marketplace_InvalidState();
    }
    Progress storage progress = _progress[requestId];
    uint256 amount = progress.fundsToReturnToClient;
    if (amount == 0) revert Marketplace_NothingToWithdraw();

    progress.state = state;
    progress.fundsToReturnToClient = 0;
    _requestsOf[msg.sender].remove(RequestId.unwrap(requestId));
    if (state == RequestState.Cancelled) {
      // Hosts were promised pay until the end and get it until the expiry.
      uint256 unearned = _slotPayout(request, progress.expiresAt, progress.endsAt);
      amount += progress.slotsFilled * unearned;
      emit RequestCancelled(requestId);
    } else if (state == RequestState.Failed) {
      amount = request.ask.maxPrice();
    }
    _pay(withdrawRecipient, amount);
  }

  function _checkRequest(RequestId id, Request calldata request) private view {
    Ask calldata ask = request.ask;
    if (request.client != msg.sender) revert Marketplace_InvalidClientAddress();
    if (_requests[id].client != address(0)) revert Marketplace_RequestAlreadyExists();
    if (request.expiry == 0 || request.expiry >= ask.duration) {
      revert Marketplace_InvalidExpiry();
    }
    if (ask.slots == 0) revert Marketplace_InsufficientSlots();
    if (ask.maxSlotLoss > ask.slots) revert Marketplace_InvalidMaxSlotLoss();
    // Cannot happen, since the expiry lies before the end; kept for the interface.
    if (ask.duration == 0) revert Marketplace_InsufficientDuration();
    if (ask.proofProbability == 0) revert Marketplace_InsufficientProofProbability();
    if (ask.collateralPerByte == 0) revert Marketplace_InsufficientCollateral();
    if (ask.pricePerBytePerSecond == 0) revert Marketplace_InsufficientReward();
    if (request.content.cid.length == 0) revert Marketplace_InvalidCid();
    if (ask.duration > _config.requestDurationLimit) {
      revert Marketplace_DurationExceedsLimit();
    }
  }

  function _checkAcceptsProofs(SlotId slotId) private view {
    if (slotState(slotId) != SlotState.Filled) revert Marketplace_SlotNotAcceptingProofs();
  }

  /// @dev Settles with the sender, who is the host of the slot.
  function _payHost(
    SlotId slotId,
    uint64 end,
    address rewardRecipient,
    address collateralRecipient
  ) private {
    Slot storage slot = _slots[slotId];
    uint256 reward = _slotPayout(_requests[slot.requestId], slot.filledAt, end);
    uint256 collateral = slot.currentCollateral;
    slot.state = SlotState.Paid;
    _slotsOf[msg.sender].remove(SlotId.unwrap(slotId));
    _pay(rewardRecipient, reward);
    _pay(collateralRecipient, collateral);
  }

  /// @dev Takes a slot from its host and offers it for repair. What the host
  /// would have earned is the client's again; the collateral stays here and
  /// pays for the repair.
  function _forceFree(SlotId slotId) private {
    Slot storage slot = _slots[slotId];
    RequestId requestId = slot.requestId;
    Request storage request = _requests[requestId];
    Progress storage progress = _progress[requestId];

    progress.fundsToReturnToClient += _slotPayout(request, slot.filledAt, progress.endsAt);
    progress.slotsFilled -= 1;
    _slotsOf[slot.host].remove(SlotId.unwrap(slotId));
    _clearReservations(slotId);
    _forgetMisses(slotId);
    slot.state = SlotState.Repair;
    slot.filledAt = 0;
    slot.currentCollateral = 0;
    slot.host = address(0);
    emit SlotFreed(requestId, slot.slotIndex);

    // Before the start any number of slots may be empty: they just were not
    // filled yet.
    uint64 empty = request.ask.slots - progress.slotsFilled;
    if (empty > request.ask.maxSlotLoss && progress.state == RequestState.Started) {
      progress.state = RequestState.Failed;
      progress.endsAt = uint64(block.timestamp) - 1;
      emit RequestFailed(requestId);
    }
  }

  function _pull(uint256 amount) private {
    if (!token.transferFrom(msg.sender, address(this), amount)) {
      revert Marketplace_TransferFailed();
    }
  }

  function _pay(address recipient, uint256 amount) private {
    if (!token.transfer(recipient, amount)) revert Marketplace_TransferFailed();
  }
}
