// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The two kinds of ids are both 32 bytes; giving each its own type lets the
/// compiler find the place where one is used for the other. In the ABI both
/// are bytes32.
type RequestId is bytes32;
type SlotId is bytes32;

/// Number of a proof period since the epoch: timestamp / period length.
type Period is uint64;

/// What a client asks for. Its hash is its id, so every field counts.
struct Request {
  address client;
  Ask ask;
  Content content;
  uint64 expiry; // seconds after submission at which an unfilled request is void
  bytes32 nonce; // tells otherwise equal requests apart
}

struct Ask {
  uint256 proofProbability; // one proof per this many periods, on average
  uint256 pricePerBytePerSecond; // token base units
  uint256 collateralPerByte; // token base units
  uint64 slots; // number of slots, each stored by one host
  uint64 slotSize; // bytes
  uint64 duration; // seconds, counted from submission
  uint64 maxSlotLoss; // empty slots that the erasure code can bear
}

struct Content {
  bytes cid; // binary content id of the manifest
  bytes32 merkleRoot; // dataset root, a field element in little-endian bytes
}

enum RequestState {
  New, // not all slots were filled yet
  Started, // all slots have been filled at least once
  Cancelled, // not started before its expiry
  Finished, // ran until its end
  Failed // lost more slots than it can bear
}

enum SlotState {
  Free, // never filled
  Filled,
  Finished, // its request is finished, the host was not paid yet
  Failed, // its request failed
  Paid,
  Cancelled, // its request is cancelled, the host was not paid yet
  Repair // its host left or was thrown out
}

/// A slot's place in its request.
struct ActiveSlot {
  Request request;
  uint64 slotIndex;
}

struct MarketplaceConfig {
  CollateralConfig collateral;
  ProofConfig proofs;
  SlotReservationsConfig reservations;
  uint64 requestDurationLimit; // seconds
}

struct CollateralConfig {
  uint8 repairRewardPercentage; // discount on a repairing host's collateral
  uint8 maxNumberOfSlashes; // with this many missed proofs the slot is freed
  uint8 slashPercentage; // of the full collateral, per missed proof
  uint8 validatorRewardPercentage; // of each slashed amount
}

struct ProofConfig {
  uint64 period; // seconds
  uint64 timeout; // seconds after a period in which a miss can be marked
  uint8 downtime; // blocks of the 256-block cycle in which nothing is due
  uint8 downtimeProduct; // how far each period moves the pointer
  string zkeyHash; // lets a host check that it holds the right proving key
}

struct SlotReservationsConfig {
  uint8 maxReservations; // hosts that may hold a reservation for one slot
}

function requestIdOf(Request calldata request) pure returns (RequestId) {
  return RequestId.wrap(keccak256(abi.encode(request)));
}

function slotIdOf(RequestId requestId, uint64 slotIndex) pure returns (SlotId) {
  return SlotId.wrap(keccak256(abi.encode(requestId, slotIndex)));
}
